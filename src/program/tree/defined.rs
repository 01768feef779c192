//! Commands that a program gives its store's client: a name, and the script that is run.

use std::collections::{HashMap, HashSet};

use super::Tree;
use crate::facts::Act;
use crate::facts::Value;
use crate::files::Atom;
use crate::program::meaning;
use crate::rules::Meaning;

impl Tree {
    /// The text of the script that a command of this name runs, where the program defines one, and the client's library.
    pub fn defined(&self, name: &str) -> Option<&(String, Atom)> {
        self.defined.get_or_init(|| self.definitions()).get(name)
    }

    fn definitions(&self) -> HashMap<String, (String, Atom)> {
        let makers: HashSet<&str> = self
            .book
            .packs
            .values()
            .flat_map(|packs| packs.packs())
            .flat_map(|pack| &pack.calls)
            .filter(|call| call.is == Meaning::Define)
            .flat_map(|call| call.on.iter().filter_map(|path| path.rsplit('.').next()))
            .collect();
        let mut found = HashMap::new();
        for facts in self.files.iter() {
            for event in facts.functions.iter().flat_map(|function| &function.events) {
                let Act::Call { callee: callee @ Value::Member(_, method), args, .. } = &event.act else { continue };
                if !makers.contains(&**method) {
                    continue;
                }
                let Some(meant) = meaning(self, callee, args, facts.file).filter(|meant| meant.is == Meaning::Define) else {
                    continue;
                };
                let text = |part: &str| meant.part(part).and_then(|value| self.settled(value).text());
                if let (Some(name), Some(script)) = (text("name"), text("text")) {
                    found.insert(name, (script, meant.library.clone()));
                }
            }
        }
        found
    }
}
