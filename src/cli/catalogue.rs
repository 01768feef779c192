//! `lockcheck explain` and `lockcheck rules`: the catalogue of faults for a person, and its list for programs.

use std::io::{self, Write};

use anstyle::Style;
use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use serde_json::json;

use crate::rules::{Catalogue, FaultRule};

use super::{NOTHING_FOUND, RuleDirectories, print};

const BOLD: Style = Style::new().bold();

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The rule's id, as findings show it in brackets
    rule: String,
    #[command(flatten)]
    rules: RuleDirectories,
}

#[derive(Debug, Args)]
pub struct RulesArgs {
    /// How to write the list
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
    #[command(flatten)]
    rules: RuleDirectories,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A table
    Text,
    /// All fields, for programs
    Json,
}

/// Prints one rule. An unknown id is an error that names its neighbours.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<u8> {
    let catalogue = args.rules.catalogue()?;
    let rule = catalogue.find(&args.rule)?;
    print(true, |out| write_rule(rule, out))?;
    Ok(NOTHING_FOUND)
}

/// Prints all rules.
pub fn list(args: &RulesArgs) -> anyhow::Result<u8> {
    let catalogue = args.rules.catalogue()?;
    match args.format {
        ListFormat::Text => print(false, |out| writeln!(out, "{}", table(&catalogue)))?,
        ListFormat::Json => print(false, |out| write_json(&catalogue, out))?,
    }
    Ok(NOTHING_FOUND)
}

fn write_rule(rule: &FaultRule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}  {}, {} family", rule.id, rule.severity.name(), rule.family)?;
    writeln!(out, "{}\n\n{}\n", rule.title, rule.explain.trim())?;
    writeln!(out, "{BOLD}Not a fault when{BOLD:#}\n\n{}\n", rule.not_when.trim())?;
    writeln!(out, "{BOLD}Wrong{BOLD:#}\n\n{}\n", indented(&rule.bad))?;
    writeln!(out, "{BOLD}Right{BOLD:#}\n\n{}\n", indented(&rule.good))?;
    writeln!(out, "{BOLD}Fix{BOLD:#}: {}", rule.help)
}

fn indented(code: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    code.trim_matches('\n').lines().map(line).collect::<Vec<_>>().join("\n")
}

fn table(catalogue: &Catalogue) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["rule", "severity", "family", "what it says"]);
    for rule in catalogue.rules() {
        table.add_row([rule.id.as_str(), rule.severity.name(), &rule.family, &rule.title]);
    }
    table.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>().join("\n")
}

fn write_json(catalogue: &Catalogue, out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<_> = catalogue
        .rules()
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id, "severity": rule.severity, "family": rule.family, "title": rule.title,
                "explain": rule.explain, "not_when": rule.not_when, "help": rule.help, "bad": rule.bad, "good": rule.good,
            })
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &json!({ "schema_version": "1", "rules": rules }))?;
    writeln!(out)
}
