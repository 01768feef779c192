//! Statements.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentOperator, Declaration, Expression, ForInStatement, ForOfStatement, ForStatement,
    ForStatementInit, ForStatementLeft, Function as FunctionTree, Statement, TryStatement, UnaryOperator, VariableDeclaration,
    VariableDeclarationKind,
};
use oxc_span::GetSpan;

use super::caught::asked_for;
use super::expr::typed;
use super::function::Role;
use super::target::only_name;
use super::{ExprKind, Lower, Span, Step, StepKind, expr, module, name, operator, span, step};
use crate::syntax::{Catch, ExitKind, Target};

impl Lower {
    /// The steps of a block. Function declarations come first, because they may be called before they stand.
    pub(super) fn block(&mut self, statements: &[Statement]) -> Vec<Step> {
        let waiting = std::mem::take(&mut self.pending);
        let mut steps = Vec::new();
        for statement in statements {
            self.hoist(statement, &mut steps);
        }
        self.sequence(statements, &mut steps);
        self.pending = waiting;
        steps
    }

    fn hoist(&mut self, statement: &Statement, steps: &mut Vec<Step>) {
        let Some(tree) = module::declared_function(statement) else { return };
        if tree.body.is_none() || !self.descend() {
            return;
        }
        self.bind_function(tree, steps);
        self.ascend();
    }

    fn bind_function(&mut self, tree: &FunctionTree, steps: &mut Vec<Step>) {
        let called = tree.id.as_ref().map_or("default", |id| id.name.as_str());
        let at = span(tree.span);
        let id = self.function(tree, Role { name: called, ..Role::default() });
        let name_span = tree.id.as_ref().map_or(at, |id| span(id.span));
        let target = Target::Name(called.to_owned(), name_span);
        let value = Some(expr(ExprKind::Lambda(id), at));
        steps.push(step(StepKind::Bind { target, value, declares: true, op: None }, at));
    }

    /// Statements in order; those after a `using` are inside it.
    fn sequence(&mut self, statements: &[Statement], steps: &mut Vec<Step>) {
        for (index, statement) in statements.iter().enumerate() {
            match statement {
                Statement::VariableDeclaration(declaration) if is_using(declaration) => {
                    let rest = statements.get(index + 1..).unwrap_or_default();
                    steps.extend(self.using(declaration, rest));
                    return;
                }
                _ => self.statement(statement, steps),
            }
        }
    }

    fn using(&mut self, tree: &VariableDeclaration, rest: &[Statement]) -> Vec<Step> {
        let mut entered = Vec::new();
        for declarator in &tree.declarations {
            let target = self.pattern(&declarator.id, &mut Vec::new());
            if let Some(init) = &declarator.init {
                entered.push((target, self.expr(init), span(declarator.span)));
            }
        }
        let mut body = std::mem::take(&mut self.pending);
        if self.descend() {
            self.sequence(rest, &mut body);
            self.ascend();
        }
        for (target, context, at) in entered.into_iter().rev() {
            body = vec![step(StepKind::Within { context, binding: Some(target), body }, at)];
        }
        body
    }

    /// Appends the steps of one statement.
    fn statement(&mut self, tree: &Statement, steps: &mut Vec<Step>) {
        if !self.descend() {
            return;
        }
        let start = steps.len();
        self.any_statement(tree, steps);
        let pending = std::mem::take(&mut self.pending);
        steps.splice(start..start, pending);
        self.ascend();
    }

    fn any_statement(&mut self, tree: &Statement, steps: &mut Vec<Step>) {
        let at = span(tree.span());
        let kind = match tree {
            Statement::BlockStatement(block) => StepKind::Scope(self.block(&block.body)),
            Statement::BreakStatement(tree) => {
                // A `break` that ends a case is told from one that ends a loop by this value, until the switch is done.
                let value = (self.in_switch && tree.label.is_none()).then(|| expr(ExprKind::Null, at));
                StepKind::Exit { kind: ExitKind::Break, value }
            }
            Statement::ContinueStatement(_) => StepKind::Exit { kind: ExitKind::Continue, value: None },
            Statement::ReturnStatement(tree) => {
                let value = tree.argument.as_ref().map(|value| self.expr(value));
                StepKind::Exit { kind: ExitKind::Return, value }
            }
            Statement::ThrowStatement(tree) => StepKind::Exit { kind: ExitKind::Throw, value: Some(self.expr(&tree.argument)) },
            Statement::ExpressionStatement(tree) => return self.discard(&tree.expression, at, steps),
            Statement::IfStatement(tree) => StepKind::Branch {
                test: self.expr(&tree.test),
                then: self.body(&tree.consequent),
                otherwise: tree.alternate.as_ref().map(|tree| self.body(tree)).unwrap_or_default(),
            },
            Statement::WhileStatement(tree) => {
                StepKind::Loop { test: self.condition(&tree.test), each: None, body: self.loop_body(&tree.body) }
            }
            Statement::DoWhileStatement(tree) => {
                StepKind::Loop { test: self.condition(&tree.test), each: None, body: self.loop_body(&tree.body) }
            }
            Statement::ForStatement(tree) => self.counting(tree),
            Statement::ForInStatement(tree) => self.for_in(tree),
            Statement::ForOfStatement(tree) => self.for_of(tree),
            Statement::SwitchStatement(tree) => return self.switch(tree, steps),
            Statement::TryStatement(tree) => self.protected(tree),
            Statement::LabeledStatement(tree) => return self.statement(&tree.body, steps),
            Statement::WithStatement(tree) => {
                StepKind::Within { context: self.expr(&tree.object), binding: None, body: self.body(&tree.body) }
            }
            Statement::DebuggerStatement(_) | Statement::EmptyStatement(_) => return,
            other => {
                if let Some(declaration) = other.as_declaration() {
                    self.declaration(declaration, steps);
                } else if let Some(declaration) = other.as_module_declaration() {
                    self.module_declaration(declaration, steps);
                }
                return;
            }
        };
        steps.push(step(kind, at));
    }

    /// A statement that is the body of another.
    fn body(&mut self, tree: &Statement) -> Vec<Step> {
        match tree {
            Statement::BlockStatement(block) => self.block(&block.body),
            other => self.block(std::slice::from_ref(other)),
        }
    }

    fn loop_body(&mut self, tree: &Statement) -> Vec<Step> {
        let outer = std::mem::replace(&mut self.in_switch, false);
        let body = self.body(tree);
        self.in_switch = outer;
        body
    }

    /// The condition of a loop; none where it is always true.
    fn condition(&mut self, tree: &Expression) -> Option<super::Expr> {
        let test = self.expr(tree);
        let always = match test.kind {
            ExprKind::Bool(value) => value,
            ExprKind::Number(value) => value != 0.0,
            _ => false,
        };
        (!always).then_some(test)
    }

    /// `for (init; test; update)`: the update ends the body, what `init` declares lives around the loop.
    fn counting(&mut self, tree: &ForStatement) -> StepKind {
        let mut around = Vec::new();
        match &tree.init {
            Some(ForStatementInit::VariableDeclaration(declaration)) => self.variables(declaration, &mut around),
            Some(other) => {
                if let Some(value) = other.as_expression() {
                    self.discard(value, span(value.span()), &mut around);
                }
            }
            None => {}
        }
        let test = tree.test.as_ref().and_then(|test| self.condition(test));
        let mut body = self.loop_body(&tree.body);
        if let Some(update) = &tree.update {
            self.discard(update, span(update.span()), &mut body);
        }
        let looping = StepKind::Loop { test, each: None, body };
        if around.is_empty() {
            return looping;
        }
        around.push(step(looping, span(tree.span)));
        StepKind::Scope(around)
    }

    fn for_in(&mut self, tree: &ForInStatement) -> StepKind {
        self.iteration(&tree.left, &tree.right, &tree.body)
    }

    fn for_of(&mut self, tree: &ForOfStatement) -> StepKind {
        self.iteration(&tree.left, &tree.right, &tree.body)
    }

    fn iteration(&mut self, left: &ForStatementLeft, over: &Expression, body: &Statement) -> StepKind {
        let mut steps = Vec::new();
        let target = match left {
            ForStatementLeft::VariableDeclaration(declaration) => match declaration.declarations.first() {
                Some(declarator) => self.pattern(&declarator.id, &mut steps),
                None => Target::Ignore,
            },
            other => match other.as_assignment_target() {
                Some(target) => self.assigned(target, &mut steps),
                None => Target::Ignore,
            },
        };
        let over = self.expr(over);
        steps.extend(self.loop_body(body));
        StepKind::Loop { test: None, each: Some((target, over)), body: steps }
    }

    fn protected(&mut self, tree: &TryStatement) -> StepKind {
        let body = self.block(&tree.block.body);
        let mut catches = Vec::new();
        if let Some(handler) = &tree.handler {
            let mut steps = Vec::new();
            let binding = handler.param.as_ref().map(|param| {
                let target = self.pattern(&param.pattern, &mut steps);
                if let Some(name) = only_name(&target) {
                    return name.to_owned();
                }
                let (caught, at) = (self.fresh(), span(param.span));
                let value = Some(name(&caught, at));
                steps.insert(0, step(StepKind::Bind { target, value, declares: true, op: None }, at));
                caught
            });
            steps.extend(self.block(&handler.body.body));
            catches.push(Catch { types: asked_for(handler), binding, body: steps, span: span(handler.span) });
        }
        let finally = tree.finalizer.as_ref().map(|tree| self.block(&tree.body)).unwrap_or_default();
        StepKind::Try { body, catches, otherwise: Vec::new(), finally }
    }

    /// A declaration, apart from functions: those are hoisted.
    pub(super) fn declaration(&mut self, tree: &Declaration, steps: &mut Vec<Step>) {
        match tree {
            Declaration::VariableDeclaration(tree) => self.variables(tree, steps),
            Declaration::ClassDeclaration(tree) => {
                self.class(tree, None);
            }
            Declaration::TSTypeAliasDeclaration(tree) => self.alias(tree),
            Declaration::TSInterfaceDeclaration(tree) => self.interface(tree),
            Declaration::TSEnumDeclaration(tree) => self.enumeration(tree),
            other => self.module_like(other, steps),
        }
    }

    fn variables(&mut self, tree: &VariableDeclaration, steps: &mut Vec<Step>) {
        if tree.declare {
            return;
        }
        for declarator in &tree.declarations {
            if self.take_import(declarator) {
                continue;
            }
            let mut after = Vec::new();
            let target = self.pattern(&declarator.id, &mut after);
            let init = declarator.init.as_ref();
            if let (Some(name), Some(Expression::ClassExpression(class))) = (only_name(&target), init) {
                self.class(class, Some(name));
                continue;
            }
            let said = self.annotation(declarator.type_annotation.as_deref());
            let value = init.map(|init| self.named(init, only_name(&target))).map(|value| typed(value, said));
            if let Some(value) = &value {
                self.name_at(value, span(declarator.id.span()), None);
            }
            steps.append(&mut self.pending);
            steps.push(step(StepKind::Bind { target, value, declares: true, op: None }, span(declarator.span)));
            steps.extend(after);
        }
    }

    /// An expression whose value is dropped.
    fn discard(&mut self, tree: &Expression, at: Span, steps: &mut Vec<Step>) {
        let kind = match tree.get_inner_expression() {
            Expression::AssignmentExpression(assignment) => return self.assign(assignment, at, steps),
            Expression::SequenceExpression(sequence) => {
                for each in &sequence.expressions {
                    self.discard(each, span(each.span()), steps);
                }
                return;
            }
            Expression::UpdateExpression(update) => {
                let (target, op) = self.updated(update);
                let value = Some(expr(ExprKind::Number(1.0), at));
                StepKind::Bind { target, value, declares: false, op: Some(op) }
            }
            Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::Delete => {
                StepKind::Delete(self.expr(&unary.argument))
            }
            Expression::YieldExpression(given) => {
                let value = given.argument.as_ref().map(|value| self.expr(value));
                StepKind::Exit { kind: ExitKind::Yield, value }
            }
            Expression::ClassExpression(class) => {
                self.class(class, None);
                return;
            }
            other if self.import_for_effect(other, at) => return,
            other => StepKind::Do(self.expr(other)),
        };
        steps.push(step(kind, at));
    }

    fn assign(&mut self, tree: &AssignmentExpression, at: Span, steps: &mut Vec<Step>) {
        use AssignmentOperator as A;
        if self.export_assignment(tree, at, steps) {
            return;
        }
        if matches!(tree.operator, A::LogicalAnd | A::LogicalOr | A::LogicalNullish) {
            let whole = self.assign_value(tree);
            steps.push(step(StepKind::Do(whole), at));
            return;
        }
        let mut after = Vec::new();
        let target = self.assigned(&tree.left, &mut after);
        let value = Some(self.named(&tree.right, last_name(&target).as_deref()));
        let op = operator::compound(tree.operator);
        steps.push(step(StepKind::Bind { target, value, declares: false, op }, at));
        steps.extend(after);
    }
}

fn is_using(tree: &VariableDeclaration) -> bool {
    matches!(tree.kind, VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing)
}

/// The name a function takes from the place it is assigned to: `b` for `a.b = () => ..`.
fn last_name(target: &Target) -> Option<String> {
    match target {
        Target::Name(name, _) => Some(name.clone()),
        Target::Place(place) => match &place.kind {
            ExprKind::Member(_, member) => Some(member.clone()),
            _ => None,
        },
        _ => None,
    }
}
