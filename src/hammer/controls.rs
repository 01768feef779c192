//! The order of experiments: which comes next, and when enough is known. It does not know how one is carried out.

use super::expect::Holds;
use super::experiment::{Cell, Experiment};
use super::statistics::{Rate, differ};

/// How often a volley is fired anew in a round, each time with a fresh entity, until its requests overlap.
const TRIES: usize = 5;
/// A fault is made at as many points of the request's course, at most.
const FAULT_POINTS: u32 = 5;
/// How often a third request is sent after a late release, at most.
const THIRDS: u32 = 3;

/// What is known before the first experiment.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// Copies fired at.
    pub copies: usize,
    /// Each experiment starts from a state of its own.
    pub controls: bool,
    /// The most rounds of volleys.
    pub rounds: u32,
    /// Stop a copy in the middle, once nothing else fails.
    pub stall: bool,
    /// Kill a copy in the middle, once nothing else fails.
    pub kill: bool,
}

impl Course {
    /// At how many points of a request's course a fault is made.
    pub fn fault_rounds(self) -> u32 {
        self.rounds.min(FAULT_POINTS)
    }

    /// How often a third request is sent after a late release.
    pub fn third_rounds(self) -> u32 {
        self.rounds.min(THIRDS)
    }
}

/// What is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Which cell.
    pub cell: Cell,
    /// Which round.
    pub round: u32,
    /// With a pause between requests.
    pub settled: bool,
}

/// Carries out experiments until enough is known, or until `stop`.
pub fn conduct(course: Course, stop: &dyn Fn() -> bool, carry_out: &mut dyn FnMut(Order) -> Experiment) -> Vec<Experiment> {
    let mut done: Vec<Experiment> = Vec::new();
    while !stop() {
        let Some(order) = next(course, &done).or_else(|| next_fault(course, &done)) else { break };
        done.push(carry_out(order));
    }
    done
}

/// The next experiment after these, or none when enough is known.
fn next(course: Course, done: &[Experiment]) -> Option<Order> {
    let order = |cell, round| Some(Order { cell, round, settled: false });
    let volley = if course.copies > 1 { Cell::C4 } else { Cell::C3 };
    let Some(last) = done.last() else { return order(if course.controls { Cell::C0 } else { volley }, 1) };
    if !course.controls || (last.failure.is_some() && !last.cell.is_volley()) {
        return None;
    }
    if last.was_in_vain() && tries(done, last) < TRIES {
        return order(last.cell, last.round);
    }
    let violated = |cell| done.iter().any(|experiment| experiment.cell == cell && experiment.holds == Holds::No);
    // A control that fails says what the fault is; one volley each is then enough for the record.
    let rounds = if violated(Cell::C1) || violated(Cell::C2) { 1 } else { course.rounds };
    match last.cell {
        Cell::Stall | Cell::Third | Cell::Kill | Cell::Alone | Cell::Job => None,
        Cell::C0 if last.holds != Holds::Yes => None,
        Cell::C0 => order(Cell::C1, 1),
        Cell::C1 if course.copies > 1 && last.holds != Holds::No => order(Cell::C2, 1),
        Cell::C2 if last.holds == Holds::No && !last.settled => Some(Order { cell: Cell::C2, round: 1, settled: true }),
        Cell::C2 if last.settled && last.holds == Holds::Yes => None,
        Cell::C1 | Cell::C2 => order(Cell::C3, 1),
        Cell::C3 if course.copies > 1 => order(Cell::C4, last.round),
        Cell::C3 | Cell::C4 => {
            let in_vain = done.iter().filter(|experiment| experiment.failure.is_some()).count() > 1;
            let known = match course.copies {
                0 | 1 => violated(Cell::C3),
                _ => differ(rate(done, Cell::C3), rate(done, Cell::C4)),
            };
            if last.round >= rounds || in_vain || known { None } else { order(Cell::C3, last.round + 1) }
        }
    }
}

/// The next fault to be made, after everything else held: each at several points of the request's course.
fn next_fault(course: Course, done: &[Experiment]) -> Option<Order> {
    let last = done.last()?;
    let failed = |one: &Experiment| one.holds == Holds::No || (one.cell == Cell::C0 && one.holds != Holds::Yes);
    // A stop that shows a lease without a fence leaves open whether its release is blind too.
    let stopped = |cell| matches!(cell, Cell::Stall | Cell::Third);
    if done.iter().any(|one| failed(one) && !stopped(one.cell)) || done.iter().any(|one| one.let_in == Some(true)) {
        return None;
    }
    let broken = done.iter().any(failed);
    let faults = [
        (Cell::Stall, course.stall, course.fault_rounds()),
        (Cell::Third, course.stall, course.third_rounds()),
        (Cell::Kill, course.kill, course.fault_rounds()),
    ];
    let left = |cell, rounds| match (last.cell == cell, broken) {
        (true, true) => cell == Cell::Third && last.let_in.is_none() && last.round < rounds,
        (true, false) => last.round < rounds,
        (false, true) => cell == Cell::Third && last.cell < cell,
        (false, false) => last.cell < cell,
    };
    let (cell, ..) = faults.into_iter().find(|(cell, wanted, rounds)| *wanted && left(*cell, *rounds))?;
    Some(Order { cell, round: if last.cell == cell { last.round + 1 } else { 1 }, settled: false })
}

fn tries(done: &[Experiment], last: &Experiment) -> usize {
    done.iter().filter(|one| one.cell == last.cell && one.round == last.round).count()
}

/// How often a cell failed, of the experiments that are evidence.
pub fn rate(experiments: &[Experiment], cell: Cell) -> Rate {
    let evidence = || experiments.iter().filter(|experiment| experiment.cell == cell && experiment.is_evidence());
    let failed = evidence().filter(|experiment| experiment.holds == Holds::No).count();
    Rate { failed: u32::try_from(failed).unwrap_or(u32::MAX), of: u32::try_from(evidence().count()).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::super::volley::Overlap;
    use super::*;

    const THREE: Course = Course { copies: 3, controls: true, rounds: 5, stall: false, kill: false };

    fn script(course: Course, answer: impl Fn(Order) -> Holds) -> Vec<String> {
        let mut carry_out = |order: Order| Experiment {
            settled: order.settled,
            ..Experiment::example(order.cell, order.round, answer(order), &[1, 0, 0])
        };
        let done = conduct(course, &|| false, &mut carry_out);
        done.iter().map(|one| format!("{}{}", one.cell.name(), if one.settled { "s" } else { "" })).collect()
    }

    fn violates(cells: &'static [Cell]) -> impl Fn(Order) -> Holds {
        |order| if cells.contains(&order.cell) { Holds::No } else { Holds::Yes }
    }

    #[test]
    fn a_sound_service_gets_every_round() {
        let done = script(THREE, violates(&[]));
        assert_eq!(done[..3], ["c0", "c1", "c2"]);
        assert_eq!(done[3..], ["c3", "c4"].repeat(5));
    }

    #[test]
    fn a_failing_control_needs_one_volley_only() {
        assert_eq!(script(THREE, violates(&[Cell::C1, Cell::C4])), ["c0", "c1", "c3", "c4"]);
        assert_eq!(script(THREE, violates(&[Cell::C2])), ["c0", "c1", "c2", "c2s", "c3", "c4"]);
    }

    #[test]
    fn a_stale_read_ends_the_run() {
        let stale = |order: Order| if order.cell == Cell::C2 && !order.settled { Holds::No } else { Holds::Yes };
        assert_eq!(script(THREE, stale), ["c0", "c1", "c2", "c2s"]);
    }

    #[test]
    fn nothing_follows_a_first_request_without_success() {
        assert_eq!(script(THREE, |_| Holds::Undecided), ["c0"]);
    }

    #[test]
    fn rounds_end_when_the_rates_differ() {
        let many = Course { rounds: 50, ..THREE };
        assert_eq!(script(many, violates(&[Cell::C4])).len(), 3 + 2 * 5);
        assert_eq!(script(many, violates(&[Cell::C3, Cell::C4])).len(), 3 + 2 * 50);
    }

    #[test]
    fn a_volley_without_overlap_is_fired_anew_a_few_times() {
        let mut carry_out = |order: Order| {
            let mut one = Experiment::example(order.cell, order.round, Holds::Yes, &[1, 0]);
            one.overlap = one.overlap.map(|overlap| Overlap { depth: 1, ..overlap });
            one
        };
        let done = conduct(Course { copies: 2, rounds: 1, ..THREE }, &|| false, &mut carry_out);
        let of = |cell| done.iter().filter(|one| one.cell == cell).count();
        assert_eq!((of(Cell::C1), of(Cell::C3), of(Cell::C4)), (1, TRIES, TRIES));
    }

    #[test]
    fn without_an_entity_there_is_one_volley() {
        assert_eq!(script(Course { controls: false, ..THREE }, violates(&[])), ["c4"]);
        assert_eq!(script(Course { controls: false, copies: 1, ..THREE }, violates(&[])), ["c3"]);
    }

    #[test]
    fn faults_are_made_once_all_else_held() {
        let both = Course { rounds: 2, stall: true, kill: true, ..THREE };
        assert_eq!(script(both, violates(&[]))[7..], ["stall", "stall", "third", "third", "kill", "kill"]);
        assert_eq!(script(both, violates(&[Cell::Stall]))[7..], ["stall", "third", "third"]);
        assert_eq!(script(Course { stall: false, ..both }, violates(&[]))[7..], ["kill", "kill"]);
        assert!(!script(both, violates(&[Cell::C4])).contains(&"stall".to_owned()));
        assert_eq!(script(both, |_| Holds::Undecided), ["c0"]);
    }

    #[test]
    fn one_copy_has_no_second_column() {
        let one = Course { copies: 1, ..THREE };
        assert_eq!(script(one, violates(&[])), ["c0", "c1", "c3", "c3", "c3", "c3", "c3"]);
        assert_eq!(script(one, violates(&[Cell::C3])), ["c0", "c1", "c3"]);
    }
}
