//! A pack: what one library's API means, as rows. `rules/<language>/<library>.toml`; see ARCHITECTURE.md for the vocabulary.
//! It must not know control flow.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Selector;

/// One library's knowledge.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// The library itself.
    pub library: Library,
    /// Types whose methods the rows name.
    #[serde(default, rename = "type")]
    pub types: Vec<TypeRow>,
    /// What calls (and decorators) mean.
    #[serde(default, rename = "call")]
    pub calls: Vec<CallRow>,
}

/// The library.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Its name.
    pub name: String,
    /// Literals, one of which stands in every file that can need this pack (module names, mostly). Empty: the language's own.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// How to cure a fault with this library, by rule id.
    #[serde(default)]
    pub fix: BTreeMap<String, String>,
}

impl Scope {
    /// Its name in packs.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Host => "host",
            Scope::Cluster => "cluster",
        }
    }
}

impl Pack {
    /// Says what does not fit together: a `returns` that names no type of the pack.
    pub fn check(&self) -> Result<(), String> {
        for row in &self.calls {
            if let Some(returns) = &row.returns
                && !matches!(returns.as_str(), "self" | "element" | "entity")
                && !self.types.iter().any(|known| known.name == *returns)
            {
                return Err(format!("`returns = \"{returns}\"` on `{}`: this pack has no type of that name", row.on.join(", ")));
            }
        }
        Ok(())
    }
}

/// How far a lock or a piece of state reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One process.
    #[default]
    Process,
    /// One machine.
    Host,
    /// Every copy.
    Cluster,
}

/// A type of the library, or of the language.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeRow {
    /// Its name inside this pack.
    pub name: String,
    /// Paths that give a value of it: `ioredis()` is the module's default export called, `redis.Redis.from_url()` a call,
    /// `redis.Redis` the declared type. `{}` and `[]` are the language's literals. `Other.method()` names a type of this pack,
    /// `Other()()` what a value of it gives when called, `Other.*` any member of it that no row speaks of.
    #[serde(default)]
    pub from: Vec<String>,
    /// Base classes that make a class of the project one of these (`django.db.models.Model`).
    #[serde(default)]
    pub bases: Vec<String>,
    /// Names by which an unresolved receiver is taken for one of these, at medium confidence.
    #[serde(default)]
    pub like: Vec<String>,
    /// The same, in files alone that import something of the library.
    #[serde(default)]
    pub like_here: Vec<String>,
    /// What it is to the detectors.
    #[serde(default)]
    pub is: TypeKind,
    /// How far it reaches, for locks and state.
    #[serde(default)]
    pub scope: Scope,
    /// Methods no row speaks of give the receiver back (query builders).
    #[serde(default)]
    pub fluent: bool,
    /// For state: it drops entries by itself, when it is full or they are old.
    #[serde(default)]
    pub evicts: bool,
    /// For locks: the constructor argument with the number of holders; one without it.
    #[serde(default)]
    pub permits: Option<Selector>,
}

/// What a type is to the detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum TypeKind {
    /// Nothing in itself.
    #[default]
    Plain,
    /// A lock.
    Lock,
    /// A set, map, list or cell in memory.
    State,
    /// Holds one value and is looked through (`Arc<T>`, `Option<T>`, `State<T>`).
    Wrapper,
    /// A record of a database table (entity, document).
    Entity,
    /// A pool: each call may use another connection.
    Pool,
    /// One connection, or a transaction on it.
    Connection,
    /// An object that every request hands the program again, on which it hangs things of its own (`app.state`).
    Carrier,
    /// What a request handler answers with, or a log, a metric, a stream: never shared work.
    Local,
}

/// What a call means. Rows on one target are tried in order; the first whose `when` holds is taken.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRow {
    /// `Type.method` of this pack, `Type()` for a value of it called as a function, or the path of a function from its module
    /// (`stripe.charges.create`, `setInterval`).
    pub on: Vec<String>,
    /// What it means.
    pub is: Meaning,
    /// Selectors that must be present (`true`), absent (`false`) or equal to a text.
    #[serde(default)]
    pub when: BTreeMap<Selector, Want>,
    /// Where the parts of the meaning stand: a selector, or a constant.
    #[serde(default)]
    pub with: BTreeMap<String, Part>,
    /// The type of its result: a type of this pack, `self` (the receiver's), `element` (of the receiver), or `entity`.
    #[serde(default)]
    pub returns: Option<String>,
    /// The method's name alone is enough, whatever the receiver, at medium confidence.
    #[serde(default)]
    pub any_receiver: bool,
    /// So it is only in files that import something of the row's own library (the trait whose method it is).
    #[serde(default)]
    pub imported: bool,
}

/// A condition of a row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Want {
    /// Present or absent. A constant false counts as absent.
    Present(bool),
    /// One of these texts, whatever the case.
    OneOf(Vec<String>),
    /// This text, whatever the case.
    Text(String),
}

/// A part of a meaning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// A constant.
    Flag(bool),
    /// A constant.
    Number(f64),
    /// A selector into the call, or a constant after `=`.
    At(Selector),
}

/// What calls can mean. The parts each one reads are named behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// Takes a lock. `until` (`drop`, `block`, `body`, `release`), `body`, `key`, `ttl`, `lock`.
    Acquire,
    /// Makes a lock that is taken later. `key`, `ttl`, `unit`, `renews`, `waits`, `blocking`.
    Lock,
    /// Gives a lock back. `lock`.
    Release,
    /// Keeps a lease alive. `lock`.
    Renew,
    /// Asks whether something is in state. `key`.
    Test,
    /// Reads an element of state. `key`.
    Get,
    /// Adds to or changes state. `key`, `value`. Its result may tell whether it was new (`tells`).
    Put,
    /// Takes an entry out of state. `key`.
    Remove,
    /// Makes a rate limiter. `store`; without one it counts in memory. The flag `waits`: whoever asks waits for a turn.
    Limiter,
    /// Makes a session or one-time-code store. `store`.
    Session,
    /// Work outside the process. `kind`, `target`, `idempotency`, `method`.
    Effect,
    /// A command of a key-value store. `command`, `key`, then what the command's row in `rules/redis/commands.toml` needs.
    Command,
    /// Gives a client a command of its own, made of a script. `name`, `text`.
    Define,
    /// Runs SQL. `text`, `values`.
    Sql,
    /// Reads rows. `table`, `where`, `lock`, `returns`.
    Select,
    /// Adds a row. `table`, `set`, `entity`, `conflict`.
    Insert,
    /// Changes rows. `table`, `where`, `set`, `relative`.
    Update,
    /// Adds or changes. `table`, `where`, `set`.
    Upsert,
    /// Removes rows. `table`, `where`.
    Delete,
    /// Writes what was changed on an entity. `entity`, `fields` (the only ones written).
    Save,
    /// Writes every changed entity of the session (flush, commit).
    Flush,
    /// Hands an entity to a session. `entity`.
    Track,
    /// A step of a query builder. `op` (`select`, `insert`, `update`, `delete`, `upsert`), `table`, `where` (conditions), `column`
    /// with `value` and `cmp`, `set`, and the flags `lock`, `conflict`, `returning`, `count`, `exists`, `max`, `many`.
    Build,
    /// Runs a body in a transaction. `body`, `isolation`, and the flag `flushes`: its end writes every changed entity.
    Transaction,
    /// Opens a transaction that ends at commit or rollback.
    Begin,
    /// Ends it.
    Commit,
    /// Undoes it.
    Rollback,
    /// Says whether a transaction is open; `autocommit`: whether none is.
    InTransaction,
    /// Registers what a request, message or start-up reaches. `kind`, `handler`; `entity` and `told`, as `Added` has them.
    Entry,
    /// Hangs a router below a path of another, or makes one below a path. `mounts`, `prefix`; `instead` of the path it was made below.
    Mount,
    /// Makes or starts what answers requests.
    Serve,
    /// A decorator of a class of which a process makes one instance (a provider, a controller).
    Singleton,
    /// A decorator of what runs right after a row was added, in the transaction that adds it. `entity`: which parameter is the row;
    /// without it the object itself is. `told`: which parameter says that the row was added and not changed.
    Added,
    /// Registers what a timer runs. `body`, `period`.
    Job,
    /// Starts more processes of this program. `count`: how many, where it says so.
    Copies,
    /// Starts a body that runs beside the caller. `body`.
    Spawn,
    /// Waits. `time`.
    Sleep,
    /// Never comes back: an error of the library's, or the end of the program, leaves from here.
    Leave,
    /// Takes an item that goes to nobody else: out of a channel of this process, as one of a group of consumers. `tries`: its answer says whether there was one.
    Receive,
    /// A length of time. `ms`, `s`, `m`, `h`, `d`, added up; or `of`, a length given as a number of `as`.
    Time,
    /// The time now.
    Clock,
    /// The least of `of`.
    Least,
    /// The greatest of `of`.
    Greatest,
    /// Makes a client of another service. `timeout`, `unit`, `patience`, `options`.
    Client,
    /// Gives what it was given. `of`.
    Pass,
    /// A value nobody else has (uuid, random bytes).
    Fresh,
    /// What tells this copy from others: its host's name, its process's number.
    Identity,
    /// Nothing the detectors care for.
    Pure,
    /// Calls its argument now. `body`.
    Calls,
    /// A refresh of credentials: a new one may end the old one.
    Refresh,
    /// Declares a table or a model of one: a call, a class's decorator or attribute. `name`, `model`, `of` (another declaration),
    /// `columns`, `keys` and `uniques`, `builds` (a callback) with `builder`, `partly`, and the names of options inside these:
    /// `option_unique`, `option_primary`, `option_version`, `option_name`, `option_columns`, `option_where`.
    Table,
    /// Declares a column, or says more of one: `name`, and the flags `unique`, `primary`, `version`.
    Column,
    /// Declares an attribute that is other rows, not a column: what is put into it is written as changes of those rows.
    Relation,
    /// Declares a unique key: `columns`, `table`, `where`, `name`, `step` (says more of one), `drops` (takes one out).
    Unique,
    /// Declares a primary key: `columns`, `table`.
    Primary,
    /// Names the column that counts versions, which every save compares: `column`.
    Version,
}
