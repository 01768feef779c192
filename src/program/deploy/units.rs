//! From deployment files to [`Deployment`]s, by the rows of `rules/deploy/`.

use std::collections::BTreeMap;

use super::commands::asked;
use super::number::{fallback_of, number, of_values, variable_in};
use super::{Counted, Deployment};
use crate::files::{Document, Source};
use crate::program::Tree;
use crate::rules::{CountKind, CountRow, DeployRules, FileRole, Keys, UnitRow};
use crate::syntax::data::{Format, Found, Node, Word, of_unit, read, words_of};

/// What runs, by the documents of the tree and the programs that are data. `sources` are the files by the tree's index.
pub fn deployments(tree: &Tree, sources: &[&Source], documents: &[Document]) -> Vec<Deployment> {
    let rules = &tree.book.deploy;
    let reader = Reader { tree, rules, documents };
    let speaks = |path: &str| !rules.ignores(path) && tree.book.reach.role(path, std::iter::empty()) != FileRole::Test;
    let mut found = vec![];
    for document in documents.iter().filter(|document| speaks(&document.path)) {
        let rows: Vec<&UnitRow> = rules.units.iter().filter(|row| row.speaks_of(&document.path, &document.text)).collect();
        let mut read_as: Vec<(Format, Vec<Node>)> = vec![];
        for row in rows.into_iter().filter(|row| row.format != Format::Code) {
            if !read_as.iter().any(|(format, _)| *format == row.format) {
                read_as.push((row.format, read(row.format, &document.text)));
            }
            let nodes = read_as.iter().find(|(format, _)| *format == row.format).map(|(_, nodes)| nodes.as_slice());
            nodes.into_iter().flatten().for_each(|node| reader.units(row, &document.path, node, &mut found));
        }
    }
    for (facts, source) in tree.files.iter().zip(sources).filter(|(_, source)| speaks(&source.path)) {
        for row in rules.units.iter().filter(|row| row.format == Format::Code && row.speaks_of(&source.path, &source.text)) {
            reader.units(row, &source.path, &of_unit(&facts.unit, &source.lines), &mut found);
        }
    }
    found
}

struct Reader<'t> {
    tree: &'t Tree,
    rules: &'t DeployRules,
    documents: &'t [Document],
}

impl Reader<'_> {
    /// The things of one kind in a document.
    fn units(&self, row: &UnitRow, path: &str, document: &Node, found: &mut Vec<Deployment>) {
        for (key, unit) in document.at(&row.each.0) {
            let Found::Node(unit) = unit else { continue };
            if holds(unit, &row.conditions) && !self.is_foreign(row, unit) {
                found.push(self.unit(row, path, key, unit));
            }
        }
    }

    fn unit(&self, row: &UnitRow, path: &str, key: &str, unit: &Node) -> Deployment {
        let name = texts(unit, &row.name).next().map(str::to_owned).or_else(|| (!key.is_empty()).then(|| key.to_owned()));
        let images = texts(unit, &row.image).map(|image| image_name(image).to_owned());
        let words: Vec<Vec<Word>> = self.command_lines(row, unit);
        let variable = |name: &str| variable_in(unit, &row.environment, name);
        let says = |number: u32, least: bool| number > 1 || !least;
        let mut counts: Vec<Counted> = row
            .counts
            .iter()
            .flat_map(|count| self.counted(row, count, path, unit).into_iter().filter(|found| says(found.number, count.least)))
            .collect();
        let asked = words.iter().flat_map(|words| asked(self.rules, words, &variable));
        counts.extend(asked.filter(|asked| says(asked.number.0, asked.least)).map(|asked| Counted {
            number: asked.number.0,
            or_more: asked.number.1,
            overlaps: false,
            per: asked.per,
            path: path.to_owned(),
            line: asked.line,
        }));
        let home = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut folders: Vec<String> = texts(unit, &row.folder).filter_map(|folder| joined(home, folder)).collect();
        let built = folders.first().cloned().unwrap_or_else(|| home.to_owned());
        let beside = texts(unit, &row.beside).filter_map(|file| joined(&built, file));
        folders.extend(beside.filter_map(|file| file.rsplit_once('/').map(|(folder, _)| folder.to_owned())).collect::<Vec<_>>());
        if folders.is_empty() {
            folders.extend(self.home_of(home));
        }
        folders.retain(|folder| self.has_code(folder));
        Deployment {
            made_of: None,
            path: path.to_owned(),
            names: name.into_iter().chain(images).collect(),
            starts: words.iter().flatten().filter_map(|word| self.started(&built, &word.text)).collect(),
            folders,
            counts,
            settles: row.settles,
        }
    }

    /// The numbers that one row finds.
    fn counted(&self, row: &UnitRow, count: &CountRow, path: &str, unit: &Node) -> Vec<Counted> {
        if !holds(unit, &count.when) {
            return vec![];
        }
        let overlaps = count.overlaps && (count.overlaps_unless.is_empty() || !any_holds(unit, &count.overlaps_unless));
        let made = |number: u32, or_more: bool, path: &str, line: u32| Counted {
            number,
            or_more,
            overlaps,
            per: count.per,
            path: path.to_owned(),
            line,
        };
        let places = unit.at(&count.at.0);
        let Some((_, first)) = places.first() else {
            return count.absent.map(|number| made(number, false, path, unit.line)).into_iter().collect();
        };
        match count.is {
            CountKind::Several => vec![made(2, true, path, first.line())],
            CountKind::Places => vec![made(places.len() as u32, false, path, first.line())],
            CountKind::Number => {
                let variable = |name: &str| variable_in(unit, &row.environment, name);
                let read = |found: &Found<'_>| {
                    let text = found.text()?;
                    if let Some((number, or_more)) = number(text, &self.rules.several, &variable) {
                        return Some(made(number, or_more, path, found.line()));
                    }
                    let known = of_values(text, || self.values_of(path));
                    let (text, path, line) = known.or_else(|| Some((fallback_of(text)?, path.to_owned(), found.line())))?;
                    let (number, or_more) = number(&text, &self.rules.several, &|_| None)?;
                    Some(made(number, or_more, &path, line))
                };
                places.iter().filter_map(|(_, found)| read(found)).collect()
            }
        }
    }

    /// The values of the chart that a template belongs to.
    fn values_of(&self, path: &str) -> Option<(&str, &str)> {
        let (chart, _) = path.rsplit_once("templates/")?;
        let values = [format!("{chart}values.yaml"), format!("{chart}values.yml")];
        let known = self.documents.iter().find(|document| values.contains(&document.path))?;
        Some((&known.path, &known.text))
    }

    fn command_lines(&self, row: &UnitRow, unit: &Node) -> Vec<Vec<Word>> {
        // One command may be parted over several places (program and arguments); a script has many of them at one.
        let mut lines: Vec<Vec<Word>> = vec![];
        for (index, place) in row.command.iter().enumerate() {
            let found = unit.at(&place.0).into_iter().filter_map(|(_, found)| found.node());
            for (at, node) in found.enumerate() {
                let words = words_of(node);
                match lines.get_mut(at).filter(|_| index > 0 && row.format != Format::Shell) {
                    Some(before) => before.extend(words),
                    None => lines.push(words),
                }
            }
        }
        lines
    }

    fn is_foreign(&self, row: &UnitRow, unit: &Node) -> bool {
        let mut images = texts(unit, &row.image).peekable();
        let foreign = |image: &str| self.rules.foreign_images.iter().any(|known| known == image_name(image));
        images.peek().is_some() && images.all(foreign)
    }

    /// The folder whose code the files of a folder deploy: the first above it that is not one of deployment files alone.
    fn home_of(&self, folder: &str) -> Option<String> {
        let mut folder = folder;
        loop {
            let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            if name.is_empty() {
                return None;
            }
            if !self.rules.folders.iter().any(|known| known == name) {
                return Some(folder.to_owned());
            }
            folder = above;
        }
    }

    fn has_code(&self, folder: &str) -> bool {
        !folder.is_empty()
            && self.tree.paths.iter().any(|path| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The file of the tree that a word of a command line names: a path, or a module.
    fn started(&self, folder: &str, word: &str) -> Option<String> {
        let file = |path: &str| {
            let path = joined(folder, path)?;
            self.tree.paths.contains(&path).then_some(path)
        };
        if word.starts_with('-') || word.len() < 3 {
            return None;
        }
        let module = word.split(':').next().unwrap_or(word).replace('.', "/");
        file(word).or_else(|| file(&format!("{module}.py"))).or_else(|| file(&format!("{word}.js")))
    }
}

/// The texts at some places of a thing.
fn texts<'n>(unit: &'n Node, places: &'n [Keys]) -> impl Iterator<Item = &'n str> {
    places.iter().flat_map(|place| unit.at(&place.0)).filter_map(|(_, found)| found.text())
}

/// Whether each place has one of its texts; a place that is not there has the empty one.
fn holds(unit: &Node, conditions: &BTreeMap<Keys, Vec<String>>) -> bool {
    conditions.iter().all(|(place, wanted)| fits(unit, place, wanted))
}

fn any_holds(unit: &Node, conditions: &BTreeMap<Keys, Vec<String>>) -> bool {
    conditions.iter().any(|(place, wanted)| fits(unit, place, wanted))
}

fn fits(unit: &Node, place: &Keys, wanted: &[String]) -> bool {
    let found = unit.at(&place.0);
    let text = found.first().map_or(Some(""), |(_, found)| found.text());
    text.is_some_and(|text| wanted.iter().any(|want| want == text))
}

/// The last name of an image, without registry, tag and digest.
fn image_name(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split([':', '@']).next().unwrap_or(name)
}

/// A path from a folder of the tree, without `.` and `..`; `None` where it leads out of the tree.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    if path.starts_with('/') || path.contains("://") {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
