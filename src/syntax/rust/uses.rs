//! `use` trees, flattened into imports. It must not know where a path leads.

use syn::{ItemMod, ItemUse, UseTree, Visibility};

use super::lower::{Lowering, text};
use crate::files::{Atom, Span};
use crate::syntax::{Export, ExportTarget, FnId, Import};

impl Lowering {
    /// A `use` item; a public one offers its names as well.
    pub fn use_item(&mut self, item: &ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited) && self.within == FnId(0);
        let mut path = Vec::new();
        self.use_tree(&item.tree, &mut path, public);
    }

    /// `mod x;` makes `x` a name of this file, as `use self::x` does.
    pub fn module_declaration(&mut self, item: &ItemMod) {
        let span = self.span(item.ident.span());
        let public = !matches!(item.vis, Visibility::Inherited);
        self.import(&["self".to_string(), text(&item.ident)], text(&item.ident), span, public);
    }

    fn use_tree(&mut self, tree: &UseTree, path: &mut Vec<String>, public: bool) {
        match tree {
            UseTree::Path(inner) => {
                path.push(text(&inner.ident));
                self.use_tree(&inner.tree, path, public);
                path.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.use_tree(item, path, public)),
            UseTree::Name(inner) => self.use_name(&inner.ident, None, path, public),
            UseTree::Rename(inner) => self.use_name(&inner.ident, Some(text(&inner.rename)), path, public),
            UseTree::Glob(glob) => {
                let span = self.span(glob.star_token.span);
                let module: Atom = path.join(".").into();
                if public {
                    let target = ExportTarget::Other { module: module.clone(), member: None };
                    self.unit.exports.push(Export { name: "*".into(), target });
                }
                self.unit.imports.push(Import { local: "*".into(), module, member: None, span });
            }
        }
    }

    fn use_name(&mut self, ident: &proc_macro2::Ident, alias: Option<String>, path: &mut Vec<String>, public: bool) {
        let span = self.span(ident.span());
        let word = text(ident);
        // `self` in a group is the module of the group.
        let is_module = word == "self" && !path.is_empty();
        if !is_module {
            path.push(word);
        }
        let local = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        self.import(path, local, span, public);
        if !is_module {
            path.pop();
        }
    }

    fn import(&mut self, path: &[String], local: String, span: Span, public: bool) {
        let (module, member) = match path {
            [module @ .., member] if !module.is_empty() => (Atom::from(module.join(".")), Some(Atom::from(member))),
            _ => (Atom::from(path.join(".")), None),
        };
        let local = Atom::from(local);
        if public {
            let target = ExportTarget::Other { module: module.clone(), member: member.clone() };
            self.unit.exports.push(Export { name: local.clone(), target });
        }
        self.unit.imports.push(Import { local, module, member, span });
    }
}
