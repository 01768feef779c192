//! Declarations that a callback finishes: it is given a builder of a table, or of one column. It must not know a library's name.

use super::chain::{ColumnDraft, Draft, Reader};
use crate::facts::{Act, FnRef, Value};
use crate::files::Span;
use crate::program::Meant;
use crate::rules::Meaning;

impl Reader<'_> {
    /// The callback that builds a table.
    pub fn body(&self, meant: &Meant) -> Option<FnRef> {
        match meant.part("builds").map(|body| self.tree.settled(body))? {
            Value::Function(body) => Some(body),
            _ => None,
        }
    }

    /// What a callback does to the builder it is given, of a table or of the one column that is being declared: each step with the
    /// column it speaks of, where it does.
    fn built_steps(&self, meant: &Meant, body: FnRef) -> Vec<(Span, Option<String>, Meant)> {
        let Some(builder) = meant.text("builder") else { return vec![] };
        let about = || self.columns(meant.part("column")?)?.into_iter().next();
        let about = about();
        let events = self.tree.facts(body).map_or(&[][..], |facts| &facts.events);
        let steps = events.iter().filter_map(|event| {
            let Act::Call { callee: Value::Member(of, method), args, .. } = &event.act else { return None };
            let given = Value::Param(body, 0);
            let first = || self.links(of, body.file).into_iter().next().filter(|link| link.receiver == given);
            let column = match **of == given {
                true => about.clone(),
                false if about.is_some() => first().and(about.clone()),
                false => Some(self.columns(&first()?.args.first()?.1)?.into_iter().next()?),
            };
            let path = format!("{}:{builder}.{method}", meant.library);
            Some((event.span, column, self.meant_at(&path, of, args, body.file)?))
        });
        steps.collect()
    }

    /// The rows of [`Reader::built`].
    pub fn steps(&self, meant: &Meant, body: FnRef) -> Vec<(Span, Meant)> {
        self.built_steps(meant, body).into_iter().map(|(span, _, meant)| (span, meant)).collect()
    }

    /// Adds what a callback does to the builder it is given.
    pub fn built(&self, meant: &Meant, body: FnRef, draft: &mut Draft) {
        for (_, column, meant) in self.built_steps(meant, body) {
            let key = self.key_of([&meant].into_iter()).map(|(keys, _)| keys).unwrap_or_default();
            match (meant.is, column.or_else(|| self.columns(meant.part("name")?)?.into_iter().next())) {
                (Meaning::Unique | Meaning::Primary, _) if meant.flag("drops") => draft.dropped.extend(key),
                (Meaning::Unique | Meaning::Primary, _) => draft.keys.extend(key),
                (Meaning::Column, Some(name)) => {
                    let mut column = ColumnDraft::default();
                    self.add_to(&mut column, &meant);
                    draft.columns.push((name, ColumnDraft { name: None, ..column }));
                }
                _ => {}
            }
        }
    }
}
