//! Models that are classes: what their decorators, attributes and fields declare. It must not know a language.

use super::chain::{ColumnDraft, Draft, Reader};
use crate::facts::{Act, Arg, FnRef, Mark, Value};
use crate::files::{Atom, Span};
use crate::program::flat::Look;
use crate::program::{ClassRef, Meant, Ty, column_key, decorator};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::Class;

/// How many classes deep what is inherited is followed.
const DEEPEST: u32 = 6;

impl Reader<'_> {
    /// What a class declares, with what its bases in the tree declare.
    pub fn class_draft(&self, at: ClassRef, depth: u32) -> Draft {
        let mut draft = Draft::default();
        let (Some(class), Some(facts)) = (self.tree.class(at), self.tree.files.get(at.file as usize)) else { return draft };
        for meant in marks(facts.class_marks.get(&at.class)).filter_map(|mark| decorator(self.tree, mark, at.file)) {
            self.class_mark(&meant, at, &mut draft);
        }
        let kind = self.tree.base_type(at, 0);
        draft.declared |= kind.as_deref().is_some_and(|id| self.tree.packs(at.file).kind(id) == TypeKind::Entity);
        for field in &class.fields {
            let key = (at.class, Atom::from(field.name.as_str()));
            let init = facts.field_values.get(&key);
            self.field(&field.name, init, facts.field_marks.get(&key), kind.as_deref(), at.file, &mut draft);
        }
        for (_, meant) in self.attribute_rows(at, class) {
            self.class_mark(&meant, at, &mut draft);
        }
        draft.single = kind.as_deref().is_some_and(|kind| self.saves_one_row(at, class, kind));
        if depth < DEEPEST {
            for base in self.bases(at) {
                let above = self.class_draft(base, depth + 1);
                draft.columns.extend(above.columns);
                draft.relations.extend(above.relations);
                draft.keys.extend(above.keys);
                draft.version = draft.version.or(above.version);
                draft.single |= above.single;
            }
        }
        draft
    }

    /// Whether what the class does instead of its base's saving gives every row the same primary key.
    fn saves_one_row(&self, at: ClassRef, class: &Class, kind: &str) -> bool {
        let keys = &self.tree.book.tables.keys;
        let constant = |value: &Value| matches!(self.tree.settled(value), Value::Number(_) | Value::Text(_));
        class.methods.iter().map(|method| FnRef { file: at.file, func: method.0 }).any(|method| {
            let named = self.tree.function(method).map(|function| format!("{kind}.{}", function.name));
            let saves = named.and_then(|path| self.meant_at(&path, &Value::Unknown, &[], at.file));
            saves.is_some_and(|meant| meant.is == Meaning::Save)
                && self.tree.facts(method).is_some_and(|facts| {
                    facts.events.iter().any(|event| match &event.act {
                        Act::Write { place: Value::Member(of, name), value, op: None, .. } => {
                            event.guards.is_empty()
                                && **of == Value::This(method)
                                && keys.iter().any(|key| **key == **name)
                                && constant(value)
                        }
                        _ => false,
                    })
                })
        })
    }

    fn class_mark(&self, meant: &Meant, at: ClassRef, draft: &mut Draft) {
        match meant.is {
            Meaning::Table => {
                draft.merge(self.table(meant, at.file, 0));
                if meant.flag("module") {
                    draft.models.extend(self.tree.stem(at.file));
                }
            }
            Meaning::Unique | Meaning::Primary => {
                draft.keys.extend(self.key_of([meant].into_iter()).into_iter().flat_map(|(keys, _)| keys));
            }
            Meaning::Version => draft.version = draft.version.take().or_else(|| self.version(meant, at)),
            _ => {}
        }
    }

    fn field(
        &self,
        name: &str,
        init: Option<&Value>,
        marked: Option<&Vec<Mark>>,
        kind: Option<&str>,
        file: u32,
        draft: &mut Draft,
    ) {
        let relates = |init: &Value| self.links(init, file).iter().filter_map(|link| link.meant.as_ref()).any(is_relation);
        if init.is_some_and(relates) {
            draft.relations.push(name.to_owned());
            return;
        }
        let mut column = init.and_then(|init| self.column(init, file));
        if column.is_none()
            && let (Some(id), Some(init)) = (kind, init)
            && let Some(link) = self.links(init, file).into_iter().next()
            && let Some(meant) = self.meant_at(&format!("{id}.*"), init, &self.with_given(init, link.args, file), file)
        {
            self.add_to(column.get_or_insert_with(ColumnDraft::default), &meant);
        }
        for meant in marks(marked).filter_map(|mark| decorator(self.tree, mark, file)) {
            let column = column.get_or_insert_with(ColumnDraft::default);
            match meant.is {
                Meaning::Column => self.add_to(column, &meant),
                // A lone text is the key's name.
                Meaning::Unique if !matches!(meant.part("columns"), Some(Value::List(_))) => column.unique = true,
                Meaning::Primary => column.primary = true,
                Meaning::Version => column.version = true,
                _ => {}
            }
        }
        if let Some(column) = column {
            if column.version {
                draft.version = Some(name.to_owned());
            }
            draft.columns.push((name.to_owned(), column));
        }
    }

    /// What a field is made with, and what a class of the tree that it is made of always gives its base's constructor beside.
    fn with_given(&self, init: &Value, args: Vec<Arg>, file: u32) -> Vec<Arg> {
        let look = Look { tree: self.tree, events: &[] };
        let class = look.call(&self.tree.settled(init)).and_then(|(callee, _)| match self.tree.ty(&callee, file) {
            Ty::Class(class) => Some(class),
            _ => None,
        });
        let made = class.into_iter().flat_map(|class| self.tree.constructors(class));
        let given = made.filter_map(|method| {
            let own = |name: &str| self.tree.function(method).is_some_and(|own| own.name == name);
            let constructs =
                |callee: &Value| matches!(callee, Value::Member(of, name) if **of == Value::This(method) && own(name));
            self.tree.facts(method)?.events.iter().find_map(|event| match &event.act {
                Act::Call { callee, args, .. } if event.guards.is_empty() && constructs(callee) => Some(args.to_vec()),
                _ => None,
            })
        });
        let constant =
            |(name, value): &Arg| name.is_some() && matches!(value, Value::Bool(_) | Value::Number(_) | Value::Text(_));
        let given: Vec<Arg> = given.flatten().filter(constant).collect();
        args.into_iter().chain(given).collect()
    }

    /// What attributes of the class, and of classes written in it, say of the table.
    pub fn attribute_rows(&self, at: ClassRef, class: &Class) -> Vec<(Span, Meant)> {
        let (Some(facts), Some(id)) = (self.tree.files.get(at.file as usize), self.tree.base_type(at, 0)) else { return vec![] };
        let nested = facts.unit.classes.iter().enumerate().filter(|(index, inner)| {
            *index as u32 != at.class && class.span.start < inner.span.start && inner.span.end <= class.span.end
        });
        let own = class.fields.iter().map(|field| (at.class, field, field.name.clone()));
        let inner = nested.flat_map(|(index, inner)| {
            inner.fields.iter().map(move |field| (index as u32, field, format!("{}.{}", inner.name, field.name)))
        });
        let meant = own.chain(inner).filter_map(|(owner, field, path)| {
            let value = facts.field_values.get(&(owner, Atom::from(field.name.as_str())))?;
            let row = self.meant_at(&format!("{id}.{path}"), &Value::Unknown, &[(None, value.clone())], at.file);
            let any = || {
                let link = self.links(value, at.file).into_iter().next().filter(|_| owner == at.class)?;
                self.meant_at(&format!("{id}.*"), value, &link.args, at.file)
            };
            Some((field.span, row.or_else(any)?))
        });
        meant.collect()
    }

    /// The column with the version: a field of the class, by its name or by what it is set to.
    fn version(&self, meant: &Meant, at: ClassRef) -> Option<String> {
        let column = meant.part("column")?;
        let values = self.tree.files.get(at.file as usize).map(|facts| &facts.field_values);
        let mut fields = self.tree.class(at).into_iter().flat_map(|class| &class.fields);
        let is_it = |name: &str| values?.get(&(at.class, Atom::from(name))).filter(|value| *value == column);
        match fields.find(|field| matches!(column, Value::Result(..)) && is_it(&field.name).is_some()) {
            Some(field) => Some(column_key(&field.name)),
            None => self.columns(column)?.into_iter().next(),
        }
    }

    fn bases(&self, at: ClassRef) -> Vec<ClassRef> {
        let Some(class) = self.tree.class(at) else { return vec![] };
        let own = FnRef { file: at.file, func: class.parent.0 };
        let bases = class.bases.iter().filter_map(|base| match self.tree.declared(base, own) {
            Ty::Instance(base) if base != at => Some(base),
            _ => None,
        });
        bases.collect()
    }
}

fn is_relation(meant: &Meant) -> bool {
    meant.is == Meaning::Relation
}

fn marks(marks: Option<&Vec<Mark>>) -> impl Iterator<Item = &Value> {
    marks.into_iter().flatten().map(|(value, _)| value)
}
