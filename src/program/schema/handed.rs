//! Keys that a function declares on a table that it is handed, by a list that it is handed too: a helper of migrations. It must not
//! know a library's name.

use std::collections::BTreeMap;

use super::Key;
use super::chain::Reader;
use super::code::{sites, taken_back};
use crate::facts::{Act, Arg, FnRef, Value};
use crate::rules::Meaning;
use crate::syntax::Target;

/// A call in a helper that declares a key of what the helper is handed.
struct Told<'t> {
    /// The helper.
    helper: FnRef,
    /// Where the call stands: in the helper, or in a callback of it.
    function: FnRef,
    /// What the pack calls it.
    paths: Vec<String>,
    receiver: &'t Value,
    args: &'t [Arg],
    /// The helper's parameter whose elements it is called for.
    each: Option<u32>,
}

impl Reader<'_> {
    /// The keys that helpers are told to declare, with what names the table.
    pub fn handed_keys(&self) -> Vec<(Value, Key)> {
        let mut found = vec![];
        for told in self.told() {
            for call in self.tree.calls_of(told.helper).iter().filter(|call| !taken_back(self.tree, call.0)) {
                let given = |index: u32| self.tree.argument(*call, told.helper, index).map(|value| self.tree.settled(value));
                let items = match told.each.map(given) {
                    Some(Some(Value::List(items))) => items.iter().map(|item| Some(self.tree.settled(item))).collect(),
                    Some(_) => continue,
                    None => vec![None],
                };
                for item in items {
                    let put = |value: &Value| self.put_in(value, &told, item.as_ref(), &given);
                    let receiver = put(told.receiver);
                    let args: Vec<Arg> = told.args.iter().map(|(name, value)| (name.clone(), put(value))).collect();
                    let declared = |path: &String| {
                        let meant = self.meant_at(path, &receiver, &args, call.0.file)?;
                        let (keys, table) = self
                            .key_of([&meant].into_iter().filter(|meant| meant.is == Meaning::Unique && !meant.flag("drops")))?;
                        table.filter(|_| keys.iter().any(|key| !key.columns.is_empty())).map(|table| (keys, table))
                    };
                    let Some((keys, table)) = told.paths.iter().find_map(declared) else { continue };
                    found.extend(keys.into_iter().map(|key| (table.clone(), key)));
                }
            }
        }
        found
    }

    /// Calls that may declare a key, on what the function around them is handed.
    fn told(&self) -> Vec<Told<'_>> {
        let mut methods: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pack in self.tree.book.packs.values().flat_map(|packs| packs.packs()) {
            for on in pack.calls.iter().filter(|call| call.is == Meaning::Unique).flat_map(|call| &call.on) {
                if let Some((owner, method)) = on.rsplit_once('.').filter(|(owner, _)| !owner.contains(['.', '/']))
                    && pack.types.iter().any(|ty| ty.name == owner)
                {
                    methods.entry(method).or_default().push(format!("{}:{on}", pack.library.name));
                }
            }
        }
        let mut found = vec![];
        for facts in &self.tree.files {
            for site in sites(self.tree, facts.file) {
                let Value::Member(receiver, method) = site.callee else { continue };
                let Some(paths) = methods.get(&**method) else { continue };
                let Some((helper, _)) = self.param(receiver) else { continue };
                let each = self.each(site.function, helper, site.args);
                let (function, args, paths) = (site.function, site.args, paths.clone());
                found.push(Told { helper, function, paths, receiver, args, each });
            }
        }
        found
    }

    /// The function's parameter that a value is.
    fn param(&self, value: &Value) -> Option<(FnRef, u32)> {
        match value {
            Value::Param(function, index) => Some((*function, *index)),
            Value::Captured(function, name) => {
                let params = &self.tree.function(*function)?.params;
                let at = params.iter().position(|param| matches!(&param.target, Target::Name(own, _) if *own == **name))?;
                Some((*function, at as u32))
            }
            _ => None,
        }
    }

    /// The parameter of a helper over whose elements a call in it goes: in a loop, or in a callback.
    fn each(&self, function: FnRef, helper: FnRef, args: &[Arg]) -> Option<u32> {
        let of_helper = |value: &Value| self.param(value).filter(|(owner, _)| *owner == helper).map(|(_, index)| index);
        let mut found = None;
        for (_, value) in args {
            value.walk(&mut |part| {
                if let Value::Element(list) = part {
                    found = found.or_else(|| of_helper(list));
                }
            });
        }
        let around = || {
            let events = &self.tree.facts(helper)?.events;
            events.iter().find_map(|event| match &event.act {
                Act::Call { callee: Value::Member(list, _), args, .. }
                    if args.iter().any(|(_, value)| *value == Value::Function(function)) =>
                {
                    of_helper(list)
                }
                _ => None,
            })
        };
        found.or_else(around)
    }

    /// A value of a helper, with what one call of it gives put in.
    fn put_in(&self, value: &Value, told: &Told<'_>, item: Option<&Value>, given: &dyn Fn(u32) -> Option<Value>) -> Value {
        let replaced = value.renewed(&mut |part| match part {
            Value::Element(list) if item.is_some() && self.param(list).is_some_and(|(owner, _)| owner == told.helper) => {
                item.cloned()
            }
            Value::Param(function, 0) if *function == told.function && told.function != told.helper => item.cloned(),
            part => self.param(part).filter(|(owner, _)| *owner == told.helper).and_then(|(_, index)| given(index)),
        });
        self.tree.settled(&replaced.unwrap_or_else(|| value.clone()))
    }
}
