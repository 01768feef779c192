//! For a person at a terminal: each finding as a ladder of its evidence, at most one screen high, and one line that sums up.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::faults::{Finding, Hop, Place};
use crate::findings::Report;
use crate::rules::Severity;

use super::columns::{cells, printable};
use super::counted;

/// The widest line of source shown, in characters.
const WIDEST: usize = 110;
/// Characters shown before the place in a line that is cut.
const LEAD: usize = 40;
/// The most rungs shown; of a longer trace the middle is left out.
const MOST_RUNGS: usize = 8;
/// The rungs kept at either end of a trace that is cut.
const FIRST: usize = 3;
const LAST: usize = 4;

const BOLD: Style = Style::new().bold();
const FRAME: Style = AnsiColor::Blue.on_default().bold();
const FIX: Style = AnsiColor::Green.on_default().bold();

/// Writes all findings, and the line that sums up.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        write_finding(report, finding, out)?;
        writeln!(out)?;
    }
    writeln!(out, "{}", totals(report))
}

fn write_finding(report: &Report, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let severity = style_of(finding.severity);
    let name = finding.severity.name();
    let (rule, confidence, message) = (&finding.rule, finding.confidence.name(), printable(&finding.message));
    writeln!(out, "{severity}{name}[{rule}]{severity:#} {confidence}  {BOLD}{message}{BOLD:#}")?;
    write_place(report, &finding.at, severity, out)?;
    write_ladder(report, &finding.trace, out)?;
    writeln!(out, "   {FRAME}={FRAME:#} {FIX}fix{FIX:#}: {}", printable(&finding.help))
}

/// The primary line with carets under the place.
fn write_place(report: &Report, at: &Place, severity: Style, out: &mut dyn Write) -> io::Result<()> {
    let (path, line) = (printable(&report.path_from_here(&at.path)), at.line.to_string());
    let gutter = " ".repeat(line.len().max(2));
    writeln!(out, "{gutter}{FRAME}-->{FRAME:#} {path}:{line}:{}", at.column)?;
    let text = report.excerpts.line(&at.path, at.line);
    if text.trim().is_empty() {
        return Ok(());
    }
    let end = if at.end_line == at.line { at.end_column } else { u32::MAX };
    let (shown, before, width) = marked(text, at.column, end);
    writeln!(out, "{FRAME}{gutter} |{FRAME:#}")?;
    writeln!(out, "{FRAME}{line:>2} |{FRAME:#} {shown}")?;
    writeln!(out, "{FRAME}{gutter} |{FRAME:#} {}{severity}{}{severity:#}", " ".repeat(before), "^".repeat(width))
}

/// The evidence, one rung a hop: number, role, place and note, and below it the line of source.
fn write_ladder(report: &Report, trace: &[Hop], out: &mut dyn Write) -> io::Result<()> {
    if trace.is_empty() {
        return Ok(());
    }
    writeln!(out, "   {FRAME}|{FRAME:#}")?;
    let cut = trace.len() > MOST_RUNGS;
    for (index, hop) in trace.iter().enumerate() {
        if cut && (FIRST..trace.len() - LAST).contains(&index) {
            if index == FIRST {
                writeln!(out, "   {FRAME}:{FRAME:#} ... {} more steps ...", trace.len() - FIRST - LAST)?;
            }
            continue;
        }
        let place = format!("{}:{}", printable(&report.path_from_here(&hop.at.path)), hop.at.line);
        let (number, role) = (index + 1, hop.role.name());
        let rung = format!("{FRAME}{number:>2}{FRAME:#} {BOLD}{role:<8}{BOLD:#} {place}  {}", printable(&hop.note));
        writeln!(out, "{}", rung.trim_end())?;
        let (source, _, _) = marked(report.excerpts.line(&hop.at.path, hop.at.line), hop.at.column, hop.at.column);
        if !source.is_empty() {
            writeln!(out, "   {FRAME}|{FRAME:#}        {source}")?;
        }
    }
    Ok(())
}

/// A line without its indentation, cut around the byte columns `from..to` where it is long; the cells before them, and how
/// many cells they take (at least one).
fn marked(line: &str, from: u32, to: u32) -> (String, usize, usize) {
    let split = |column: u32| {
        let mut at = (column.saturating_sub(1) as usize).min(line.len());
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (from, to) = (split(from), split(to).max(split(from)));
    let before = printable(line[..from].trim_start());
    let inside = printable(line[from..to].trim_end());
    let after = printable(line[to..].trim_end());

    let skipped = match before.chars().count() + inside.chars().count() + after.chars().count() {
        all if all > WIDEST => before.chars().count().saturating_sub(LEAD),
        _ => 0,
    };
    let lead: String = if skipped > 0 { "…".chars().chain(before.chars().skip(skipped)).collect() } else { before };
    let rest: String = [inside.as_str(), after.as_str()].concat();
    let room = WIDEST - lead.chars().count().min(WIDEST - 1);
    let mut shown: String = rest.chars().take(room).collect();
    let mark: String = inside.chars().take(room).collect();
    if rest.chars().count() > room {
        shown.push('…');
    }
    (format!("{lead}{shown}"), cells(&lead), cells(&mark).max(1))
}

fn totals(report: &Report) -> String {
    let stats = report.stats;
    let files = counted(stats.files, "file");
    let mut line = match report.findings.len() {
        0 => format!("No findings in {files}"),
        _ => {
            let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Advice, "advice")];
            let parts: Vec<String> = counts
                .iter()
                .map(|(severity, name)| (report.count(*severity), *name))
                .filter(|(count, _)| *count > 0)
                .map(|(count, name)| if name == "advice" { format!("{count} {name}") } else { counted(count, name) })
                .collect();
            format!("{} in {files}", parts.join(", "))
        }
    };
    line.push_str(&format!(" ({:.1} s)", stats.seconds));
    if stats.suppressed > 0 {
        line.push_str(&format!(", {} suppressed", stats.suppressed));
    }
    if !report.copies.is_empty() {
        line.push_str(&format!(", {}", printable(&report.copies)));
    }
    if let Some(finding) = report.findings.first() {
        line.push_str(&format!("; `lockcheck explain {}` says more", finding.rule));
    }
    line
}

fn style_of(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Advice => AnsiColor::Cyan.on_default().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_the_place() {
        assert_eq!(marked("    with lock:", 10, 14), ("with lock:".to_string(), 5, 4));
        assert_eq!(marked("\té = lock()", 7, 11), ("é = lock()".to_string(), 4, 4));
        assert_eq!(marked("x", 1, 1), ("x".to_string(), 0, 1));
        assert_eq!(marked("x", 40, 50), ("x".to_string(), 1, 1));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let (shown, before, width) = marked(&line, 501, 505);
        assert!(shown.chars().count() <= WIDEST + 1, "{shown}");
        let under: String = shown.chars().skip(before).take(width).collect();
        assert_eq!(under, "HERE");
    }
}
