//! Classes: bases, fields and methods.

use ruff_python_ast as ast;

use super::super::{Class, ClassId, Field, Step, TypeRef};
use super::types::is_class_variable;
use super::{Lowering, span};
use crate::files::Span;

impl Lowering<'_> {
    /// Lowers a class. Statements of its body that are neither fields nor methods run in the enclosing function.
    pub(super) fn class(&mut self, def: &ast::StmtClassDef, out: &mut Vec<Step>) {
        self.offer(&def.name);
        let id = ClassId(self.unit.classes.len() as u32);
        self.unit.classes.push(Class {
            name: def.name.to_string(),
            bases: Vec::new(),
            base_calls: Vec::new(),
            decorators: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            parent: self.current(),
            is_shape: false,
            span: span(def),
        });
        let decorators = self.decorators(&def.decorator_list);
        let (calls, named): (Vec<_>, Vec<_>) = def.bases().iter().partition(|base| base.is_call_expr());
        let base_calls = calls.into_iter().map(|base| self.expr(base)).collect();
        let bases = named.into_iter().filter_map(|base| self.annotation(Some(base))).collect();
        self.fill_class(id, |class| {
            class.decorators = decorators;
            class.base_calls = base_calls;
            class.bases = bases;
        });
        out.append(&mut self.pending);
        self.class_depth += 1;
        self.deeper(span(def), |this| this.members(&def.body, id, out));
        self.class_depth -= 1;
    }

    fn members(&mut self, suite: &[ast::Stmt], class: ClassId, out: &mut Vec<Step>) {
        for stmt in suite {
            self.deeper(span(stmt), |this| this.member(stmt, class, out));
        }
    }

    fn member(&mut self, stmt: &ast::Stmt, class: ClassId, out: &mut Vec<Step>) {
        match stmt {
            ast::Stmt::FunctionDef(def) => {
                let method = self.function(def, Some(class));
                self.fill_class(class, |class| class.methods.push(method));
            }
            ast::Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assigned_fields(target, &assign.value, class, span(assign));
                }
            }
            ast::Stmt::AnnAssign(declared) => {
                let ty = self.annotation(Some(&declared.annotation));
                let is_static = declared.value.is_some() || is_class_variable(&declared.annotation);
                self.field(&declared.target, ty, declared.value.as_deref(), is_static, class, span(declared));
            }
            ast::Stmt::If(branch) => {
                self.members(&branch.body, class, out);
                for clause in &branch.elif_else_clauses {
                    self.members(&clause.body, class, out);
                }
            }
            ast::Stmt::Try(attempt) => {
                self.members(&attempt.body, class, out);
                for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    self.members(&handler.body, class, out);
                }
                self.members(&attempt.orelse, class, out);
                self.members(&attempt.finalbody, class, out);
            }
            ast::Stmt::With(with) => self.members(&with.body, class, out),
            ast::Stmt::For(each) => self.members(&each.body, class, out),
            ast::Stmt::ClassDef(_) | ast::Stmt::Expr(_) | ast::Stmt::Import(_) | ast::Stmt::ImportFrom(_) => {
                self.statement(stmt, out);
            }
            _ => {}
        }
        out.append(&mut self.pending);
    }

    /// `a = 1`, `a, b = 1, 2` in a class.
    fn assigned_fields(&mut self, target: &ast::Expr, value: &ast::Expr, class: ClassId, at: Span) {
        let (ast::Expr::Tuple(names), ast::Expr::Tuple(values)) = (target, value) else {
            return self.field(target, None, Some(value), true, class, at);
        };
        for (index, name) in names.elts.iter().enumerate() {
            self.field(name, None, values.elts.get(index), true, class, at);
        }
    }

    fn field(
        &mut self,
        target: &ast::Expr,
        ty: Option<TypeRef>,
        init: Option<&ast::Expr>,
        is_static: bool,
        class: ClassId,
        span: Span,
    ) {
        let ast::Expr::Name(name) = target else { return };
        let init = init.map(|init| self.expr(init));
        let field = Field { name: name.id.to_string(), ty, init, is_static, decorators: Vec::new(), span };
        self.fill_class(class, |class| class.fields.push(field));
    }

    fn fill_class(&mut self, id: ClassId, change: impl FnOnce(&mut Class)) {
        if let Some(class) = self.unit.classes.get_mut(id.0 as usize) {
            change(class);
        }
    }
}
