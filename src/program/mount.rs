//! Below which paths a router hangs: by what makes it, and by what hangs it below another.

use std::collections::HashMap;

use super::flat::{Look, plain};
use super::maker::maker;
use super::meaning::Meant;
use super::packages::within;
use super::tree::owner_file;
use super::{ClassRef, Tree, Ty, decorator};
use crate::facts::{FnRef, Value};
use crate::rules::Meaning;

/// How many steps of a builder, and how many routers above each other, are followed.
const DEEPEST: usize = 16;

/// What tells one router from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Router {
    /// The call that makes it.
    Made(FnRef, u32),
    /// The table of routes that a module is, where what is registered in it has no router of its own.
    Table(u32),
    /// The class whose methods are the handlers.
    Class(ClassRef),
    /// The application whose program stands in a folder around this file.
    Around(u32),
}

/// A router below a path.
#[derive(Debug, Clone)]
pub struct Mount {
    /// What hangs there.
    router: Router,
    /// What it hangs below; `None`: it is made below a path, or by what is not seen.
    below: Option<Router>,
    /// The path.
    prefix: String,
    /// Its own path does not count then.
    instead: bool,
}

/// The call that makes a router, through names and steps of its builder.
pub fn router(look: &Look<'_>, value: &Value) -> Option<Router> {
    let mut at = maker(look, &whole(look, value).unwrap_or_else(|| value.clone()))?;
    for _ in 0..DEEPEST {
        let made = match &at {
            Value::Result(function, event) => (*function, *event),
            Value::Flat(index) => look.events.get(*index as usize)?.origin,
            _ => return None,
        };
        let step = look
            .meaning(&at, owner_file(&at))
            .filter(|step| matches!(step.is, Meaning::Entry | Meaning::Mount | Meaning::Pure | Meaning::Pass | Meaning::Build));
        let before = match step {
            Some(step) => maker(look, &step.receiver),
            None => same_kind(look, &at).and_then(|of| maker(look, &of)),
        };
        match before {
            Some(before) if before != at => at = before,
            _ => return Some(Router::Made(made.0, made.1)),
        }
    }
    None
}

/// What a module gives as a whole, where a name stands for one.
fn whole(look: &Look<'_>, value: &Value) -> Option<Value> {
    let Value::Module(file, name) = plain(look.events, value) else { return None };
    let mut imports = look.tree.files.get(file as usize)?.unit.imports.iter();
    let import = imports.find(|import| *import.local == *name && import.member.is_none())?;
    look.tree.exported_value(look.tree.imported_file(file, &import.module)?, "=", 0)
}

/// What a call is made on that gives the same kind of thing.
fn same_kind(look: &Look<'_>, value: &Value) -> Option<Value> {
    let (Value::Member(of, _), _) = look.call(value)? else { return None };
    let ty = |value: &Value| {
        let plain = plain(look.events, value);
        look.tree.ty(&plain, owner_file(&plain))
    };
    let Ty::Lib { path, .. } = ty(value) else { return None };
    matches!(ty(&of), Ty::Lib { path: other, .. } if other == path).then(|| (*of).clone())
}

/// What a call hangs below its receiver.
pub fn mounts(look: &Look<'_>, meant: &Meant, file: u32) -> Vec<Mount> {
    let (below, prefix) = (router(look, &meant.receiver), meant.text("prefix").unwrap_or_default());
    if meant.flag("all") {
        return vec![Mount { router: Router::Around(file), below: None, prefix, instead: false }];
    }
    let instead = meant.flag("instead") && !prefix.is_empty();
    hung(look, meant, file).into_iter().map(|router| Mount { router, below, prefix: prefix.clone(), instead }).collect()
}

/// What a registration hangs below its path, where that is given in a handler's place: `path("orders/", include("orders.urls"))`.
pub fn included(look: &Look<'_>, meant: &Meant, below: Option<Router>, file: u32) -> Vec<Mount> {
    let Some(hangs) = meant.part("handler").and_then(|value| look.meaning(value, file)) else { return vec![] };
    if hangs.is != Meaning::Mount {
        return vec![];
    }
    let prefix = meant.text("route").unwrap_or_default();
    let of = |router| Mount { router, below, prefix: prefix.clone(), instead: false };
    hung(look, &hangs, file).into_iter().map(of).collect()
}

/// The routers that a call hangs somewhere; a text names a module, and what a router gives of itself stands for it.
fn hung(look: &Look<'_>, meant: &Meant, file: u32) -> Vec<Router> {
    let values = match meant.part("mounts") {
        Some(Value::List(values)) => values.to_vec(),
        Some(value) => vec![value.clone()],
        None => vec![],
    };
    let module = |value: &Value| look.tree.imported_file(file, &value.text()?).map(Router::Table);
    let class = |value: &Value| match look.tree.ty(&plain(look.events, value), file) {
        Ty::Class(class) => Some(Router::Class(class)),
        _ => None,
    };
    let part = |value: &Value| match value {
        Value::Member(of, _) => router(look, of),
        _ => None,
    };
    let one = |value: &Value| router(look, value).or_else(|| module(value)).or_else(|| class(value)).or_else(|| part(value));
    values.iter().filter_map(one).collect()
}

/// A router that is made below a path.
pub fn made_below(tree: &Tree, router: Router) -> Option<Mount> {
    let look = Look { tree, events: &[] };
    match router {
        Router::Made(function, event) => {
            let meant = look.meaning(&Value::Result(function, event), function.file)?;
            let prefix = meant.text("prefix").filter(|_| meant.part("mounts").is_none())?;
            Some(Mount { router, below: None, prefix, instead: false })
        }
        Router::Class(class) => {
            let marks = tree.files.get(class.file as usize)?.class_marks.get(&class.class)?;
            let prefix = marks.iter().find_map(|(mark, _)| decorator(tree, mark, class.file)?.text("prefix"))?;
            Some(Mount { router, below: Some(Router::Around(class.file)), prefix, instead: false })
        }
        Router::Table(_) | Router::Around(_) => None,
    }
}

/// All routers, and what each hangs below.
#[derive(Debug, Default)]
pub struct Mounts {
    own: HashMap<Router, String>,
    above: HashMap<Router, Mount>,
    /// Files of programs that hang all of their application below a path.
    whole: Vec<(u32, String)>,
}

impl Mounts {
    /// One more. Of several places where one router hangs, the first counts.
    pub fn add(&mut self, mount: Mount) {
        if let Router::Around(file) = mount.router {
            return self.whole.push((file, mount.prefix));
        }
        let made = mount.below.is_none() && !mount.instead;
        match made {
            true => _ = self.own.entry(mount.router).or_insert(mount.prefix),
            false => _ = self.above.entry(mount.router).or_insert(mount),
        }
    }

    /// A path of a router, from the root.
    pub fn path(&self, tree: &Tree, router: Router, path: &str) -> String {
        let mut path = path.to_owned();
        let mut at = router;
        for _ in 0..DEEPEST {
            if let Router::Around(file) = at {
                return joined(self.around(tree, file).unwrap_or_default(), &path);
            }
            let above = self.above.get(&at);
            if let Some(own) = self.own.get(&at).filter(|_| !above.is_some_and(|above| above.instead)) {
                path = joined(own, &path);
            }
            let Some(above) = above else { break };
            path = joined(&above.prefix, &path);
            match above.below.filter(|below| *below != at) {
                Some(below) => at = below,
                None => break,
            }
        }
        path
    }

    /// The path that the nearest program in a folder around a file hangs all below.
    fn around(&self, tree: &Tree, file: u32) -> Option<&str> {
        let folder = |file: u32| tree.paths[file as usize].rsplit_once('/').map_or("", |(folder, _)| folder);
        let around = self.whole.iter().filter(|(program, _)| within(&tree.paths[file as usize], folder(*program)));
        around.max_by_key(|(program, _)| folder(*program).len()).map(|(_, prefix)| &**prefix)
    }
}

/// A path below another.
pub fn joined(above: &str, path: &str) -> String {
    let (above, path) = (above.trim_matches('/'), path.trim_start_matches('/'));
    match (above.is_empty(), path.is_empty()) {
        (true, _) => format!("/{path}"),
        (_, true) => format!("/{above}"),
        _ => format!("/{above}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn paths_meet_in_one_slash() {
        assert_eq!(joined("/api/", "/orders"), "/api/orders");
        assert_eq!(joined("orders", ":id/pay"), "/orders/:id/pay");
        assert_eq!(joined("", "orders"), "/orders");
        assert_eq!(joined("orders", ""), "/orders");
    }
}
