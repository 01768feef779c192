//! Which assignments of a function make a variable of its own: all but those to names said to be `global` or `nonlocal`.

use std::collections::HashSet;

use super::super::{Step, StepKind, Target};

/// Marks assignments that declare, in one function's steps.
pub(super) fn declare(steps: &mut [Step], outer: &HashSet<String>) {
    for step in steps {
        match &mut step.kind {
            StepKind::Bind { target, declares, .. } => *declares = !names_outer(target, outer),
            StepKind::Branch { then, otherwise, .. } => {
                declare(then, outer);
                declare(otherwise, outer);
            }
            StepKind::Loop { body, .. } | StepKind::Within { body, .. } | StepKind::Scope(body) => declare(body, outer),
            StepKind::Try { body, catches, otherwise, finally } => {
                declare(body, outer);
                catches.iter_mut().for_each(|catch| declare(&mut catch.body, outer));
                declare(otherwise, outer);
                declare(finally, outer);
            }
            StepKind::Do(_) | StepKind::Exit { .. } | StepKind::Delete(_) => {}
        }
    }
}

fn names_outer(target: &Target, outer: &HashSet<String>) -> bool {
    match target {
        Target::Name(name, _) => outer.contains(name),
        Target::Fields(fields) => fields.iter().any(|(_, inner)| names_outer(inner, outer)),
        Target::Items(items) => items.iter().any(|inner| names_outer(inner, outer)),
        Target::Inside(inner) => names_outer(inner, outer),
        Target::Place(_) | Target::Ignore => false,
    }
}
