//! Expressions.

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, AssignmentExpression, AssignmentOperator, BinaryExpression, BinaryOperator, CallExpression,
    ChainElement, ConditionalExpression, Expression, ImportExpression, LogicalExpression, LogicalOperator, MemberExpression,
    NewExpression, ObjectExpression, ObjectPropertyKind, PropertyKind, SequenceExpression, TaggedTemplateExpression,
    TemplateLiteral, UnaryExpression, UnaryOperator, UpdateExpression, UpdateOperator,
};
use oxc_span::GetSpan;

use super::function::Role;
use super::target::{key, only_name};
use super::{Expr, ExprKind, Lower, Span, StepKind, expr, module, name, operator, span, step};
use crate::syntax::{Arg, BinaryOp, Call, CallForm, ExitKind, Shape, Target, TemplatePart, TypeRef, is_computed};

/// Expressions and statements nested deeper than this are given up.
const DEEPEST: u32 = 200;

impl Lower {
    pub(super) fn expr(&mut self, tree: &Expression) -> Expr {
        self.named(tree, None)
    }

    /// An expression that is given a name, which a function or class without one of its own takes.
    pub(super) fn named(&mut self, tree: &Expression, hint: Option<&str>) -> Expr {
        self.nested(|lower| lower.any(tree, hint), span(tree.span()))
    }

    /// Goes one level down, or gives up where that is too deep.
    pub(super) fn nested(&mut self, lower: impl FnOnce(&mut Lower) -> Expr, at: Span) -> Expr {
        if !self.descend() {
            return expr(ExprKind::Other(Vec::new()), at);
        }
        let lowered = lower(self);
        self.ascend();
        lowered
    }

    /// Whether there is room for one more level; each `true` needs its [`Lower::ascend`].
    pub(super) fn descend(&mut self) -> bool {
        let fits = self.depth < DEEPEST;
        self.depth += u32::from(fits);
        fits
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn any(&mut self, tree: &Expression, hint: Option<&str>) -> Expr {
        let at = span(tree.span());
        let kind = match tree {
            Expression::BooleanLiteral(literal) => ExprKind::Bool(literal.value),
            Expression::NullLiteral(_) => ExprKind::Null,
            Expression::NumericLiteral(literal) => ExprKind::Number(literal.value),
            Expression::BigIntLiteral(literal) => ExprKind::Number(literal.value.parse().unwrap_or(f64::NAN)),
            Expression::RegExpLiteral(literal) => ExprKind::Text(literal.regex.pattern.text.to_string()),
            Expression::StringLiteral(literal) => ExprKind::Text(literal.value.to_string()),
            Expression::TemplateLiteral(template) => self.template(template),
            Expression::Identifier(identifier) if identifier.name == "undefined" => ExprKind::Null,
            Expression::Identifier(identifier) => ExprKind::Name(identifier.name.to_string()),
            Expression::ThisExpression(_) => self.this_name.clone().map_or(ExprKind::This, ExprKind::Name),
            Expression::Super(_) => ExprKind::Super,
            Expression::ImportMeta(_) => ExprKind::Member(Box::new(name("import", at)), "meta".to_owned()),
            Expression::NewTarget(_) => ExprKind::Other(Vec::new()),
            Expression::ArrayExpression(array) => ExprKind::List(self.elements(&array.elements)),
            Expression::ObjectExpression(object) => self.object(object),
            Expression::ArrowFunctionExpression(tree) => {
                ExprKind::Lambda(self.arrow(tree, Role { name: hint.unwrap_or(""), ..Role::default() }))
            }
            Expression::FunctionExpression(tree) => {
                ExprKind::Lambda(self.function(tree, Role { name: hint.unwrap_or(""), ..Role::default() }))
            }
            Expression::ClassExpression(tree) => ExprKind::Name(self.class(tree, if tree.id.is_some() { None } else { hint })),
            Expression::AssignmentExpression(assignment) => self.assignment(assignment),
            Expression::UpdateExpression(update) => self.update(update),
            Expression::UnaryExpression(unary) => return self.unary(unary),
            Expression::BinaryExpression(binary) => self.binary(binary),
            Expression::PrivateInExpression(test) => ExprKind::Is(Box::new(self.expr(&test.right)), Shape::Other),
            Expression::LogicalExpression(logical) => self.logical(logical),
            Expression::ConditionalExpression(choice) => self.choice(choice),
            Expression::SequenceExpression(sequence) => return self.comma(sequence),
            Expression::CallExpression(call) => return self.call(call),
            Expression::NewExpression(call) => self.construct(call),
            Expression::TaggedTemplateExpression(tagged) => self.tagged(tagged),
            Expression::ImportExpression(import) => self.import(import),
            Expression::V8IntrinsicExpression(call) => {
                ExprKind::Other(self.args(&call.arguments).into_iter().map(|arg| arg.value).collect())
            }
            Expression::AwaitExpression(awaited) => return self.awaited(&awaited.argument, hint),
            Expression::YieldExpression(given) => {
                // Control leaves before the statement goes on with what it is given.
                let value = given.argument.as_ref().map(|value| self.expr(value));
                self.pending.push(step(StepKind::Exit { kind: ExitKind::Yield, value }, at));
                ExprKind::Other(Vec::new())
            }
            Expression::ChainExpression(chain) => return self.chain(&chain.expression),
            Expression::ParenthesizedExpression(inner) => return self.named(&inner.expression, hint),
            Expression::TSAsExpression(cast) => {
                let value = self.named(&cast.expression, hint);
                let said = self.type_ref(&cast.type_annotation);
                return typed(value, said);
            }
            Expression::TSSatisfiesExpression(cast) => return self.named(&cast.expression, hint),
            Expression::TSTypeAssertion(cast) => {
                let value = self.named(&cast.expression, hint);
                let said = self.type_ref(&cast.type_annotation);
                return typed(value, said);
            }
            Expression::TSNonNullExpression(cast) => return self.named(&cast.expression, hint),
            Expression::TSInstantiationExpression(cast) => return self.named(&cast.expression, hint),
            Expression::JSXElement(element) => return self.element(element),
            Expression::JSXFragment(fragment) => ExprKind::Other(self.children(&fragment.children)),
            other => match other.as_member_expression() {
                Some(member) => return self.member(member),
                None => ExprKind::Other(Vec::new()),
            },
        };
        expr(kind, at)
    }

    pub(super) fn member(&mut self, tree: &MemberExpression) -> Expr {
        if let Some(local) = self.exported_local(tree) {
            return name(&local, span(tree.span()));
        }
        let of = Box::new(self.expr(tree.object()));
        let kind = match tree {
            MemberExpression::StaticMemberExpression(member) => ExprKind::Member(of, member.property.name.to_string()),
            MemberExpression::PrivateFieldExpression(member) => ExprKind::Member(of, format!("#{}", member.field.name)),
            MemberExpression::ComputedMemberExpression(member) => ExprKind::Index(of, Box::new(self.expr(&member.expression))),
        };
        expr(kind, span(tree.span()))
    }

    fn chain(&mut self, chain: &ChainElement) -> Expr {
        match chain {
            ChainElement::CallExpression(call) => self.call(call),
            ChainElement::TSNonNullExpression(inner) => self.expr(&inner.expression),
            other => match other.as_member_expression() {
                Some(member) => self.member(member),
                None => expr(ExprKind::Other(Vec::new()), span(other.span())),
            },
        }
    }

    fn call(&mut self, tree: &CallExpression) -> Expr {
        let at = span(tree.span);
        if let Some(module) = module::required(tree) {
            let local = self.import_here(module, at);
            return name(&local, at);
        }
        if let Some(told) = self.told_its_receiver(tree) {
            return told;
        }
        let callee = self.expr(&tree.callee);
        let args = self.args(&tree.arguments);
        expr(ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Plain, awaited: false })), at)
    }

    fn construct(&mut self, tree: &NewExpression) -> ExprKind {
        let callee = self.expr(&tree.callee);
        let args = self.args(&tree.arguments);
        ExprKind::Call(Box::new(Call { callee, args, form: CallForm::New, awaited: false }))
    }

    fn tagged(&mut self, tree: &TaggedTemplateExpression) -> ExprKind {
        let callee = self.expr(&tree.tag);
        let value = expr(self.template(&tree.quasi), span(tree.quasi.span));
        let args = vec![Arg { name: None, value }];
        ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Tagged, awaited: false }))
    }

    /// `import(..)` as a value is the module; with a computed name it is a call.
    fn import(&mut self, tree: &ImportExpression) -> ExprKind {
        let at = span(tree.span);
        if let Some(module) = module::constant(&tree.source) {
            return ExprKind::Name(self.import_here(&module, at));
        }
        let args = vec![Arg { name: None, value: self.expr(&tree.source) }];
        ExprKind::Call(Box::new(Call { callee: name("import", at), args, form: CallForm::Plain, awaited: false }))
    }

    fn awaited(&mut self, tree: &Expression, hint: Option<&str>) -> Expr {
        let mut value = self.named(tree, hint);
        let inner = match &mut value.kind {
            ExprKind::Typed(inner, _) => &mut inner.kind,
            other => other,
        };
        if let ExprKind::Call(call) = inner {
            call.awaited = true;
        }
        value
    }

    pub(super) fn args(&mut self, args: &[Argument]) -> Vec<Arg> {
        let mut lowered = Vec::new();
        for arg in args {
            lowered.extend(match arg {
                Argument::SpreadElement(spread) => Some(Arg { name: Some("*".to_owned()), value: self.expr(&spread.argument) }),
                other => other.as_expression().map(|value| Arg { name: None, value: self.expr(value) }),
            });
        }
        lowered
    }

    fn elements(&mut self, elements: &[ArrayExpressionElement]) -> Vec<Expr> {
        let mut lowered = Vec::new();
        for element in elements {
            let at = span(element.span());
            lowered.push(match element {
                ArrayExpressionElement::SpreadElement(spread) => expr(ExprKind::Other(vec![self.expr(&spread.argument)]), at),
                other => other.as_expression().map_or(expr(ExprKind::Null, at), |value| self.expr(value)),
            });
        }
        lowered
    }

    fn object(&mut self, tree: &ObjectExpression) -> ExprKind {
        let mut entries = Vec::new();
        for property in &tree.properties {
            entries.push(match property {
                ObjectPropertyKind::SpreadProperty(spread) => ("...".to_owned(), self.expr(&spread.argument)),
                ObjectPropertyKind::ObjectProperty(property) => {
                    let key = key(&property.key);
                    let hint = Some(key.as_str()).filter(|key| !is_computed(key));
                    let value = self.named(&property.value, hint);
                    let whole = (property.method || property.kind != PropertyKind::Init).then(|| span(property.span));
                    self.name_at(&value, span(property.key.span()), whole);
                    (key, value)
                }
            });
        }
        ExprKind::Object { ty: None, entries }
    }

    /// A function without a name of its own is named where the property or variable it is the value of is named.
    pub(super) fn name_at(&mut self, value: &Expr, named: Span, whole: Option<Span>) {
        if let ExprKind::Lambda(id) = value.kind
            && let Some(function) = self.unit.functions.get_mut(id.0 as usize)
            && function.name_span.start == function.span.start
        {
            function.name_span = named;
            function.span = whole.unwrap_or(function.span);
        }
    }

    fn template(&mut self, tree: &TemplateLiteral) -> ExprKind {
        let texts = tree.quasis.iter().map(|quasi| quasi.value.cooked.unwrap_or(quasi.value.raw));
        if tree.expressions.is_empty() {
            return ExprKind::Text(texts.map(|text| text.to_string()).collect());
        }
        let mut values = tree.expressions.iter();
        let mut parts = Vec::new();
        for text in texts {
            if !text.is_empty() {
                parts.push(TemplatePart::Text(text.to_string()));
            }
            parts.extend(values.next().map(|value| TemplatePart::Value(self.expr(value))));
        }
        ExprKind::Template(parts)
    }

    /// Constants before the last value are only there to change how it is called: `(0, f)(x)` is `f(x)`.
    fn comma(&mut self, tree: &SequenceExpression) -> Expr {
        let mut values: Vec<Expr> =
            tree.expressions.iter().filter(|value| !value.is_literal()).map(|value| self.expr(value)).collect();
        match values.len() {
            1 if tree.expressions.last().is_some_and(|last| !last.is_literal()) => values.remove(0),
            _ => expr(ExprKind::Other(values), span(tree.span)),
        }
    }

    fn choice(&mut self, tree: &ConditionalExpression) -> ExprKind {
        ExprKind::Choose {
            test: Box::new(self.expr(&tree.test)),
            then: Box::new(self.expr(&tree.consequent)),
            otherwise: Box::new(self.expr(&tree.alternate)),
        }
    }

    fn logical(&mut self, tree: &LogicalExpression) -> ExprKind {
        let (left, right) = (Box::new(self.expr(&tree.left)), Box::new(self.expr(&tree.right)));
        match tree.operator {
            LogicalOperator::And => ExprKind::And(left, right),
            LogicalOperator::Or => ExprKind::Or(left, right),
            LogicalOperator::Coalesce => ExprKind::Coalesce(left, right),
        }
    }

    /// An assignment as a value, whatever its operator.
    pub(super) fn assign_value(&mut self, tree: &AssignmentExpression) -> Expr {
        expr(self.assignment(tree), span(tree.span))
    }

    fn assignment(&mut self, tree: &AssignmentExpression) -> ExprKind {
        let mut after = Vec::new();
        let target = self.assigned(&tree.left, &mut after);
        self.pending.extend(after);
        let value = Box::new(self.named(&tree.right, only_name(&target)));
        let at = span(tree.span);
        let test = match (&target, tree.operator) {
            (Target::Name(written, name_span), AssignmentOperator::LogicalAnd) => Some(name(written, *name_span)),
            (Target::Place(place), AssignmentOperator::LogicalAnd) => Some((**place).clone()),
            _ => None,
        };
        let if_null = matches!(tree.operator, AssignmentOperator::LogicalNullish | AssignmentOperator::LogicalOr);
        let write = ExprKind::Assign { target: Box::new(target), value, op: operator::compound(tree.operator), if_null };
        match test {
            Some(test) => ExprKind::And(Box::new(test), Box::new(expr(write, at))),
            None => write,
        }
    }

    fn update(&mut self, tree: &UpdateExpression) -> ExprKind {
        let (target, op) = self.updated(tree);
        let value = Box::new(expr(ExprKind::Number(1.0), span(tree.span)));
        ExprKind::Assign { target: Box::new(target), value, op: Some(op), if_null: false }
    }

    /// What `++` or `--` writes, and whether it adds or subtracts one.
    pub(super) fn updated(&mut self, tree: &UpdateExpression) -> (Target, BinaryOp) {
        let op = match tree.operator {
            UpdateOperator::Increment => BinaryOp::Add,
            UpdateOperator::Decrement => BinaryOp::Sub,
        };
        (self.simple(&tree.argument), op)
    }

    fn unary(&mut self, tree: &UnaryExpression) -> Expr {
        let at = span(tree.span);
        let value = self.expr(&tree.argument);
        let kind = match tree.operator {
            UnaryOperator::LogicalNot => ExprKind::Not(Box::new(value)),
            UnaryOperator::UnaryNegation => ExprKind::Negate(Box::new(value)),
            UnaryOperator::Void if matches!(value.kind, ExprKind::Number(_)) => ExprKind::Null,
            UnaryOperator::Void | UnaryOperator::UnaryPlus => return value,
            UnaryOperator::BitwiseNot | UnaryOperator::Typeof | UnaryOperator::Delete => ExprKind::Other(vec![value]),
        };
        expr(kind, at)
    }

    fn binary(&mut self, tree: &BinaryExpression) -> ExprKind {
        match tree.operator {
            BinaryOperator::In => {
                let arg = Arg { name: None, value: self.expr(&tree.left) };
                let of = self.expr(&tree.right);
                let at = of.span;
                let callee = expr(ExprKind::Member(Box::new(of), "__contains__".to_owned()), at);
                ExprKind::Call(Box::new(Call { callee, args: vec![arg], form: CallForm::Operator, awaited: false }))
            }
            operator => {
                let op = operator::binary(operator);
                if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)
                    && let Some((tested, shape)) = shape_test(&tree.left, &tree.right)
                {
                    let is = ExprKind::Is(Box::new(self.expr(tested)), shape);
                    return if op == BinaryOp::Equal { is } else { ExprKind::Not(Box::new(expr(is, span(tree.span)))) };
                }
                ExprKind::Binary(op, Box::new(self.expr(&tree.left)), Box::new(self.expr(&tree.right)))
            }
        }
    }
}

/// The value and the shape that an equality asks for: `x == null`, `typeof x === 'string'`, either way round.
fn shape_test<'t, 'a>(left: &'t Expression<'a>, right: &'t Expression<'a>) -> Option<(&'t Expression<'a>, Shape)> {
    let (left, right) = (left.get_inner_expression(), right.get_inner_expression());
    for (tested, against) in [(left, right), (right, left)] {
        if against.is_null_or_undefined() {
            return Some((tested, Shape::Null));
        }
        if let (Expression::UnaryExpression(unary), Expression::StringLiteral(kind)) = (tested, against)
            && unary.operator == UnaryOperator::Typeof
        {
            let shape = if kind.value == "undefined" { Shape::Null } else { Shape::Other };
            return Some((&unary.argument, shape));
        }
    }
    None
}

/// A call with the type its result is said to be of; other values are what they are.
pub(super) fn typed(value: Expr, said: Option<TypeRef>) -> Expr {
    let says_nothing = |said: &TypeRef| matches!(said.name.as_str(), "any" | "unknown" | "never" | "object" | "const" | "");
    match said.filter(|said| matches!(value.kind, ExprKind::Call(_)) && !says_nothing(said)) {
        Some(said) => {
            let at = value.span;
            expr(ExprKind::Typed(Box::new(value), said), at)
        }
        None => value,
    }
}
