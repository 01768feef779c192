//! What commands and functions inside strings mean: `rules/redis/` and `rules/sql/`.
//! It must not know which client library carries the string.

use serde::Deserialize;

/// Idioms of the stores.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idioms {
    /// Commands of key-value stores.
    #[serde(default, rename = "command")]
    pub commands: Vec<Command>,
    /// Lua scripts.
    #[serde(default, rename = "script")]
    pub scripts: Vec<Script>,
    /// SQL functions.
    #[serde(default, rename = "function")]
    pub functions: Vec<SqlFunction>,
}

/// What a command does to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Reads one key.
    Get,
    /// Reads something else.
    Read,
    /// Sets one key.
    Set,
    /// Adds a member; its answer tells whether it was new.
    Add,
    /// Removes a key.
    Delete,
    /// Gives a key an end.
    Expire,
    /// Changes a number atomically.
    Increment,
    /// Runs a script.
    Script,
    /// Writes something else.
    Write,
}

/// A command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name, upper case.
    pub name: String,
    /// What it does.
    pub is: CommandKind,
    /// Only where the key is absent.
    #[serde(default)]
    pub only_new: bool,
    /// Position of the time to live.
    pub ttl: Option<usize>,
    /// Puts a member or field in its place, so that the same again changes nothing.
    #[serde(default)]
    pub over: bool,
    /// Position of the value; 1 when not said.
    pub value: Option<usize>,
}

/// What a script does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptKind {
    /// Deletes the key if it still holds the token.
    ReleaseIfOwner,
    /// Prolongs the key if it still holds the token.
    RenewIfOwner,
    /// Sets the key with an expiry if it is absent.
    Acquire,
}

/// A script, told by its words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it does.
    pub is: ScriptKind,
    /// Words that must all be in it.
    pub all: Vec<String>,
    /// Words that must not.
    #[serde(default)]
    pub none: Vec<String>,
}

/// What an SQL function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionKind {
    /// Takes a lock that the session holds.
    SessionLock,
    /// Frees it.
    SessionUnlock,
    /// Takes a lock that the transaction holds.
    TransactionLock,
    /// Neither.
    Other,
}

/// An SQL function.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlFunction {
    /// Its name, lower case.
    pub name: String,
    /// What it does.
    pub is: FunctionKind,
    /// It does not wait.
    #[serde(default)]
    pub tries: bool,
}

impl Command {
    /// Whether it runs a script.
    pub fn op_is_script(&self) -> bool {
        self.is == CommandKind::Script
    }
}

impl Idioms {
    /// Adds the idioms of another file.
    pub fn extend(&mut self, other: Idioms) {
        self.commands.extend(other.commands);
        self.scripts.extend(other.scripts);
        self.functions.extend(other.functions);
    }

    /// A command by its name, whatever the case.
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name.eq_ignore_ascii_case(name))
    }

    /// What a script does.
    pub fn script(&self, text: &str) -> Option<ScriptKind> {
        let text = text.to_lowercase();
        let fits = |script: &&Script| {
            script.all.iter().all(|word| text.contains(word)) && !script.none.iter().any(|word| text.contains(word))
        };
        self.scripts.iter().find(fits).map(|script| script.is)
    }

    /// The first lock function an SQL text calls.
    pub fn lock_function(&self, text: &str) -> Option<&SqlFunction> {
        let text = text.to_lowercase();
        let mut words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        words.find_map(|word| self.functions.iter().find(|function| function.name == word))
    }
}
