//! What a declaration or assignment writes. A default inside a pattern becomes a step of its own after the binding:
//! `const { a = 1 } = o` is `const { a } = o` and then `a ??= 1`.

use oxc_ast::ast::{
    AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty, BindingPattern, Expression, PropertyKey,
    SimpleAssignmentTarget,
};
use oxc_span::GetSpan;

use super::{ExprKind, Lower, Step, StepKind, expr, span, step};
use crate::syntax::Target;

impl Lower {
    /// The target of a declaration or parameter; defaults go to `after`.
    pub(super) fn pattern(&mut self, pattern: &BindingPattern, after: &mut Vec<Step>) -> Target {
        match pattern {
            BindingPattern::BindingIdentifier(identifier) => Target::Name(identifier.name.to_string(), span(identifier.span)),
            BindingPattern::AssignmentPattern(with_default) => {
                let mut inner = Vec::new();
                let target = self.pattern(&with_default.left, &mut inner);
                let target = self.default(target, &with_default.right, after);
                after.extend(inner);
                target
            }
            BindingPattern::ObjectPattern(object) => {
                let mut fields = Vec::new();
                for property in &object.properties {
                    let name = key(&property.key);
                    fields.push((name, self.pattern(&property.value, after)));
                }
                if let Some(rest) = &object.rest {
                    fields.push(("...".to_owned(), self.pattern(&rest.argument, after)));
                }
                Target::Fields(fields)
            }
            BindingPattern::ArrayPattern(array) => {
                let mut items = Vec::new();
                for element in &array.elements {
                    items.push(element.as_ref().map_or(Target::Ignore, |element| self.pattern(element, after)));
                }
                if let Some(rest) = &array.rest {
                    items.push(self.pattern(&rest.argument, after));
                }
                Target::Items(items)
            }
        }
    }

    /// The target of an assignment; defaults go to `after`.
    pub(super) fn assigned(&mut self, target: &AssignmentTarget, after: &mut Vec<Step>) -> Target {
        match target {
            AssignmentTarget::ArrayAssignmentTarget(array) => {
                let mut items = Vec::new();
                for element in &array.elements {
                    items.push(element.as_ref().map_or(Target::Ignore, |element| self.maybe_default(element, after)));
                }
                if let Some(rest) = &array.rest {
                    items.push(self.assigned(&rest.target, after));
                }
                Target::Items(items)
            }
            AssignmentTarget::ObjectAssignmentTarget(object) => {
                let mut fields = Vec::new();
                for property in &object.properties {
                    fields.push(match property {
                        AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(property) => {
                            let name = property.binding.name.to_string();
                            let target = Target::Name(name.clone(), span(property.binding.span));
                            let target = match &property.init {
                                Some(init) => self.default(target, init, after),
                                None => target,
                            };
                            (name, target)
                        }
                        AssignmentTargetProperty::AssignmentTargetPropertyProperty(property) => {
                            (key(&property.name), self.maybe_default(&property.binding, after))
                        }
                    });
                }
                if let Some(rest) = &object.rest {
                    fields.push(("...".to_owned(), self.assigned(&rest.target, after)));
                }
                Target::Fields(fields)
            }
            other => other.as_simple_assignment_target().map_or(Target::Ignore, |simple| self.simple(simple)),
        }
    }

    /// A name or place.
    pub(super) fn simple(&mut self, target: &SimpleAssignmentTarget) -> Target {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) => {
                Target::Name(identifier.name.to_string(), span(identifier.span))
            }
            SimpleAssignmentTarget::TSAsExpression(cast) => self.behind_cast(&cast.expression),
            SimpleAssignmentTarget::TSSatisfiesExpression(cast) => self.behind_cast(&cast.expression),
            SimpleAssignmentTarget::TSNonNullExpression(cast) => self.behind_cast(&cast.expression),
            SimpleAssignmentTarget::TSTypeAssertion(cast) => self.behind_cast(&cast.expression),
            other => {
                let Some(member) = other.as_member_expression() else { return Target::Ignore };
                match self.exported_place(member) {
                    Some(name) => Target::Name(name, span(member.span())),
                    None => Target::Place(Box::new(self.nested(|lower| lower.member(member), span(member.span())))),
                }
            }
        }
    }

    fn behind_cast(&mut self, expression: &Expression) -> Target {
        let value = self.expr(expression);
        match value.kind {
            ExprKind::Name(name) => Target::Name(name, value.span),
            _ => Target::Place(Box::new(value)),
        }
    }

    fn maybe_default(&mut self, target: &AssignmentTargetMaybeDefault, after: &mut Vec<Step>) -> Target {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(with_default) => {
                let mut inner = Vec::new();
                let target = self.assigned(&with_default.binding, &mut inner);
                let target = self.default(target, &with_default.init, after);
                after.extend(inner);
                target
            }
            other => other.as_assignment_target().map_or(Target::Ignore, |target| self.assigned(target, after)),
        }
    }

    /// Notes that `target` falls back to `value`. A pattern with a default is bound to a fresh name first.
    fn default(&mut self, target: Target, value: &Expression, after: &mut Vec<Step>) -> Target {
        let at = span(value.span());
        let value = Box::new(self.named(value, only_name(&target)));
        let (held, rest) = match target {
            Target::Fields(_) | Target::Items(_) => {
                let temp = self.fresh();
                let from = super::name(&temp, at);
                let kind = StepKind::Bind { target, value: Some(from), declares: true, op: None };
                (Target::Name(temp, at), Some(step(kind, at)))
            }
            target => (target, None),
        };
        let fallback = ExprKind::Assign { target: Box::new(held.clone()), value, op: None, if_null: true };
        after.push(step(StepKind::Do(expr(fallback, at)), at));
        after.extend(rest);
        held
    }
}

/// The name a target writes, where it is only one.
pub(super) fn only_name(target: &Target) -> Option<&str> {
    match target {
        Target::Name(name, _) => Some(name),
        _ => None,
    }
}

/// The name of a property; in brackets where it is computed, with the name of the member that says it (`[Op.is]` is `[is]`).
/// Private names keep their `#`.
pub(super) fn key(key: &PropertyKey) -> String {
    match key {
        PropertyKey::PrivateIdentifier(private) => format!("#{}", private.name),
        PropertyKey::StaticMemberExpression(member) => format!("[{}]", member.property.name),
        other => other.static_name().map_or_else(|| "[]".to_owned(), |name| name.into_owned()),
    }
}
