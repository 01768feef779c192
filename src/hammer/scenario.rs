//! A plan: the options of `hammer`, written down in a file, by scenario. It does not know what an option does.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Command, FromArgMatches, ValueEnum};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::cli::HammerArgs;

/// The table that holds the scenarios; what stands beside it is shared by all.
pub const SCENARIOS: &str = "scenario";
/// Options that make no sense in a plan.
pub const NOT_IN_A_PLAN: [&str; 10] = ["plan", "only", "init", "schema", "findings", "emit", "out", "format", "html", "help"];
/// What stands where a plan is still to be filled in.
const TO_DO: &str = "TODO";

/// One scenario, its options read.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in the file.
    pub name: String,
    /// The findings that it is about.
    pub proves: Vec<String>,
    /// Its options: the file's own, the scenario's, then the command line's; or what is still to be filled in.
    pub args: Result<HammerArgs>,
}

/// Kinds of plans to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A code that may be redeemed once
    Coupon,
    /// A seat held while its buyer pays
    CheckoutHold,
    /// A ride that one driver gets
    RideMatch,
    /// A job that runs once, whichever copy is asked
    Cron,
    /// A bid that must beat the highest
    Auction,
    /// A token that one request refreshes
    Token,
    /// So many requests in a window, and no more
    RateLimit,
    /// Stock that must not go below zero
    Stock,
    /// An Idempotency-Key: retries have one effect
    Idempotency,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Kind::Coupon => include_str!("plans/coupon.toml"),
            Kind::CheckoutHold => include_str!("plans/checkout-hold.toml"),
            Kind::RideMatch => include_str!("plans/ride-match.toml"),
            Kind::Cron => include_str!("plans/cron.toml"),
            Kind::Auction => include_str!("plans/auction.toml"),
            Kind::Token => include_str!("plans/token.toml"),
            Kind::RateLimit => include_str!("plans/rate-limit.toml"),
            Kind::Stock => include_str!("plans/stock.toml"),
            Kind::Idempotency => include_str!("plans/idempotency.toml"),
        }
    }
}

/// Writes a plan to begin with. An error where the file is there already.
pub fn init(file: &Path, kind: Kind) -> Result<()> {
    let created = fs::File::create_new(file);
    let mut created = created.with_context(|| format!("{} cannot be written; is it there already?", file.display()))?;
    created.write_all(kind.text().as_bytes()).with_context(|| format!("{} cannot be written", file.display()))
}

/// Reads the scenarios of a plan, in their order; with `only`, those of these names. `words` are the command line's own, and
/// overrule the file. Errors say where in the file.
pub fn read(file: &Path, only: &[String], words: &[OsString]) -> Result<Vec<Scenario>> {
    let text = fs::read_to_string(file).with_context(|| format!("--plan {}: cannot be read", file.display()))?;
    let reader = Reader { file, text: &text };
    let plan = DeTable::parse(&text).map_err(|error| anyhow!("--plan {}: {error}", file.display()))?;
    let shared = reader.words(plan.get_ref().iter().filter(|(name, _)| name.get_ref() != SCENARIOS))?;
    let found = match plan.get_ref().iter().find(|(name, _)| name.get_ref() == SCENARIOS) {
        Some((_, value)) => reader.scenarios(value)?,
        None => bail!("--plan {}: there is no [scenario.NAME] in it", file.display()),
    };
    for name in only {
        let names = || found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(found.iter().any(|(found, _)| found == name), "--only {name}: the plan has {}", names());
    }
    let wanted = found.into_iter().filter(|(name, _)| only.is_empty() || only.contains(name));
    let read = wanted.map(|(name, own)| {
        let all = shared.iter().chain(&own).map(OsString::from).chain(words.iter().cloned());
        let all: Vec<OsString> = all.collect();
        let args = parse(all.iter().cloned());
        let args = args.map_err(|error| anyhow!("--plan {}, scenario {name}: {error}", file.display()))?;
        let proves = args.proves.clone();
        let open = shared.iter().chain(&own).find(|word| word.contains(TO_DO));
        let args = match open.map(|word| word.trim_start_matches('-')) {
            Some(open) => Err(anyhow!("still to be filled in, in {}: {open}", file.display())),
            None => Ok(HammerArgs { words: all, ..args }),
        };
        Ok(Scenario { name, proves, args })
    });
    read.collect()
}

/// The options that `found` gives, with a command line over them.
pub fn over(found: Vec<OsString>, words: &[OsString]) -> Result<HammerArgs> {
    Ok(parse(found.into_iter().chain(words.iter().cloned()))?)
}

/// The options as clap knows them.
pub fn command() -> Command {
    HammerArgs::augment_args(Command::new("hammer").no_binary_name(true))
}

fn parse(words: impl Iterator<Item = OsString>) -> Result<HammerArgs, clap::Error> {
    HammerArgs::from_arg_matches(&command().try_get_matches_from(words)?)
}

/// Whether one mention of the option takes several values.
fn takes_several(name: &str) -> bool {
    let command = command();
    let option = command.get_arguments().find(|argument| argument.get_long() == Some(name));
    option.and_then(|option| option.get_num_args()).is_some_and(|count| count.min_values() > 1)
}

type Entry<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

/// Reads parts of one plan and says where what is wrong stands.
struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn scenarios(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<(String, Vec<String>)>> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.wrong(value.span().start, "scenarios are tables: [scenario.NAME]"));
        };
        let mut scenarios = Vec::new();
        for (name, value) in table.iter() {
            let DeValue::Table(options) = value.get_ref() else {
                return Err(self.wrong(name.span().start, &format!("a scenario is a table: [scenario.{}]", name.get_ref())));
            };
            scenarios.push((name.span().start, name.get_ref().to_string(), self.words(options.iter())?));
        }
        ensure!(!scenarios.is_empty(), "--plan {}: there is no [scenario.NAME] in it", self.file.display());
        scenarios.sort_by_key(|(at, ..)| *at);
        Ok(scenarios.into_iter().map(|(_, name, words)| (name, words)).collect())
    }

    /// The options as words of a command line.
    fn words<'t>(&self, options: impl Iterator<Item = Entry<'t>>) -> Result<Vec<String>> {
        let command = command();
        let mut words = Vec::new();
        for (name, value) in options {
            let (at, name) = (name.span().start, name.get_ref());
            let known = || command.get_arguments().filter_map(|argument| argument.get_long());
            if NOT_IN_A_PLAN.contains(&name.as_ref()) || !known().any(|option| option == name) {
                let near = known()
                    .filter(|option| !NOT_IN_A_PLAN.contains(option))
                    .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
                let hint = near.map_or_else(String::new, |near| format!("; is it `{near}`?"));
                return Err(self.wrong(at, &format!("`{name}` is no option of a plan{hint}")));
            }
            for word in self.values(at, name, value.get_ref())? {
                words.push(word);
            }
        }
        Ok(words)
    }

    fn values(&self, at: usize, name: &str, value: &DeValue<'_>) -> Result<Vec<String>> {
        let one = |value: &str| vec![format!("--{name}={value}")];
        Ok(match value {
            DeValue::String(text) => one(text),
            DeValue::Integer(number) => one(number.as_str()),
            DeValue::Float(number) => one(number.as_str()),
            DeValue::Boolean(true) => vec![format!("--{name}")],
            DeValue::Boolean(false) => Vec::new(),
            DeValue::Array(list) if takes_several(name) => {
                let texts = list.iter().map(|value| value.get_ref().as_str());
                let texts = texts.collect::<Option<Vec<_>>>().ok_or_else(|| self.wrong(at, &format!("`{name}` takes texts")))?;
                std::iter::once(format!("--{name}")).chain(texts.into_iter().map(str::to_owned)).collect()
            }
            DeValue::Array(list) => {
                let each = list.iter().map(|value| self.values(value.span().start, name, value.get_ref()));
                each.collect::<Result<Vec<_>>>()?.concat()
            }
            DeValue::Datetime(_) | DeValue::Table(_) => {
                return Err(self.wrong(at, &format!("`{name}` takes a text, a number, true or a list of them")));
            }
        })
    }

    fn wrong(&self, at: usize, what: &str) -> anyhow::Error {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let (number, column) = (self.text[..at].matches('\n').count() + 1, self.text[start..at].chars().count());
        anyhow!("--plan {}:{number}:{}: {what}\n  {line}\n  {:column$}^", self.file.display(), column + 1, "")
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn plan(text: &str, only: &[&str], words: &[&str]) -> Result<Vec<Scenario>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hammer.toml");
        fs::write(&file, text).unwrap();
        let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        read(&file, &only, &words)
    }

    const TWO: &str = r#"
url = ["http://127.0.0.1:1/a", "http://127.0.0.1:2/a"]
rounds = 7

[scenario.late]
data = "{{fresh}}"
requests = 10
insecure = true

[scenario.early]
data = "x"
rounds = 2
"#;

    #[test]
    fn scenarios_share_what_stands_above_them_and_keep_their_order() {
        let read = plan(TWO, &[], &["--plan", "p", "--timeout", "3s"]).unwrap();
        assert_eq!(read.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["late", "early"]);
        let (late, early) = (read[0].args.as_ref().unwrap(), read[1].args.as_ref().unwrap());
        assert_eq!((late.url.len(), late.rounds, late.requests, late.insecure), (2, 7, 10, true));
        assert_eq!((early.rounds, early.insecure, late.timeout.as_secs()), (2, false, 3));
    }

    #[test]
    fn the_command_line_overrules_and_selects() {
        let read = plan(TWO, &["early"], &["--rounds", "1"]).unwrap();
        assert_eq!((read.len(), read[0].args.as_ref().unwrap().rounds), (1, 1));
        let error = plan(TWO, &["noon"], &[]).unwrap_err().to_string();
        assert!(error.contains("the plan has late, early"), "{error}");
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        let error = plan("[scenario.a]\nurl = 'h'\nround = 3\n", &[], &[]).unwrap_err().to_string();
        assert!(error.contains("hammer.toml:3:1: `round` is no option of a plan; is it `rounds`?\n  round = 3\n  ^"), "{error}");
        assert!(plan("rounds = 1", &[], &[]).unwrap_err().to_string().contains("[scenario.NAME]"));
        let error = plan("[scenario.a]\nrounds = 'many'\n", &[], &[]).unwrap_err().to_string();
        assert!(error.contains("scenario a") && error.contains("many"), "{error}");
        assert!(plan("[scenario.a]\nrounds = {}\n", &[], &[]).unwrap_err().to_string().contains("takes a text"));
        let open = plan("[scenario.a]\npath = '/TODO'\n", &[], &[]).unwrap();
        assert!(open[0].args.as_ref().unwrap_err().to_string().contains("path=/TODO"));
        assert!(plan("a = ", &[], &[]).unwrap_err().to_string().contains("hammer.toml"));
    }

    #[test]
    fn every_plan_to_begin_with_can_be_read() {
        for kind in Kind::value_variants() {
            let read = plan(kind.text(), &[], &[]).unwrap();
            for scenario in read {
                let args = scenario.args.unwrap();
                let planned = super::super::plan::Plan::new(&args, args.data.as_deref(), &|_| Some("secret".to_owned()));
                let planned = planned.unwrap_or_else(|error| panic!("{kind:?}, {}: {error:#}", scenario.name));
                assert!(planned.controls, "{kind:?}, {}", scenario.name);
            }
        }
    }
}
