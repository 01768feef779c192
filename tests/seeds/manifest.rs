//! `fixtures/seeds/seeds.toml`, as its own head describes it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde::Deserialize;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub languages: BTreeMap<String, Start>,
    pub requests: BTreeMap<String, Requests>,
    pub seed: Vec<Seed>,
}

/// How the services of one language are started, in their own folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub run: String,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// What hammer does, as its own options by their long names.
#[derive(Deserialize)]
pub struct Requests {
    #[serde(default)]
    pub shell: String,
    #[serde(flatten)]
    pub options: toml::Table,
}

impl Requests {
    pub fn arguments(&self) -> Result<Vec<String>> {
        let mut arguments = Vec::new();
        for (name, value) in &self.options {
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for value in values {
                arguments.push(format!("--{name}"));
                match value {
                    toml::Value::String(text) => arguments.push(text.clone()),
                    toml::Value::Boolean(true) => {}
                    other => bail!("--{name} is no text: {other}"),
                }
            }
        }
        if self.options.contains_key("data") {
            arguments.extend(["--header", "content-type: application/json"].map(str::to_owned));
        }
        Ok(arguments)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    pub variant: String,
    pub case: Option<String>,
    pub scan: Option<BTreeSet<String>>,
    #[serde(default)]
    pub advice: BTreeSet<String>,
    pub requests: Option<String>,
    pub verdict: Option<String>,
    pub fails: Option<String>,
    pub compatible: Option<String>,
    pub incompatible: Option<String>,
    pub rounds: Option<u32>,
    pub effects: Option<Effects>,
}

/// How many effects there must have been where there were most of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    pub cell: String,
    pub least: u64,
    pub most: u64,
}
