//! Functions, methods and lambdas: parameters, receivers, bodies.

use std::collections::HashSet;

use ruff_python_ast as ast;

use super::super::{ClassId, ExitKind, ExprKind, FnFlags, FnId, Function, Gathers, Param, Step, StepKind, Target};
use super::names::dotted;
use super::types::provider;
use super::{Frame, Lowering, scopes, span};
use crate::files::Span;

/// Methods that are class methods without saying so.
const IMPLICIT_CLASS_METHODS: &[&str] = &["__new__", "__init_subclass__", "__class_getitem__"];

impl Lowering<'_> {
    /// Lowers a `def`; as a method where it stands in a class.
    pub(super) fn function(&mut self, def: &ast::StmtFunctionDef, class: Option<ClassId>) -> FnId {
        let id = self.reserve(&def.name, class, span(def), span(&def.name));
        let decorators = self.decorators(&def.decorator_list);
        let is_decorated = |wanted| def.decorator_list.iter().any(|one| dotted(&one.expression).as_deref() == Some(wanted));
        let is_static_method = class.is_some() && is_decorated("staticmethod");
        let is_class_method =
            class.is_some() && (is_decorated("classmethod") || IMPLICIT_CLASS_METHODS.contains(&def.name.as_str()));
        let receiver = match class {
            Some(_) if is_static_method => None,
            Some(_) => first_positional(&def.parameters).map(str::to_owned),
            None => self.receiver().filter(|name| !def.parameters.includes(name)).map(str::to_owned),
        };
        let params = self.params(&def.parameters, usize::from(class.is_some() && receiver.is_some()));
        let returns = self.annotation(def.returns.as_deref());
        let body = self.body(id, receiver, |this| this.block(&def.body));
        self.fill(id, |function| {
            function.params = params;
            function.body = body;
            function.decorators = decorators;
            function.returns = returns;
            function.flags.is_async = def.is_async;
            function.flags.is_static = is_static_method || is_class_method;
            function.flags.is_constructor = class.is_some() && def.name.as_str() == "__init__";
        });
        id
    }

    /// Lowers a lambda: its value is what it returns.
    pub(super) fn lambda(&mut self, lambda: &ast::ExprLambda) -> FnId {
        let at = span(lambda);
        let id = self.reserve("", None, at, Span::new(at.start, at.start + "lambda".len() as u32));
        let declared = lambda.parameters.as_deref();
        let receiver = self.receiver().filter(|name| !declared.is_some_and(|declared| declared.includes(name)));
        let receiver = receiver.map(str::to_owned);
        let outer = self.own_names.len();
        let hidden = self.own_names.iter().filter(|(name, _)| declared.is_some_and(|declared| declared.includes(name)));
        let hidden: Vec<String> = hidden.map(|(name, _)| name.clone()).collect();
        self.own_names.extend(hidden.into_iter().map(|name| (name.clone(), name)));
        let params = declared.map_or_else(Vec::new, |declared| self.params(declared, 0));
        let body = self.body(id, receiver, |this| {
            let mut steps = Vec::new();
            let value = Some(this.expr(&lambda.body));
            this.emit(&mut steps, StepKind::Exit { kind: ExitKind::Return, value }, span(&*lambda.body));
            steps
        });
        self.own_names.truncate(outer);
        self.fill(id, |function| {
            function.params = params;
            function.body = body;
        });
        id
    }

    pub(super) fn decorators(&mut self, decorators: &[ast::Decorator]) -> Vec<super::Expr> {
        decorators.iter().map(|decorator| self.expr(&decorator.expression)).collect()
    }

    /// `yield`, before the statement it stands in.
    pub(super) fn yields(&mut self, value: Option<&ast::Expr>, at: Span) -> ExprKind {
        let value = value.map(|value| self.expr(value));
        self.pending.push(Step { kind: StepKind::Exit { kind: ExitKind::Yield, value }, span: at });
        let current = self.current();
        self.fill(current, |function| function.flags.is_generator = true);
        ExprKind::Other(Vec::new())
    }

    /// Takes the next index, so that functions are numbered in the order in which they are written.
    fn reserve(&mut self, name: &str, class: Option<ClassId>, span: Span, name_span: Span) -> FnId {
        let id = FnId(self.unit.functions.len() as u32);
        self.unit.functions.push(Function {
            name: name.to_owned(),
            params: Vec::new(),
            body: Vec::new(),
            class,
            parent: Some(self.current()),
            decorators: Vec::new(),
            returns: None,
            receiver: None,
            flags: FnFlags::default(),
            span,
            name_span,
        });
        id
    }

    fn fill(&mut self, id: FnId, change: impl FnOnce(&mut Function)) {
        if let Some(function) = self.unit.functions.get_mut(id.0 as usize) {
            change(function);
        }
    }

    fn body(&mut self, id: FnId, receiver: Option<String>, lower: impl FnOnce(&mut Self) -> Vec<Step>) -> Vec<Step> {
        let pending = std::mem::take(&mut self.pending);
        let class_depth = std::mem::take(&mut self.class_depth);
        self.frames.push(Frame { id, receiver, outer: HashSet::new() });
        let mut steps = lower(self);
        let outer = self.frames.pop().map(|frame| frame.outer).unwrap_or_default();
        scopes::declare(&mut steps, &outer);
        self.class_depth = class_depth;
        self.pending = pending;
        steps
    }

    fn params(&mut self, declared: &ast::Parameters, skipped: usize) -> Vec<Param> {
        let gathers = |one: &ast::AnyParameterRef<'_>| {
            let same = |other: &Option<Box<ast::Parameter>>| other.as_ref().is_some_and(|other| other.name == *one.name());
            let positions = same(&declared.vararg).then_some(Gathers::Positions);
            positions.or(same(&declared.kwarg).then_some(Gathers::Keywords))
        };
        declared.iter().skip(skipped).map(|one| Param { gathers: gathers(&one), ..self.param(one) }).collect()
    }

    fn param(&mut self, declared: ast::AnyParameterRef<'_>) -> Param {
        let name = declared.name();
        let annotation = declared.annotation();
        let ty = self.annotation(annotation);
        let default = declared.default().or_else(|| annotation.and_then(provider)).map(|default| Box::new(self.expr(default)));
        Param { target: Target::Name(name.to_string(), span(name)), ty, default, gathers: None }
    }
}

fn first_positional(declared: &ast::Parameters) -> Option<&str> {
    declared.posonlyargs.first().or(declared.args.first()).map(|first| first.parameter.name.as_str())
}
