//! Which faults the pattern of failures is compatible with: a pure function of experiments. It does not know the service.

use super::blocked::{BLOCKS, blocked};
use super::controls::rate;
use super::expect::{Expectation, Holds};
use super::experiment::{Cell, Experiment};
use super::statistics::differ;

/// Not even one process refuses a repetition.
pub const UNGUARDED: &str = "unguarded";
/// The answers speak of more effects than the state shows.
pub const ANSWERS_WITHOUT_EFFECT: &str = "answers-without-effect";
/// The state shows more effects than the answers speak of.
pub const EFFECTS_WITHOUT_ANSWER: &str = "effects-without-answer";
const ONE_PROCESS_STATE: [&str; 5] =
    ["process-guard", "process-counter", "process-rate-limit", "process-session", "local-file-lock"];
const ONE_PROCESS_LIMIT: [&str; 2] = ["process-rate-limit", "process-counter"];
const NOT_DECIDED_BY_DATA: [&str; 4] = ["check-then-insert", "check-then-act", "unconditional-claim", "lost-update"];
const LOCK_EXCLUDES_NOBODY: [&str; 5] =
    ["lock-check-then-set", "lock-per-call", "process-guard", "lock-result-ignored", "session-advisory-lock"];
const LEASE_RUNS_OUT: [&str; 2] = ["lock-lease-overrun", "lock-without-fence"];
const BLIND_RELEASE: &str = "lock-blind-release";
const RUN_NOT_CLAIMED: [&str; 2] = ["unleased-job", "lock-lease-overrun"];
const NEVER_FREE: [&str; 3] = ["lock-without-expiry", "lock-split-expiry", "lock-not-released"];
const ONE_PROCESS_EXCLUSION: [&str; 3] = ["process-lock", "process-guard", "process-single-flight"];

/// What an experiment needs to show a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Requests at once, at one copy or several.
    Volley,
    /// Several copies.
    Copies,
    /// A copy that is stopped for longer than a lease.
    Stall,
    /// A third request after a stopped copy went on while another was at work.
    LateRelease,
    /// A copy that is killed.
    Kill,
    /// Copies that run by themselves for a while.
    Job,
}

/// What shows a rule; `None` where no experiment tells it from others.
pub fn need(rule: &str) -> Option<Need> {
    let within = |rules: &[&str]| rules.contains(&rule);
    if rule == "unleased-job" {
        Some(Need::Job)
    } else if within(&ONE_PROCESS_STATE) || within(&ONE_PROCESS_EXCLUSION) {
        Some(Need::Copies)
    } else if within(&NOT_DECIDED_BY_DATA) || within(&LOCK_EXCLUDES_NOBODY) || within(&BLOCKS) || rule == "refresh-stampede" {
        Some(Need::Volley)
    } else if within(&LEASE_RUNS_OUT) {
        Some(Need::Stall)
    } else if rule == BLIND_RELEASE {
        Some(Need::LateRelease)
    } else if within(&NEVER_FREE) {
        Some(Need::Kill)
    } else {
        None
    }
}

/// The set of faults, and the reasoning in sentences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// Rule names, or `unguarded`.
    pub rules: Vec<&'static str>,
    /// Why these.
    pub why: Vec<String>,
}

/// Reads the faults off the first cell that fails. `limit`: the expectation's limit above one.
pub fn diagnose(experiments: &[Experiment], limit: Option<u64>) -> Diagnosis {
    let of = |cell| experiments.iter().filter(move |experiment: &&Experiment| experiment.cell == cell);
    let violated = |cell| of(cell).any(|experiment| experiment.holds == Holds::No);
    if of(Cell::Job).next().is_some() {
        return by_themselves(experiments);
    }
    if of(Cell::C0).next().is_none() {
        return without_controls(experiments);
    }
    if let Some(blocked) = blocked(experiments) {
        return blocked;
    }
    if violated(Cell::C1) {
        return unguarded(experiments);
    }
    if let Some(failed) = of(Cell::C2).find(|experiment| experiment.holds == Holds::No) {
        if is_stale_read(experiments) {
            return Diagnosis::default();
        }
        return state_of_one_process(failed, experiments, limit);
    }
    if violated(Cell::C3) {
        return not_guarded_at_once(experiments);
    }
    if violated(Cell::C4) {
        return excluded_in_one_process(experiments);
    }
    if violated(Cell::Stall) || violated(Cell::Third) {
        return stopped_in_the_middle(experiments);
    }
    if violated(Cell::Kill) {
        return killed_in_the_middle(experiments);
    }
    Diagnosis::default()
}

/// What copies did by themselves, over a period.
fn by_themselves(experiments: &[Experiment]) -> Diagnosis {
    let effects = |cell| {
        let of = experiments.iter().filter(move |one| one.cell == cell && one.is_evidence());
        of.filter_map(|one| one.tally.effects.map(|effects| (effects, one))).max_by_key(|(effects, _)| *effects)
    };
    let failed = experiments.iter().any(|one| one.cell == Cell::Job && one.holds == Holds::No);
    let (true, Some((alone, _)), Some((all, worst))) = (failed, effects(Cell::Alone), effects(Cell::Job)) else {
        return Diagnosis::default();
    };
    let copies = worst.copies_running;
    let each = match &worst.state {
        Some(state) if !state.calls_by_copy.is_null() => format!(", by copy: {}", state.calls_by_copy),
        _ => String::new(),
    };
    if all >= alone * copies {
        let why = format!(
            "{copies} copies did it {all} times, one alone {alone}{each}: every copy runs the job, and nothing claims the run, or what \
             claims it is given back before the next copy asks for it."
        );
        return Diagnosis { rules: RUN_NOT_CLAIMED.to_vec(), why: vec![why] };
    }
    let why = format!(
        "{copies} copies did it {all} times, one alone {alone}{each}: more often than one copy, but not once for each: what claims the run \
         is given back before the last copy has asked for it, or does not last that long."
    );
    Diagnosis { rules: vec!["lock-lease-overrun"], why: vec![why] }
}

/// The same where effects are refreshes of a credential that rotates: it is told more exactly.
pub fn of_refreshes(mut found: Diagnosis) -> Diagnosis {
    let rule = if found.rules.contains(&"lock-check-then-set") && !found.rules.contains(&"process-single-flight") {
        "refresh-stampede"
    } else if found.rules.contains(&"process-single-flight") || found.rules.contains(&"process-session") {
        "process-single-flight"
    } else {
        return found;
    };
    found.rules = vec![rule];
    found.why.push(format!("What is counted are refreshes of a credential that rotates: {rule}."));
    found
}

/// C2 failed, but not once the copies had time to settle.
pub fn is_stale_read(experiments: &[Experiment]) -> bool {
    let c2 = |settled, holds| experiments.iter().any(|one| one.cell == Cell::C2 && one.settled == settled && one.holds == holds);
    c2(false, Holds::No) && c2(true, Holds::Yes)
}

/// What the answers say against what the state shows, where the expectation speaks of effects: as a name, and in words. A kill or a
/// stop leaves effects without an answer behind it, so that only the controls count.
pub fn mismatch(experiments: &[Experiment], expectation: &Expectation) -> Option<(&'static str, String)> {
    if !expectation.speaks_of_effects() {
        return None;
    }
    let told = |one: &Experiment| one.tally.named.unwrap_or(one.tally.successes);
    let settled = |one: &&Experiment| {
        matches!(one.cell, Cell::C1 | Cell::C2 | Cell::C3 | Cell::C4) && one.tally.effects_settled && one.tally.nameless == 0
    };
    let seen = |one: &Experiment| one.tally.effects.unwrap_or_default();
    let worst = experiments
        .iter()
        .filter(settled)
        .max_by_key(|one| told(one).saturating_sub(seen(one)).max(seen(one).saturating_sub(told(one) + one.tally.unknown)))?;
    let (told, seen, cell) = (told(worst), seen(worst), worst.cell.name().to_uppercase());
    let s = |count: u64| if count == 1 { "" } else { "s" };
    if told > seen {
        let words = format!(
            "Answers and state disagree: {cell} was told of {told} effect{}, the state shows {seen}. Most who were told yes got nothing: an update was lost, or the write is not what is answered for. If a repeated request is answered as the first one was, name the effect with --effect-id.",
            s(told)
        );
        return Some((ANSWERS_WITHOUT_EFFECT, words));
    }
    (seen > told + worst.tally.unknown).then(|| {
        let words = format!(
            "Answers and state disagree: {cell} was told of {told} effect{}, the state shows {seen}. Somebody who was refused got it all the same: the write comes before the decision.",
            s(told)
        );
        (EFFECTS_WITHOUT_ANSWER, words)
    })
}

fn without_controls(experiments: &[Experiment]) -> Diagnosis {
    let broken = experiments.iter().any(|experiment| experiment.holds == Holds::No);
    let why = "Which fault it is cannot be told without the controls.".to_owned();
    Diagnosis { rules: Vec::new(), why: if broken { vec![why] } else { Vec::new() } }
}

fn unguarded(experiments: &[Experiment]) -> Diagnosis {
    let counts = experiments.iter().find(|one| one.cell == Cell::C1).map(counts).unwrap_or_default();
    let why = format!(
        "C1 fails: one copy accepts the same request again, one after another ({counts}). Nothing guards it, or it may be \
         repeated by design."
    );
    Diagnosis { rules: vec![UNGUARDED], why: vec![why] }
}

fn state_of_one_process(failed: &Experiment, experiments: &[Experiment], limit: Option<u64>) -> Diagnosis {
    let each = failed.tally.by_copy.iter().map(|copy| copy.successes).collect::<Vec<_>>();
    let mut why = vec![format!(
        "C1 holds and C2 fails ({}): one copy refuses the repetition, the next copy does not know of it, also after a pause. \
         The state that decides belongs to one process or one machine.",
        counts(failed)
    )];
    let one_copy_keeps = experiments
        .iter()
        .filter(|one| matches!(one.cell, Cell::C1 | Cell::C3))
        .all(|one| one.failure.is_some() || Some(one.tally.successes) == limit);
    if let Some(limit) = limit.filter(|&limit| one_copy_keeps && each.iter().all(|&successes| successes == limit)) {
        why.push(format!(
            "Each copy accepts exactly {limit}: in all the limit times the copies ({limit} x {} = {}).",
            each.len(),
            failed.tally.successes
        ));
        return Diagnosis { rules: ONE_PROCESS_LIMIT.to_vec(), why };
    }
    if each.iter().all(|&successes| successes == 1) {
        why.push("Each copy accepts exactly one.".to_owned());
    }
    Diagnosis { rules: ONE_PROCESS_STATE.to_vec(), why }
}

fn not_guarded_at_once(experiments: &[Experiment]) -> Diagnosis {
    let rules = NOT_DECIDED_BY_DATA.iter().chain(&LOCK_EXCLUDES_NOBODY).copied().collect();
    let c3 = rate(experiments, Cell::C3);
    let why = format!(
        "C3 fails in {} of {} volleys ({}): requests at the same instant pass on one single copy, though one after another they do \
         not. Something is read, then decided, then written, and nothing decides again at the write.",
        c3.failed,
        c3.of,
        worst(experiments, Cell::C3)
    );
    Diagnosis { rules, why: vec![why] }
}

fn excluded_in_one_process(experiments: &[Experiment]) -> Diagnosis {
    let (c3, c4) = (rate(experiments, Cell::C3), rate(experiments, Cell::C4));
    let mut rules = ONE_PROCESS_EXCLUSION.to_vec();
    let mut why = vec![format!(
        "Only C4 fails, in {} of {} volleys ({}); C3 fails in {} of {}.",
        c4.failed,
        c4.of,
        worst(experiments, Cell::C4),
        c3.failed,
        c3.of
    )];
    if differ(c3, c4) {
        why.push(
            "One copy keeps its own requests apart, several copies do not keep theirs: what excludes them lives in one process. \
             A server that works one request at a time looks the same; then any check before a write is the fault."
                .to_owned(),
        );
    } else {
        rules.extend(NOT_DECIDED_BY_DATA);
        rules.extend(LOCK_EXCLUDES_NOBODY.iter().filter(|rule| !ONE_PROCESS_EXCLUSION.contains(rule)));
        why.push(
            "These rates cannot be told apart (Fisher's exact test, p >= 0.01), so faults that show on one copy are possible \
             too; more --rounds would tell."
                .to_owned(),
        );
    }
    Diagnosis { rules, why }
}

fn stopped_in_the_middle(experiments: &[Experiment]) -> Diagnosis {
    let why = format!(
        "All volleys hold, but not when a copy stops in the middle of a request and goes on later ({}): its lease ran out, \
         another copy did the work, and nothing refused the first one's late write. A stopped process renews no lease either; \
         only a fencing token, a version or a condition at the write helps.",
        worst(experiments, if of_stalls(experiments) { Cell::Stall } else { Cell::Third })
    );
    let mut found = Diagnosis { rules: Vec::new(), why: Vec::new() };
    let of = |cell| experiments.iter().filter(move |one| one.cell == cell && one.holds == Holds::No);
    if let Some(third) = of(Cell::Third).find(|one| one.let_in == Some(true)) {
        found.rules.push(BLIND_RELEASE);
        found.why.push(format!(
            "A third request was let in as soon as the late copy had ended, while the second was still at work ({}): the late \
             copy freed a lock that was no longer its own.",
            counts(third)
        ));
    }
    found.rules.extend(LEASE_RUNS_OUT);
    found.why.push(why);
    found
}

fn of_stalls(experiments: &[Experiment]) -> bool {
    experiments.iter().any(|one| one.cell == Cell::Stall && one.holds == Holds::No)
}

fn killed_in_the_middle(experiments: &[Experiment]) -> Diagnosis {
    let failed = experiments.iter().filter(|one| one.cell == Cell::Kill && one.holds == Holds::No);
    let blocked = failed.filter(|one| one.tally.successes == 0).count();
    if blocked == 0 {
        let why = format!(
            "After a copy was killed in the middle of a request, its work was done twice ({}).",
            worst(experiments, Cell::Kill)
        );
        return Diagnosis { rules: Vec::new(), why: vec![why] };
    }
    let why = "A copy was killed in the middle of a request: its effect is absent, and no other copy can do the work, not even \
               after the lease. What it held is never given back.";
    Diagnosis { rules: NEVER_FREE.to_vec(), why: vec![why.to_owned()] }
}

fn worst(experiments: &[Experiment], cell: Cell) -> String {
    let failed = experiments.iter().filter(|one| one.cell == cell && one.holds == Holds::No);
    let worst = failed.max_by_key(|one| one.tally.effects.unwrap_or(one.tally.successes));
    worst.map(counts).unwrap_or_default()
}

/// Counts in words, per copy where there are several.
pub fn counts(experiment: &Experiment) -> String {
    let tally = &experiment.tally;
    let mut words = format!("{} of {} accepted", tally.successes, tally.requests);
    if tally.by_copy.len() > 1 {
        let each: Vec<String> = tally.by_copy.iter().map(|copy| format!("{}: {}", copy.copy, copy.successes)).collect();
        words.push_str(&format!("; {}", each.join(", ")));
    }
    if let Some(effects) = tally.effects {
        words.push_str(&format!("; {effects} effect{}", if effects == 1 { "" } else { "s" }));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::expect::Counted;
    use super::*;
    use Cell::{C0, C1, C2, C3, C4, Kill, Stall, Third};
    use Holds::{No, Yes};

    fn sequence(cells: &[(Cell, Holds, &[u64])]) -> Vec<Experiment> {
        cells.iter().map(|&(cell, holds, successes)| Experiment::example(cell, 1, holds, successes)).collect()
    }

    fn rules(cells: &[(Cell, Holds, &[u64])], limit: Option<u64>) -> Vec<&'static str> {
        diagnose(&sequence(cells), limit).rules
    }

    const SOUND: [(Cell, Holds, &[u64]); 3] = [(C0, Yes, &[1, 1, 1]), (C1, Yes, &[1]), (C2, Yes, &[1, 0, 0])];

    fn volleys(c3: &[Holds], c4: &[Holds]) -> Vec<(Cell, Holds, &'static [u64])> {
        let mut cells = SOUND.to_vec();
        cells.extend(c3.iter().map(|&holds| (C3, holds, [1].as_slice())));
        cells.extend(c4.iter().map(|&holds| (C4, holds, [1, 1, 1].as_slice())));
        cells
    }

    #[test]
    fn nothing_fails_nothing_is_claimed() {
        assert!(rules(&volleys(&[Yes; 5], &[Yes; 5]), None).is_empty());
    }

    #[test]
    fn a_repetition_that_passes_is_unguarded() {
        assert_eq!(rules(&[(C0, Yes, &[1]), (C1, No, &[3]), (C3, No, &[50])], None), [UNGUARDED]);
    }

    #[test]
    fn a_copy_that_does_not_know_has_state_of_its_own() {
        let cells = [(C0, Yes, [1, 1, 1].as_slice()), (C1, Yes, &[1]), (C2, No, &[1, 1, 1]), (C4, No, &[1, 1, 1])];
        assert_eq!(rules(&cells, None), ONE_PROCESS_STATE);
    }

    #[test]
    fn limit_times_copies_is_a_counter() {
        let cells = [(C0, Yes, [1, 1, 1].as_slice()), (C1, Yes, &[5]), (C2, No, &[5, 5, 5]), (C3, Yes, &[5])];
        assert_eq!(rules(&cells, Some(5)), ONE_PROCESS_LIMIT);
        let uneven = [(C0, Yes, [1, 1, 1].as_slice()), (C1, Yes, &[5]), (C2, No, &[5, 4, 3])];
        assert_eq!(rules(&uneven, Some(5)), ONE_PROCESS_STATE);
    }

    #[test]
    fn a_stale_read_is_no_fault() {
        let mut cells = sequence(&[(C0, Yes, &[1, 1]), (C1, Yes, &[1]), (C2, No, &[1, 1]), (C2, Yes, &[1, 0])]);
        cells[3].settled = true;
        assert!(diagnose(&cells, None).rules.is_empty() && is_stale_read(&cells));
    }

    #[test]
    fn one_copy_that_fails_has_no_process_lock() {
        let found = rules(&volleys(&[No, Yes, Yes], &[No, No, No]), None);
        assert!(found.contains(&"check-then-insert") && found.contains(&"process-guard"));
        assert!(!found.contains(&"process-lock"));
    }

    #[test]
    fn only_across_copies_is_exclusion_in_one_process() {
        assert_eq!(rules(&volleys(&[Yes; 5], &[No; 5]), None), ONE_PROCESS_EXCLUSION);
        let vague = rules(&volleys(&[Yes; 3], &[No, Yes, Yes]), None);
        assert!(vague.contains(&"process-lock") && vague.contains(&"check-then-act"));
        let distinct: std::collections::BTreeSet<_> = vague.iter().collect();
        assert_eq!(distinct.len(), vague.len());
    }

    #[test]
    fn a_volley_that_did_not_overlap_clears_nobody() {
        let mut cells = sequence(&volleys(&[Yes; 5], &[No; 5]));
        for one in cells.iter_mut().filter(|one| one.cell == C3) {
            one.overlap = one.overlap.map(|overlap| super::super::volley::Overlap { depth: 1, ..overlap });
        }
        assert!(diagnose(&cells, None).rules.contains(&"check-then-insert"));
    }

    #[test]
    fn a_stop_in_the_middle_shows_a_lease_without_a_fence() {
        let mut cells = volleys(&[Yes; 5], &[Yes; 5]);
        cells.extend([(Stall, Yes, [1, 0].as_slice()), (Stall, No, &[1, 1])]);
        assert_eq!(rules(&cells, None), LEASE_RUNS_OUT);
    }

    #[test]
    fn a_kill_that_blocks_all_others_shows_a_lock_that_never_ends() {
        let mut cells = volleys(&[Yes; 5], &[Yes; 5]);
        cells.push((Kill, No, &[0]));
        assert_eq!(rules(&cells, None), NEVER_FREE);
        let mut twice = volleys(&[Yes; 5], &[Yes; 5]);
        twice.push((Kill, No, &[1]));
        assert!(rules(&twice, None).is_empty());
    }

    #[test]
    fn a_third_that_a_late_release_lets_in_shows_a_blind_one() {
        let mut cells = sequence(&volleys(&[Yes; 5], &[Yes; 5]));
        cells.extend(sequence(&[(Stall, No, &[1, 1]), (Third, No, &[1, 1, 1])]));
        assert_eq!(diagnose(&cells, None).rules, LEASE_RUNS_OUT);
        if let Some(last) = cells.last_mut() {
            last.let_in = Some(true);
        }
        assert_eq!(diagnose(&cells, None).rules, [&[BLIND_RELEASE][..], &LEASE_RUNS_OUT].concat());
    }

    #[test]
    fn answers_and_state_that_disagree_are_said() {
        let said = |successes: u64, effects: u64, named: Option<u64>, source: &str| {
            let mut one = Experiment::example(C4, 1, Yes, &[successes]);
            (one.tally.effects, one.tally.effects_settled, one.tally.named) = (Some(effects), true, named);
            mismatch(&[one], &Expectation::parse(Some(source), Counted { state: true, ..Counted::default() }).unwrap())
                .map(|(name, _)| name)
        };
        assert_eq!(said(50, 1, None, "effects == 1"), Some(ANSWERS_WITHOUT_EFFECT));
        assert_eq!(said(1, 3, None, "effects == 1"), Some(EFFECTS_WITHOUT_ANSWER));
        assert_eq!(said(50, 1, Some(1), "effects == 1"), None);
        assert_eq!(said(3, 3, None, "effects == 1"), None);
        assert_eq!(said(50, 1, None, "successes >= 1"), None);
    }

    #[test]
    fn without_controls_no_fault_is_named() {
        let found = diagnose(&sequence(&[(C4, No, &[1, 1, 1])]), None);
        assert!(found.rules.is_empty() && found.why.len() == 1);
    }
}
