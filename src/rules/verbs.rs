//! What an unresolved call is presumed to do, by its name: `rules/common/verbs.toml`.
//! It must not know any library.

use std::collections::HashSet;

use serde::Deserialize;

/// Lists of words, as the file has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verbs {
    strong: HashSet<String>,
    weak: HashSet<String>,
    reads: HashSet<String>,
    outside: HashSet<String>,
    inside: HashSet<String>,
    pure: HashSet<String>,
    credentials: HashSet<String>,
    clients: HashSet<String>,
    prolongs: HashSet<String>,
    prolongs_locks: HashSet<String>,
    locks: HashSet<String>,
    changes: HashSet<String>,
    keepers: HashSet<String>,
    arithmetic: HashSet<String>,
    absence: HashSet<String>,
    given: HashSet<String>,
    pings: HashSet<String>,
    outcomes: HashSet<String>,
    removals: Vec<String>,
    clocks: HashSet<String>,
    sizes: HashSet<String>,
    columns: HashSet<String>,
    new_rows: HashSet<String>,
    hands_out: HashSet<String>,
    stamps: HashSet<String>,
    changed_at: HashSet<String>,
    makes: Vec<String>,
    may_find: HashSet<String>,
    identities: HashSet<String>,
    ends: Vec<String>,
    tellers: HashSet<String>,
    reports: HashSet<String>,
    carriers: HashSet<String>,
    orders: HashSet<String>,
    asks: HashSet<String>,
    standing: Vec<String>,
    remote: HashSet<String>,
    remote_owners: HashSet<String>,
    vague: HashSet<String>,
    refusals: HashSet<String>,
    refusal_codes: HashSet<String>,
    refusal_questions: Vec<String>,
    several_rows: HashSet<String>,
    missing_rows: HashSet<String>,
    insists: Vec<String>,
    open: HashSet<String>,
    numbers: HashSet<String>,
    sends: HashSet<String>,
    tells_programs: HashSet<String>,
    handed_on: HashSet<String>,
    handles: HashSet<String>,
    sign_in: HashSet<String>,
    spent: Vec<String>,
    carry_all: HashSet<String>,
}

/// What a name presumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guess {
    /// Work outside the process.
    Effect {
        /// It is so whatever the receiver.
        strong: bool,
    },
    /// A read from outside.
    Read,
}

/// What an order is about, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It asks for something.
    Asks,
    /// It tells what happens: a measure, a log.
    Tells,
    /// It does something.
    Does,
}

impl Verbs {
    /// What a call named `name` on a receiver named `owner` is presumed to do; `waited` is whether its end is waited for.
    pub fn guess(&self, name: &str, owner: Option<&str>, waited: bool) -> Option<Guess> {
        let words = words(name);
        let verb = words.first()?;
        if self.is_pure(name) {
            return None;
        }
        let owner_words = owner.map(self::words).unwrap_or_default();
        if owner_words.last().is_some_and(|word| self.pure.contains(&format!("{word}.{}", words.concat()))) {
            return None;
        }
        let inside = owner_words.last().is_some_and(|word| self.inside.contains(word));
        if inside {
            return None;
        }
        let outside = owner_words.iter().any(|word| self.outside.contains(word));
        if self.strong.contains(verb) {
            return Some(Guess::Effect { strong: true });
        }
        if self.weak.contains(verb) {
            return (waited || outside).then_some(Guess::Effect { strong: false });
        }
        (self.reads.contains(verb) && (waited || outside)).then_some(Guess::Read)
    }

    /// Whether a name says that a call only computes, logs or answers.
    pub fn is_pure(&self, name: &str) -> bool {
        self.pure.contains(&words(name).concat()) || self.pure.contains(name)
    }

    /// Whether a call is presumed to wait for another service's answer.
    pub fn is_remote(&self, name: &str, owner: Option<&str>) -> bool {
        let verb = words(name).into_iter().next().unwrap_or_default();
        let object = owner.filter(|owner| !owner.starts_with(char::is_uppercase));
        let service = object.map(words).unwrap_or_default().last().is_some_and(|word| self.remote_owners.contains(word));
        self.remote.contains(&verb) || service
    }

    /// Whether a call's name says that somebody is sent something.
    pub fn sends(&self, name: &str) -> bool {
        words(name).iter().any(|word| self.sends.contains(word))
    }

    /// Whether a call's name says that programs are told what happened.
    pub fn tells_programs(&self, name: &str) -> bool {
        words(name).iter().any(|word| self.tells_programs.contains(word))
    }

    /// Whether a call's name says that somebody else is given work.
    pub fn hands_on(&self, name: &str) -> bool {
        let words = words(name);
        words.first().is_some_and(|verb| self.strong.contains(verb) || self.weak.contains(verb))
            && words.iter().skip(1).any(|word| self.handed_on.contains(word))
    }

    /// Whether a name is one of those that clients and transactions go by, whose members are tables and not rows of a parent.
    pub fn is_client(&self, name: &str) -> bool {
        self.clients.contains(name)
    }

    /// Whether a call of this name, on a receiver of that one, prolongs a lease (both as [`words`] gives them).
    pub fn prolongs(&self, name: &[String], owner: &[String]) -> bool {
        let has = |set: &HashSet<String>, of: &[String]| of.iter().any(|word| set.contains(word));
        has(&self.prolongs, name) || has(&self.prolongs_locks, name) && (has(&self.locks, name) || has(&self.locks, owner))
    }

    /// Whether a call of this name changes rows that are there, where its receiver keeps rows.
    pub fn changes_rows(&self, name: &str) -> bool {
        words(name).first().is_some_and(|verb| self.changes.contains(verb))
    }

    /// Whether a call of this name computes a number from its receiver and arguments, as libraries of exact numbers do.
    pub fn is_arithmetic(&self, name: &str) -> bool {
        self.arithmetic.contains(&name.to_lowercase())
    }

    /// Whether a word is what only one process can use is called by: the end of a channel, a connection, a task.
    pub fn is_handle(&self, word: &str) -> bool {
        self.handles.contains(word)
    }

    /// Whether a word has to do with who somebody is, or with what they were sent to show it.
    pub fn is_of_sign_in(&self, word: &str) -> bool {
        self.sign_in.contains(word) || self.credentials.contains(word)
    }

    /// Whether a call's name says that it takes something away.
    pub fn takes_away(&self, name: &str) -> bool {
        // A short one may be the beginning of another word.
        let first = words(name).into_iter().next();
        let name = name.to_lowercase();
        self.removals.iter().any(|verb| if verb.len() > 3 { name.starts_with(verb) } else { first.as_ref() == Some(verb) })
    }

    /// Whether a member or a function of this name tells how many of something there are.
    pub fn is_size(&self, name: &str) -> bool {
        self.sizes.contains(name)
    }

    /// Whether a member of a row says by its name that the row is new.
    pub fn says_new(&self, name: &str) -> bool {
        self.new_rows.contains(name)
    }

    /// Whether a call of this name, on a row, gives the column that it is given the name of.
    pub fn gives_column(&self, name: &str) -> bool {
        self.columns.contains(name)
    }

    /// Whether a call of this name hands each piece of work to one taker.
    pub fn hands_out(&self, name: &str) -> bool {
        words(name).first().is_some_and(|word| self.hands_out.contains(word))
    }

    /// Whether a parameter's name says that it is handed the time.
    pub fn is_clock(&self, name: &str) -> bool {
        self.clocks.contains(&name.to_lowercase())
    }

    /// Whether a call of this name, answered yes, says that there is nothing.
    pub fn is_absence(&self, name: &str) -> bool {
        self.absence.contains(&name.to_lowercase())
    }

    /// Whether a call of this name only says that this process is still there.
    pub fn pings(&self, name: &str) -> bool {
        let words = words(name);
        self.pings.contains(&words.concat()) || words.iter().any(|word| self.pings.contains(word))
    }

    /// Whether a part of an answer says how it went, and not what was asked for, by its name.
    pub fn says_how_it_went(&self, name: &str) -> bool {
        words(name).iter().any(|word| self.outcomes.contains(word))
    }

    /// Whether a call of this name does nothing unless it is given what it puts somewhere.
    pub fn must_be_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Whether every write sets a column of this name, whatever the write is for.
    pub fn is_stamp(&self, column: &str) -> bool {
        self.stamps.contains(column)
    }

    /// Whether each change of a row sets a column of this name anew, so that it tells two states of the row apart.
    pub fn tells_changes(&self, column: &str) -> bool {
        self.changed_at.contains(column)
    }

    /// Whether a call's name says that it makes something that was not there before, and never finds what is.
    pub fn makes(&self, name: &str) -> bool {
        let words = words(name);
        let first = words.first().is_some_and(|verb| self.makes.iter().any(|known| verb.starts_with(known.as_str())));
        first && !words.iter().any(|word| self.may_find.contains(word))
    }

    /// Whether the last word of a member's name says that it tells one thing from all others.
    pub fn is_identity(&self, name: &str) -> bool {
        words(name).last().is_some_and(|word| self.identities.contains(word))
    }

    /// Whether a column of this name says until when something lasts.
    pub fn is_end(&self, column: &str) -> bool {
        self.ends.iter().any(|word| column.contains(word.as_str()))
    }

    /// Whether a receiver of this name only tells what happens: a logger, metrics, what carries them. What it does is no work of its
    /// callers.
    pub fn only_tells(&self, owner: &str) -> bool {
        let mut words = words(owner);
        if words.len() > 1 && words.last().is_some_and(|word| self.carriers.contains(word)) {
            words.pop();
        }
        let last = words.len().saturating_sub(2);
        words.last().is_some_and(|word| self.tellers.contains(word)) || self.tellers.contains(&words[last..].concat())
    }

    /// Whether a function of this name hands what happened to those that only tell it (`sendTelemetry`).
    pub fn reports(&self, name: &str) -> bool {
        let words = words(name);
        words.len() > 1 && self.reports.contains(&words[0]) && words.last().is_some_and(|word| self.tellers.contains(word))
    }

    /// What an object of a class named like this orders of whom it is handed to (`PutItemCommand`), in words; none where the name says
    /// no order.
    pub fn order(&self, class: &str) -> Option<Order> {
        let mut words = words(class);
        if words.len() < 2 || !words.pop().is_some_and(|last| self.orders.contains(&last)) {
            return None;
        }
        Some(match words.first() {
            Some(verb) if self.asks.contains(verb) => Order::Asks,
            _ if words.iter().any(|word| self.tellers.contains(word)) => Order::Tells,
            _ => Order::Does,
        })
    }

    /// Whether a call's name says that it leaves what is there already, so that twice does no more than once.
    pub fn leaves_standing(&self, name: &str) -> bool {
        let name = words(name).concat();
        self.standing.iter().any(|words| name.ends_with(words.as_str()))
    }

    /// The table a call speaks of: the words behind its verb, else its receiver's name without the word that says it keeps rows.
    pub fn table(&self, name: &str, owner: &str) -> Option<String> {
        let kept = |word: &&String| !matches!(word.as_str(), "one" | "many" | "all" | "by" | "id");
        let object: Vec<String> =
            words(name).iter().skip(1).take_while(|word| *word != "by" && *word != "with").filter(kept).cloned().collect();
        let own = words(owner);
        let rows: Vec<String> =
            own.iter().filter(|word| !self.keepers.contains(*word) && !self.clients.contains(*word)).cloned().collect();
        [object, rows].into_iter().find(|words| !words.is_empty()).map(|words| words.concat())
    }

    /// Whether a name, a single verb, says that something is done but not what.
    pub fn is_vague(&self, name: &str) -> bool {
        matches!(&words(name)[..], [only] if self.vague.contains(only))
    }

    /// Whether a word says how many there are.
    pub fn is_number(&self, word: &str) -> bool {
        self.numbers.contains(word)
    }

    /// Whether a word names what is open at one process, and is counted there.
    pub fn is_open(&self, word: &str) -> bool {
        self.open.contains(word)
    }

    /// Whether the type of a caught error says that there were several rows where one was asked for.
    pub fn is_of_several(&self, ty: &str) -> bool {
        self.several_rows.contains(ty.rsplit(['.', ':']).next().unwrap_or(ty))
    }

    /// Whether the type of a caught error says that there was no row where one was asked for.
    pub fn is_missing_row(&self, ty: &str) -> bool {
        self.missing_rows.contains(ty.rsplit(['.', ':']).next().unwrap_or(ty))
    }

    /// Whether a look by this name throws where there is no row, whatever the library.
    pub fn insists(&self, name: &str) -> bool {
        let name = name.to_lowercase().replace('_', "");
        self.insists.iter().any(|ending| name.ends_with(ending.as_str()))
    }

    /// Whether the type or the code of a caught error, or what a handler asks of it, says that a unique key refused a row.
    pub fn is_refusal(&self, ty: &str) -> bool {
        let name = ty.rsplit(['.', ':']).next().unwrap_or(ty);
        let asks = || {
            let plain = name.to_lowercase().replace('_', "");
            self.refusal_questions.iter().any(|words| plain.contains(words.as_str()))
        };
        self.refusals.contains(name) || self.refusal_codes.contains(ty) || asks()
    }

    /// Whether a member of an answer carries all that was answered.
    pub fn carries_all(&self, member: &str) -> bool {
        self.carry_all.contains(&member.to_lowercase())
    }

    /// Whether a text names what somebody else takes once only.
    pub fn is_spent(&self, text: &str) -> bool {
        let all = words(text).join(" ");
        self.spent.iter().any(|name| all.contains(name.as_str()))
    }

    /// Whether names speak of refreshing a credential.
    pub fn refreshes_credentials(&self, name: &str, owner: Option<&str>) -> bool {
        let mut all = words(name);
        if !all.iter().any(|word| matches!(word.as_str(), "refresh" | "refreshed" | "renew" | "rotate")) {
            return false;
        }
        all.extend(owner.map(words).unwrap_or_default());
        all.iter().any(|word| self.credentials.contains(word))
    }
}

/// The words of a name, lower case: `sendFinalNotice` and `send_final_notice` have the same.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut previous_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            previous_lower = false;
            words.push(String::new());
            continue;
        }
        if words.is_empty() || (letter.is_uppercase() && previous_lower) {
            words.push(String::new());
        }
        previous_lower = letter.is_lowercase() || letter.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("sendFinalNotice"), ["send", "final", "notice"]);
        assert_eq!(words("send_final_notice"), ["send", "final", "notice"]);
        assert_eq!(words("_requests"), ["requests"]);
    }

    #[test]
    fn a_weak_verb_needs_a_receiver_or_a_wait() {
        let verbs: Verbs = toml::from_str(include_str!("../../rules/common/verbs.toml")).unwrap();
        assert_eq!(verbs.guess("update", Some("orderRepository"), false), Some(Guess::Effect { strong: false }));
        assert_eq!(verbs.guess("update", Some("hash"), false), None);
        assert_eq!(verbs.guess("send", Some("res"), true), None);
        assert_eq!(verbs.guess("sendWelcomeMail", None, false), Some(Guess::Effect { strong: true }));
        assert_eq!(verbs.guess("postMessage", Some("idleWorkers"), false), None);
        assert_eq!(verbs.guess("postMessage", Some("chat"), false), Some(Guess::Effect { strong: true }));
    }

    #[test]
    fn orders_and_tellers_are_known_by_their_words() {
        let verbs: Verbs = toml::from_str(include_str!("../../rules/common/verbs.toml")).unwrap();
        assert_eq!(verbs.order("GetParcelCommand"), Some(Order::Asks));
        assert_eq!(verbs.order("PutMetricDataCommand"), Some(Order::Tells));
        assert_eq!(verbs.order("CreateScheduleCommand"), Some(Order::Does));
        assert_eq!(verbs.order("Command"), None);
        assert!(verbs.only_tells("cloudWatchClient") && verbs.only_tells("traceExporter") && verbs.only_tells("this.metrics"));
        assert!(!verbs.only_tells("catalog") && !verbs.only_tells("client") && !verbs.only_tells("mailClient"));
        assert!(verbs.reports("sendDataToTrace") && !verbs.reports("sendMail") && !verbs.reports("deleteTrace"));
        assert!(verbs.leaves_standing("createIfNotExists") && !verbs.leaves_standing("create"));
    }
}
