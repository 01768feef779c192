//! The volley: connections staged, all but the last byte sent, one gate, and every answer until the deadline. It judges
//! nothing and retries nothing.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustls::ClientConfig;

use super::answer::{Answer, Progress};
use super::connection::{Connection, wait_readable};
use super::copies::Copy;
use super::freeze::Freezer;
use super::http2;
use super::interrupt::Interrupt;
use super::release::{Mechanism, Opening, release};
use super::request::{Hold, Request};
use super::send_queue;

/// How long requests may stand half sent.
pub const STAGING: Duration = Duration::from_secs(2);
/// The pause between connections, so that short accept queues keep up.
const PACE: Duration = Duration::from_micros(200);
/// The pause before the gate, in which the service takes in what has been delivered.
pub const CALM: Duration = Duration::from_millis(10);
/// The pause after the gate: reading at once would take processor time from the services that this machine runs.
pub const YIELD: Duration = Duration::from_millis(1);
/// Connections that one thread opens.
const BATCH: usize = 25;

/// What is the same for every request of a run.
#[derive(Clone)]
pub struct Range<'a> {
    /// The copies fired at.
    pub copies: &'a [Copy],
    /// TLS settings.
    pub tls: Arc<ClientConfig>,
    /// Which byte waits.
    pub hold: Hold,
    /// How it is let go.
    pub mechanism: Mechanism,
    /// How many parts the release has: more parts see better what is in flight, and spread the requests further.
    pub parts: usize,
    /// How long an answer may take.
    pub timeout: Duration,
    /// HTTP/2 is spoken.
    pub http2: bool,
    /// Process groups that stand still while the last bytes are delivered, by the copy's index; empty: none does.
    pub frozen: Vec<Pid>,
    /// Over how long the requests are let go.
    pub window: Duration,
    /// Ends waiting early.
    pub interrupt: Interrupt,
}

/// One request to one copy.
pub struct Shot {
    /// The copy's index.
    pub copy: usize,
    /// What is sent.
    pub request: Request,
}

/// One request's fate.
pub struct Hit {
    /// The copy's index.
    pub copy: usize,
    /// When what.
    pub times: Times,
    /// The answer, or in words why there is none.
    pub answer: Result<Answer, String>,
}

/// One request's course, in time since the gate opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// How long before the gate it was sent, all but the last byte.
    pub ahead: Duration,
    /// When the last byte was gone.
    pub released: Duration,
    /// When the answer began.
    pub first_byte: Option<Duration>,
    /// When the answer was complete, or the connection lost.
    pub ended: Option<Duration>,
}

/// One volley's fate.
pub struct Flight {
    /// Every request.
    pub hits: Vec<Hit>,
    /// How much of it was in flight at once.
    pub overlap: Overlap,
    /// From the first last byte let go to the last.
    pub spread: Duration,
    /// How the bytes were let go.
    pub by: Mechanism,
}

/// What was surely under way at one instant: released before it, and not answered by it. The best of a few instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// Requests.
    pub depth: usize,
    /// Copies that had such a request.
    pub copies: usize,
    /// Requests answered before the gate opened.
    pub early: usize,
}

impl Overlap {
    /// This, or the instant at which these copies had a request in flight, whichever reaches more copies and then more requests.
    pub fn at_best(self, in_flight: &[usize]) -> Overlap {
        let copies = in_flight.iter().collect::<BTreeSet<_>>().len();
        let seen = Overlap { depth: in_flight.len(), copies, ..self };
        if (seen.copies, seen.depth) > (self.copies, self.depth) { seen } else { self }
    }
}

/// Sends one request and waits for its answer.
pub fn single(range: &Range<'_>, shot: &Shot) -> Result<Hit, String> {
    if range.http2 {
        return http2::single(range, shot);
    }
    let mut connection = Connection::open(&range.copies[shot.copy], &range.tls, range.timeout)?;
    connection.expect_head_answer(shot.request.is_head);
    let began = Instant::now();
    let sent = connection.send(&shot.request.bytes).and_then(|()| connection.never_wait());
    let released = began.elapsed();
    let progress = match sent {
        Ok(()) => connection.answer_by(began + range.timeout, &|| range.interrupt.raised()),
        Err(error) => Progress::Broken(format!("the request could not be sent: {error}")),
    };
    // One answer is waited for as a whole: it begins and ends as one.
    let ended = (!matches!(progress, Progress::Incomplete)).then(|| began.elapsed());
    let first_byte = connection.has_received().then(|| began.elapsed());
    let answer = answer(progress, connection.has_received(), range);
    Ok(Hit { copy: shot.copy, times: Times { ahead: Duration::ZERO, released, first_byte, ended }, answer })
}

/// Fires the shots together. The error says why nothing was fired.
pub fn fire(range: &Range<'_>, shots: &[Shot]) -> Result<Flight, String> {
    if range.http2 {
        return http2::fire(range, shots);
    }
    let mut connections = connect_all(range, shots)?;
    let staged = stage(range, shots, &mut connections)?;
    let early: Vec<bool> = connections.iter().map(Connection::has_received).collect();
    let pending: Vec<_> = connections.iter().map(AsFd::as_fd).zip(staged.iter().map(|one| one.held.as_slice())).collect();

    let sockets: Vec<_> = connections.iter().map(AsFd::as_fd).collect();
    let mut overlap = Overlap { depth: 0, copies: 0, early: early.iter().filter(|&&early| early).count() };
    let gate = Opening { mechanism: range.mechanism, parts: range.parts, window: range.window };
    let freezer = Freezer::close(&range.frozen)?;
    let mut released = release(&pending, gate, &mut |gone| {
        if !range.frozen.is_empty() {
            return;
        }
        let answered = wait_readable(&sockets[..gone], Duration::ZERO);
        let in_flight = (0..gone).filter(|&index| !early[index] && !answered[index]).map(|index| shots[index].copy);
        overlap = overlap.at_best(&in_flight.collect::<Vec<_>>());
    });

    if let Some(freezer) = freezer {
        // Delivered whole, and not answered: copies that stand still answer nothing.
        let answered = wait_readable(&sockets, Duration::ZERO);
        let in_flight = (0..shots.len()).filter(|&index| !early[index] && !answered[index]).map(|index| shots[index].copy);
        overlap = overlap.at_best(&in_flight.collect::<Vec<_>>());
        let copies: Vec<usize> = shots.iter().map(|shot| shot.copy).collect();
        freezer.open(&mut released, &copies);
    }
    std::thread::sleep(YIELD);
    let since = |instant: &Instant| instant.duration_since(released.began);
    let arrivals = receive(range, connections, released.began, &released.failed);
    let hits = shots
        .iter()
        .zip(arrivals)
        .enumerate()
        .map(|(index, (shot, arrival))| {
            let times = Times {
                ahead: released.began.duration_since(staged[index].at),
                released: since(&released.gone[index]),
                first_byte: arrival.first_byte,
                ended: arrival.ended,
            };
            Hit { copy: shot.copy, times, answer: arrival.answer }
        })
        .collect();
    let spread = released.gone.iter().map(since).max().unwrap_or_default();
    Ok(Flight { hits, overlap, spread, by: released.by })
}

fn connect_all(range: &Range<'_>, shots: &[Shot]) -> Result<Vec<Connection>, String> {
    let open = |shot: &Shot| {
        if range.interrupt.raised() {
            return Err("interrupted".to_owned());
        }
        std::thread::sleep(PACE);
        let mut connection = Connection::open(&range.copies[shot.copy], &range.tls, range.timeout)?;
        connection.expect_head_answer(shot.request.is_head);
        Ok(connection)
    };
    let opened: Vec<Result<Vec<Connection>, String>> = std::thread::scope(|scope| {
        let batches: Vec<_> = shots
            .chunks(BATCH)
            .map(|batch| scope.spawn(move || batch.iter().map(open).collect::<Result<Vec<_>, String>>()))
            .collect();
        batches.into_iter().map(|batch| batch.join().unwrap_or_else(|_| Err("a connecting thread failed".to_owned()))).collect()
    });
    Ok(opened.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// A request of which all but the last byte is sent.
struct Staged {
    /// What waits, as it goes over the wire.
    held: Vec<u8>,
    at: Instant,
}

/// Sends all but what waits, and sees it delivered.
fn stage(range: &Range<'_>, shots: &[Shot], connections: &mut [Connection]) -> Result<Vec<Staged>, String> {
    let began = Instant::now();
    let mut all = Vec::with_capacity(shots.len());
    for (shot, connection) in shots.iter().zip(connections.iter_mut()) {
        let name = &range.copies[shot.copy].name;
        let (ahead, last) = shot.request.bytes.split_at(shot.request.ahead(range.hold));
        let held = connection.send(ahead).and_then(|()| connection.never_wait()).and_then(|()| connection.seal(last));
        let held = held.map_err(|error| format!("{name} closed the connection while the request was being sent: {error}"))?;
        all.push(Staged { held, at: Instant::now() });
        if range.interrupt.raised() {
            return Err("interrupted".to_owned());
        }
    }
    let locals: Vec<_> = connections.iter().filter_map(|connection| connection.local().ok()).collect();
    let drained = send_queue::drained(&locals, STAGING.saturating_sub(began.elapsed()));
    if !drained || began.elapsed() > STAGING {
        return Err(format!(
            "the requests could not be delivered within {STAGING:?}, all but the last byte: send a smaller body or fewer requests (-n)"
        ));
    }
    range.interrupt.sleep(CALM);
    for (shot, connection) in shots.iter().zip(connections.iter_mut()) {
        connection.take_in();
        if connection.is_closed() && !connection.has_received() {
            let name = &range.copies[shot.copy].name;
            return Err(format!(
                "{name} closed a connection before the request was complete: fewer requests (-n) may fit its limit"
            ));
        }
    }
    Ok(all)
}

/// One request's answer.
struct Arrival {
    first_byte: Option<Duration>,
    ended: Option<Duration>,
    answer: Result<Answer, String>,
}

fn receive(range: &Range<'_>, connections: Vec<Connection>, began: Instant, failed: &[Option<String>]) -> Vec<Arrival> {
    let mut arrivals: Vec<Option<Arrival>> = connections.iter().map(|_| None).collect();
    let mut first: Vec<Option<Duration>> = vec![None; connections.len()];
    let mut open: Vec<(usize, Connection)> = connections.into_iter().enumerate().collect();
    let deadline = began + range.timeout;
    let mut looked = false;
    while !open.is_empty() {
        let over = Instant::now() >= deadline || range.interrupt.raised();
        let sockets: Vec<_> = open.iter().map(|(_, connection)| connection.as_fd()).collect();
        let wait = deadline.saturating_duration_since(Instant::now()).min(Duration::from_millis(50));
        let readable = wait_readable(&sockets, wait);
        let now = began.elapsed();
        let mut kept = Vec::with_capacity(open.len());
        for ((index, mut connection), readable) in open.into_iter().zip(readable) {
            if !readable && !over && looked {
                kept.push((index, connection));
                continue;
            }
            connection.take_in();
            if connection.has_received() {
                first[index].get_or_insert(now);
            }
            match connection.progress() {
                Progress::Incomplete if !over => kept.push((index, connection)),
                progress => {
                    // A finished connection is closed at once: a server with few workers needs it back.
                    let ended = (!matches!(progress, Progress::Incomplete)).then_some(now);
                    let answer = answer(progress, connection.has_received(), range);
                    arrivals[index] = Some(Arrival { first_byte: first[index], ended, answer });
                }
            }
        }
        open = kept;
        looked = true;
    }
    arrivals
        .into_iter()
        .zip(failed)
        .map(|(arrival, failed)| {
            let nothing = Arrival { first_byte: None, ended: None, answer: Err("was not looked at".to_owned()) };
            let arrival = arrival.unwrap_or(nothing);
            Arrival { answer: arrival.answer.map_err(|what| failed.clone().unwrap_or(what)), ..arrival }
        })
        .collect()
}

fn answer(progress: Progress, begun: bool, range: &Range<'_>) -> Result<Answer, String> {
    match progress {
        Progress::Complete(answer) => Ok(answer),
        Progress::Broken(what) => Err(what),
        Progress::Incomplete if range.interrupt.raised() => Err("interrupted before its answer".to_owned()),
        Progress::Incomplete if begun => Err(format!("only half an answer within {:?}", range.timeout)),
        Progress::Incomplete => Err(format!("no answer within {:?}", range.timeout)),
    }
}
