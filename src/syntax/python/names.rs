//! Names that come into a file and go out of it: imports, exports, and what a statement binds.

use ruff_python_ast as ast;

use super::super::{Export, ExportTarget, ExprKind, Import, Target};
use super::{Lowering, expr, span};
use crate::files::{Atom, Span};

impl Lowering<'_> {
    pub(super) fn import(&mut self, import: &ast::StmtImport) {
        for alias in &import.names {
            let whole = alias.name.as_str();
            let (local, module) = match &alias.asname {
                Some(name) => (name.as_str(), whole),
                None => {
                    let first = whole.split('.').next().unwrap_or(whole);
                    (first, first)
                }
            };
            self.imported(local, module, None, span(alias));
        }
    }

    pub(super) fn import_from(&mut self, import: &ast::StmtImportFrom) {
        let mut module = ".".repeat(import.level as usize);
        module.push_str(import.module.as_deref().unwrap_or(""));
        for alias in &import.names {
            let name = alias.name.as_str();
            let local = alias.asname.as_deref().unwrap_or(name);
            let member = (name != "*").then(|| name.into());
            self.imported(local, &module, member, span(alias));
        }
    }

    fn imported(&mut self, local: &str, module: &str, member: Option<Atom>, span: Span) {
        if local.is_empty() {
            return;
        }
        if self.at_module_level() {
            self.export(local, ExportTarget::Other { module: module.into(), member: member.clone() });
        }
        self.unit.imports.push(Import { local: local.into(), module: module.into(), member, span });
    }

    fn at_module_level(&self) -> bool {
        self.frames.len() == 1 && self.class_depth == 0
    }

    /// `global` and `nonlocal`: the function writes these names of an outer scope; a global it may be the only one to bind.
    pub(super) fn outer(&mut self, names: &[ast::Identifier], of_module: bool) {
        for name in names {
            if of_module {
                self.export(name, ExportTarget::Local(name.as_str().into()));
            }
            if let Some(frame) = self.frames.last_mut() {
                frame.outer.insert(name.to_string());
            }
        }
    }

    /// Offers a name; the first meaning of a name stays, a second `*` is another one.
    fn export(&mut self, name: &str, target: ExportTarget) {
        if self.exported.insert(name.to_owned()) || name == "*" {
            self.unit.exports.push(Export { name: name.into(), target });
        }
    }

    /// Offers a name of this file if it is bound at module level.
    pub(super) fn offer(&mut self, name: &str) {
        if self.at_module_level() && !name.is_empty() {
            self.export(name, ExportTarget::Local(name.into()));
        }
    }

    /// A name that is bound here.
    pub(super) fn bound(&mut self, name: &ast::Identifier) -> Target {
        self.offer(name);
        Target::Name(name.to_string(), span(name))
    }

    /// What an assignment, loop or `with` writes.
    pub(super) fn target(&mut self, written: &ast::Expr) -> Target {
        let at = span(written);
        match written {
            ast::Expr::Name(name) if name.id.is_empty() => Target::Ignore,
            ast::Expr::Name(name) => match self.own_name(&name.id) {
                Some(own) => Target::Name(own.to_owned(), at),
                None => {
                    self.offer(&name.id);
                    Target::Name(name.id.to_string(), at)
                }
            },
            ast::Expr::Tuple(tuple) => self.items(&tuple.elts, at),
            ast::Expr::List(list) => self.items(&list.elts, at),
            ast::Expr::Starred(starred) => self.deeper(at, |this| this.target(&starred.value)).unwrap_or(Target::Ignore),
            place => Target::Place(Box::new(self.expr(place))),
        }
    }

    /// What a name is called that a comprehension has of its own.
    pub(super) fn own_name(&self, name: &str) -> Option<&str> {
        self.own_names.iter().rev().find(|(known, _)| known == name).map(|(_, own)| &**own)
    }

    fn items(&mut self, items: &[ast::Expr], at: Span) -> Target {
        let items = self.deeper(at, |this| items.iter().map(|item| this.target(item)).collect());
        items.map_or(Target::Ignore, Target::Items)
    }
}

/// The expression that reads what was just written to `target`, where that is a name.
pub(super) fn reread(target: &Target) -> Option<super::Expr> {
    match target {
        Target::Name(name, at) => Some(expr(ExprKind::Name(name.clone()), *at)),
        _ => None,
    }
}

/// `a.b.c` as text.
pub(super) fn dotted(written: &ast::Expr) -> Option<String> {
    let mut parts = Vec::new();
    let mut rest = written;
    while let ast::Expr::Attribute(attribute) = rest {
        parts.push(attribute.attr.as_str());
        rest = &attribute.value;
    }
    let ast::Expr::Name(name) = rest else { return None };
    parts.push(name.id.as_str());
    parts.reverse();
    parts.iter().all(|part| !part.is_empty()).then(|| parts.join("."))
}
