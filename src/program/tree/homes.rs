//! Methods that stand apart from their type: a block in another file than the type's own, or on a type that is none of the tree's.

use std::collections::HashMap;
use std::sync::Arc;

use super::{DEEPEST, Tree};
use crate::facts::FnRef;
use crate::files::Language;
use crate::program::{ClassRef, Ty};

/// Where the methods of a type stand besides its own file.
#[derive(Debug, Default)]
pub(super) struct Homes {
    /// The class of the tree that such a block is about.
    own: HashMap<ClassRef, ClassRef>,
    /// The blocks about a class of the tree.
    blocks: HashMap<ClassRef, Vec<ClassRef>>,
    /// Methods of types that are none of the tree's, by their names, each with its type.
    foreign: HashMap<String, Vec<(FnRef, Ty)>>,
    /// What the name of such a block means where it is none of the tree's: an import, or what packs know by its name.
    meant: HashMap<ClassRef, Ty>,
}

impl Tree {
    /// Finds what every block that declares no type is about.
    pub(super) fn find_homes(&self) -> Homes {
        let mut homes = Homes::default();
        for facts in self.files.iter().filter(|facts| facts.unit.language == Language::Rust) {
            for (index, class) in facts.unit.classes.iter().enumerate() {
                let declared = facts.unit.exports.iter().any(|export| export.name == class.name);
                if declared || class.parent.0 != 0 || !class.fields.is_empty() {
                    continue;
                }
                let block = ClassRef { file: facts.file, class: index as u32 };
                match self.found_elsewhere(facts.file, &class.name, 0) {
                    Ty::Class(home) if home != block => {
                        homes.own.insert(block, home);
                        homes.blocks.entry(home).or_default().push(block);
                    }
                    Ty::Class(_) => {}
                    found => {
                        let known = self.packs(facts.file).type_of_member(&class.name).filter(|_| found.is_unknown());
                        let found = match known {
                            Some(id) => Ty::Lib { path: id.clone(), of: Arc::from([Ty::Module(facts.file)]), sure: false },
                            None => found,
                        };
                        if !found.is_unknown() {
                            homes.meant.insert(block, found.clone());
                        }
                        let found = if found.is_unknown() { Ty::lib(class.name.as_str()) } else { found };
                        let ty = self.instance(self.known_path(found, facts.file), facts.file);
                        for method in &class.methods {
                            let method = FnRef { file: facts.file, func: method.0 };
                            if let Some(function) = self.function(method).filter(|function| !function.flags.is_static) {
                                homes.foreign.entry(function.name.clone()).or_default().push((method, ty.clone()));
                            }
                        }
                    }
                }
            }
        }
        homes
    }

    /// What the name of a class means: the class, or the type of a library that a block of methods is about.
    pub(super) fn class_of_name(&self, class: ClassRef) -> Ty {
        self.homes.meant.get(&class).cloned().unwrap_or_else(|| Ty::Class(self.home(class)))
    }

    /// The class itself, or the one that a block of methods is about.
    pub(super) fn home(&self, class: ClassRef) -> ClassRef {
        self.homes.own.get(&class).copied().unwrap_or(class)
    }

    /// What blocks in other files give a class under a name.
    pub(super) fn in_blocks(&self, at: ClassRef, of: &Ty, name: &str, depth: u32) -> Ty {
        let blocks = self.homes.blocks.get(&at).map_or(&[][..], Vec::as_slice);
        let found = blocks.iter().map(|block| self.class_member(*block, of, name, depth + 1));
        found.filter(|_| depth < DEEPEST).find(|found| !found.is_unknown()).unwrap_or_default()
    }

    /// The method that the tree gives a type which is none of its own.
    pub(super) fn added_to(&self, of: &Ty, name: &str) -> Option<Ty> {
        let path = of.path()?;
        let methods = self.homes.foreign.get(name)?;
        let elsewhere =
            |ty: &Ty| matches!((ty.first_arg(), of.first_arg()), (Ty::Module(one), Ty::Module(other)) if one != other);
        let mut own = methods.iter().filter(|(_, ty)| ty.path() == Some(path) && !elsewhere(ty));
        own.next().map(|(method, _)| Ty::Function(*method))
    }
}
