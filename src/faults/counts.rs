//! Where functions of a file count up what the file's state keeps: looked for once a file, whoever asks.

use std::sync::OnceLock;

use crate::facts::{Act, FileFacts, Value};
use crate::program::{Holder, Place, Spot, Tree, meaning, place_of};
use crate::rules::Meaning;
use crate::syntax::BinaryOp;

/// What the files of a tree count, by file.
pub struct Counts(Vec<OnceLock<OfFile>>);

/// Numbers of state that one file's functions change.
#[derive(Default)]
struct OfFile {
    up: Vec<(Place, Spot)>,
    down: Vec<Place>,
}

impl Counts {
    /// Nothing counted yet, of so many files.
    pub fn new(files: usize) -> Counts {
        Counts((0..files).map(|_| OnceLock::new()).collect())
    }

    /// Where a function of the file or class that keeps a piece of state counts it up and none counts it down: one of many, each
    /// counted for itself, since a cell alone says how this process does.
    pub(super) fn counted(&self, tree: &Tree, place: &Place) -> Option<Spot> {
        let file = match &place.holder {
            Holder::Variable(file, _) => *file,
            Holder::Field(class, _) => class.file,
            _ => return None,
        };
        let facts = tree.files.get(file as usize)?;
        let counts = self.0.get(file as usize)?.get_or_init(|| of_file(tree, file, facts));
        if counts.down.iter().any(|at| at.same(place)) {
            return None;
        }
        counts.up.iter().find(|(at, _)| at.same(place)).map(|(_, at)| *at)
    }
}

fn of_file(tree: &Tree, file: u32, facts: &FileFacts) -> OfFile {
    let keyed = |value: &Value| place_of(tree, &[], value).filter(|at| at.keyed);
    let mut found = OfFile::default();
    for event in facts.functions.iter().flat_map(|function| &function.events) {
        let up = match &event.act {
            Act::Write { place, op: Some(BinaryOp::Sub), .. } => {
                found.down.extend(keyed(place));
                None
            }
            Act::Write { place, op: Some(BinaryOp::Add), .. } => keyed(place),
            Act::Write { place, value: Value::Op(BinaryOp::Add, pair), .. } => {
                keyed(place).filter(|at| pair.iter().filter_map(keyed).any(|part| part.same(at)))
            }
            Act::Call { callee: callee @ Value::Member(of, _), args, .. } => {
                let put = || meaning(tree, callee, args, file).filter(|meant| meant.is == Meaning::Put);
                place_of(tree, &[], of).filter(|at| {
                    let sum = |value: &Value| match value {
                        Value::Op(BinaryOp::Add, pair) => pair.iter().filter_map(keyed).any(|part| part.same(at)),
                        _ => false,
                    };
                    put().is_some_and(|put| put.flag("counts") || put.part("value").is_some_and(|value| value.any(&sum)))
                })
            }
            _ => None,
        };
        found.up.extend(up.map(|place| (place, Spot { file, span: event.span })));
    }
    found
}
