//! What comments near a fault say of it: that it is admitted, or accepted.

use super::Role;
use super::candidate::Candidate;
use super::view::World;
use crate::files::Source;
use crate::program::Spot;

/// How many lines behind its end a comment still speaks of what it admits.
const ADMITS: u32 = 8;
/// How many lines behind its end a comment still speaks of what it accepts.
const ACCEPTS: u32 = 4;
/// How many lines behind its beginning a comment inside still speaks of all of it.
const BEGINS: u32 = 3;

/// Whether a comment near the places of a fault admits that it is of one process alone.
pub(super) fn admitted(world: &World<'_>, sources: &[&Source], candidate: &Candidate) -> bool {
    let file = candidate.primary.file;
    let places = candidate.trace.iter().map(|(_, at, _)| *at).chain([candidate.primary]).filter(|at| at.file == file);
    let words = &world.tree.book.comments;
    places.into_iter().any(|at| blocks(world, sources, at, ADMITS).iter().any(|text| words.admits(text)))
}

/// Whether a comment directly at a fault's places accepts what comes of it.
pub(super) fn accepted(world: &World<'_>, sources: &[&Source], candidate: &Candidate) -> bool {
    let words = &world.tree.book.comments;
    // Where the check is a call, the comment stands there.
    let own = candidate.primary.file;
    let calls = candidate.trace.iter().filter(|(role, at, _)| *role == Role::Call && at.file == own).map(|(_, at, _)| *at);
    let decided = candidate.trace.iter().filter(|(role, at, _)| *role == Role::Check && at.file == own).map(|(_, at, _)| *at);
    let places = [candidate.primary, candidate.cause, candidate.work].into_iter().chain(calls).chain(decided);
    places.into_iter().any(|at| blocks(world, sources, at, ACCEPTS).iter().any(|text| words.accepts(text)))
}

/// Whether a comment at the start of a job, or where its loop begins, says that every copy is to do it.
pub(super) fn wanted(world: &World<'_>, sources: &[&Source], candidate: &Candidate) -> bool {
    let words = &world.tree.book.comments;
    let places = candidate.trace.iter().filter(|(role, ..)| matches!(role, Role::Entry | Role::Check)).map(|(_, at, _)| *at);
    places.chain([candidate.primary]).any(|at| {
        let begins = || {
            let facts = world.tree.files.get(at.file as usize)?;
            let source = sources.get(at.file as usize)?;
            let first = source.lines.position(at.span.start).0;
            let line = |offset: u32| source.lines.position(offset).0;
            let near = |start: u32| start > at.span.start && line(start) <= first + BEGINS;
            let inside = facts.unit.comments.iter().filter(|comment| near(comment.span.start));
            Some(inside.map(|comment| &*comment.text).collect::<Vec<&str>>().join("\n"))
        };
        let before = blocks(world, sources, at, ACCEPTS);
        before.into_iter().chain(begins()).any(|text| words.wants_everywhere(&text))
    })
}

/// The comments that end at most so many lines before a place, or on its line; what stands on lines that follow each other is one.
fn blocks(world: &World<'_>, sources: &[&Source], at: Spot, lines: u32) -> Vec<String> {
    let Some(facts) = world.tree.files.get(at.file as usize) else { return vec![] };
    let Some(source) = sources.get(at.file as usize) else { return vec![] };
    let line = |offset: u32| source.lines.position(offset).0;
    let own = line(at.span.start);
    let mut found: Vec<(String, u32)> = vec![];
    for comment in &facts.unit.comments {
        let (first, last) = (line(comment.span.start), line(comment.span.end.saturating_sub(1).max(comment.span.start)));
        match found.last_mut() {
            Some((text, end)) if first == *end + 1 => {
                text.push('\n');
                text.push_str(&comment.text);
                *end = last;
            }
            _ => found.push((comment.text.clone(), last)),
        }
    }
    found.into_iter().filter(|(_, last)| *last <= own && last + lines >= own).map(|(text, _)| text).collect()
}
