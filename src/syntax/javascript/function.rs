//! Functions, arrows and methods.

use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, Decorator, Directive, Expression, FormalParameters, Function as Tree,
    FunctionBody,
};
use oxc_span::GetSpan;

use super::target::only_name;
use super::{ClassId, Expr, ExprKind, FnFlags, FnId, Lower, Param, Step, StepKind, blank, expr, name, span, step};
use crate::files::Span;
use crate::syntax::{ExitKind, Gathers, Target};

/// What a function's surroundings say of it.
#[derive(Default)]
pub(super) struct Role<'n> {
    /// The name it is given where it has none of its own.
    pub name: &'n str,
    /// Where that name is written.
    pub name_span: Option<Span>,
    /// All of it, where that is more than the function's own text.
    pub whole: Option<Span>,
    /// The class it is a member of.
    pub class: Option<ClassId>,
    /// A member of the class itself.
    pub is_static: bool,
    /// A constructor: its parameters may be fields.
    pub is_constructor: bool,
    /// A getter.
    pub is_getter: bool,
    /// What decorates it.
    pub decorators: Vec<Expr>,
}

impl Lower {
    /// A function that is declared or is an expression, with or without a body.
    pub(super) fn function(&mut self, tree: &Tree, role: Role) -> FnId {
        let own = tree.id.as_ref();
        let called = own.map_or(role.name, |id| id.name.as_str());
        let at = span(tree.span);
        let token = if tree.r#async { "async" } else { "function" };
        let name_span = own.map(|id| span(id.span)).or(role.name_span).unwrap_or(first(at, token));
        let id = self.open(called, role.whole.unwrap_or(at), name_span, &role);
        let is_signature = tree.body.is_none() && role.class.is_some();
        let flags = FnFlags {
            is_async: tree.r#async,
            is_generator: tree.generator,
            is_signature,
            has_receiver: role.class.is_none(),
            ..flags(&role)
        };
        let outer_this = self.this_name.take();
        self.inside(id, |lower| {
            let returns = lower.annotation(tree.return_type.as_deref());
            let said = tree.this_param.as_ref().and_then(|this| this.type_annotation.as_deref());
            let receiver = lower.shape_or_name(said);
            let mut body = Vec::new();
            let params = lower.params(&tree.params, &mut body);
            if role.is_constructor {
                let fields = property_binds(&tree.params);
                body.splice(0..0, fields);
            }
            body.extend(tree.body.as_ref().map(|tree| lower.function_body(tree)).unwrap_or_default());
            lower.close(id, |function| {
                function.params = params;
                function.returns = returns;
                function.receiver = receiver;
                function.flags = flags;
                function.decorators.extend(role.decorators);
                function.body = body;
            });
        });
        self.this_name = outer_this;
        id
    }

    pub(super) fn arrow(&mut self, tree: &ArrowFunctionExpression, role: Role) -> FnId {
        let at = span(tree.span);
        let token = if tree.r#async { "async" } else { "(" };
        let id = self.open(role.name, at, role.name_span.unwrap_or(first(at, token)), &role);
        let flags = FnFlags { is_async: tree.r#async, ..flags(&role) };
        self.inside(id, |lower| {
            let returns = lower.annotation(tree.return_type.as_deref());
            let mut body = Vec::new();
            let params = lower.params(&tree.params, &mut body);
            match &tree.body {
                ArrowFunctionBody::FunctionBody(tree) => body.extend(lower.function_body(tree)),
                other => body.extend(other.as_expression().map(|value| lower.returned(value)).unwrap_or_default()),
            }
            lower.close(id, |function| {
                function.params = params;
                function.returns = returns;
                function.flags = flags;
                function.decorators.extend(role.decorators);
                function.body = body;
            });
        });
        id
    }

    /// The steps of an arrow's expression body.
    fn returned(&mut self, value: &Expression) -> Vec<Step> {
        let at = span(value.span());
        let value = self.expr(value);
        let mut steps = std::mem::take(&mut self.pending);
        steps.push(step(StepKind::Exit { kind: ExitKind::Return, value: Some(value) }, at));
        steps
    }

    /// A bodiless function of an interface.
    pub(super) fn signature(&mut self, params: &FormalParameters, at: Span, role: Role) -> FnId {
        let id = self.open(role.name, at, role.name_span.unwrap_or(at), &role);
        self.inside(id, |lower| {
            let params = lower.params(params, &mut Vec::new());
            lower.close(id, |function| {
                function.params = params;
                function.flags = FnFlags { is_signature: true, ..flags(&role) };
            });
        });
        id
    }

    pub(super) fn decorators(&mut self, decorators: &[Decorator]) -> Vec<Expr> {
        decorators.iter().map(|decorator| self.expr(&decorator.expression)).collect()
    }

    /// Parameters; defaults inside their patterns become steps in `body`.
    pub(super) fn params(&mut self, params: &FormalParameters, body: &mut Vec<Step>) -> Vec<Param> {
        let mut lowered = Vec::new();
        for param in &params.items {
            let target = self.pattern(&param.pattern, body);
            let ty = match &target {
                Target::Name(..) => self.annotation(param.type_annotation.as_deref()),
                _ => self.shape_or_name(param.type_annotation.as_deref()),
            };
            let default = param.initializer.as_ref().map(|value| Box::new(self.named(value, only_name(&target))));
            lowered.push(Param { target, ty, default, gathers: None });
        }
        if let Some(rest) = &params.rest {
            let target = self.pattern(&rest.rest.argument, body);
            let ty = self.annotation(rest.type_annotation.as_deref());
            lowered.push(Param { target, ty, default: None, gathers: Some(Gathers::Positions) });
        }
        lowered
    }

    fn function_body(&mut self, body: &FunctionBody) -> Vec<Step> {
        self.directives(self.current, &body.directives);
        self.block(&body.statements)
    }

    /// What a function or a module says of itself before its first statement (`'use server'`) is kept with its decorators.
    pub(super) fn directives(&mut self, of: FnId, directives: &[Directive]) {
        let said = directives.iter().filter(|said| said.directive != "use strict");
        let marks: Vec<Expr> = said.map(|said| expr(ExprKind::Text(said.directive.to_string()), span(said.span))).collect();
        if let Some(function) = self.unit.functions.get_mut(of.0 as usize) {
            function.decorators.extend(marks);
        }
    }

    fn open(&mut self, name: &str, at: Span, name_span: Span, role: &Role) -> FnId {
        let id = FnId(self.unit.functions.len() as u32);
        let mut function = blank(name, Some(self.current), at);
        function.class = role.class;
        function.name_span = name_span;
        self.unit.functions.push(function);
        id
    }

    fn close(&mut self, id: FnId, fill: impl FnOnce(&mut super::Function)) {
        if let Some(function) = self.unit.functions.get_mut(id.0 as usize) {
            fill(function);
        }
    }

    /// Runs `work` with `id` as the current function.
    fn inside(&mut self, id: FnId, work: impl FnOnce(&mut Lower)) {
        let outer = std::mem::replace(&mut self.current, id);
        let outer_pending = std::mem::take(&mut self.pending);
        let outer_switch = std::mem::replace(&mut self.in_switch, false);
        work(self);
        self.in_switch = outer_switch;
        self.pending = outer_pending;
        self.current = outer;
    }
}

/// The first token of a function without a name.
fn first(at: Span, token: &str) -> Span {
    Span::new(at.start, at.end.min(at.start + token.len() as u32))
}

fn flags(role: &Role) -> FnFlags {
    FnFlags { is_static: role.is_static, is_constructor: role.is_constructor, is_getter: role.is_getter, ..FnFlags::default() }
}

/// `constructor(private a: A)` begins with `this.a = a`.
fn property_binds(params: &FormalParameters) -> Vec<Step> {
    let fields = params.items.iter().filter(|param| param.has_modifier());
    let names = fields.filter_map(|param| param.pattern.get_identifier_name().map(|name| (name, span(param.span))));
    names
        .map(|(field, at)| {
            let place = expr(ExprKind::Member(Box::new(expr(ExprKind::This, at)), field.to_string()), at);
            let value = Some(name(&field, at));
            step(StepKind::Bind { target: Target::Place(Box::new(place)), value, declares: false, op: None }, at)
        })
        .collect()
}
