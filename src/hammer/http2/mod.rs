//! The volley over HTTP/2: the final frames of all requests on a connection go out in one write. It judges nothing and retries
//! nothing.

mod link;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use super::connection::wait_readable;
use super::freeze::Freezer;
use super::release::{Opening, release};
use super::request::Hold;
use super::volley::{CALM, Flight, Hit, Overlap, Range, STAGING, Shot, Times, YIELD};
use link::{Fate, Link};

/// What a connection may send before it is answered, in bytes: the initial window of RFC 6928, less room for the frames' heads.
const ONE_FLIGHT: usize = 14_600 - 9 * 100;

/// Sends one request and waits for its answer.
pub fn single(range: &Range<'_>, shot: &Shot) -> Result<Hit, String> {
    let copy = &range.copies[shot.copy];
    let mut link = Link::open(copy, &range.tls, range.timeout)?;
    let began = Instant::now();
    let sent = link.stage(&shot.request, copy.endpoint.tls, 0).and_then(|()| link.let_go());
    let released = began.elapsed();
    if let Err(what) = sent {
        let times = Times { released, ..Times::default() };
        return Ok(Hit { copy: shot.copy, times, answer: Err(format!("the request could not be sent: {what}")) });
    }
    let mut links = vec![link];
    wait(range, &mut links, began);
    let fate = links.remove(0).fates().remove(0);
    Ok(hit(range, shot, fate, began, Times { released, ..Times::default() }))
}

/// Fires the shots together. The error says why nothing was fired.
pub fn fire(range: &Range<'_>, shots: &[Shot]) -> Result<Flight, String> {
    let (mut links, places) = connect(range, shots)?;
    let staging = Instant::now();
    let mut staged = vec![staging; shots.len()];
    if range.hold == Hold::Header {
        links.iter_mut().for_each(Link::hold);
    }
    // Putting a body of two parts together is work that comes between the requests.
    let bodies: usize = shots.iter().map(|shot| shot.request.bytes.len() - shot.request.body_at).sum();
    let ahead = if bodies <= ONE_FLIGHT { 0 } else { usize::MAX };
    for (shot, &(link, _)) in shots.iter().zip(&places) {
        links[link].stage(&shot.request, range.copies[shot.copy].endpoint.tls, ahead)?;
    }
    for link in &mut links {
        if range.interrupt.raised() {
            return Err("interrupted".to_owned());
        }
        if range.hold == Hold::Body {
            link.delivered(STAGING)?;
        }
    }
    staged.fill(Instant::now());
    range.interrupt.sleep(CALM);
    links.iter_mut().for_each(Link::turn);
    let early: Vec<Vec<bool>> = links.iter().map(|link| link.answered().collect()).collect();
    if range.hold == Hold::Body {
        // What has stood still for long is slow to begin: the other side is woken first.
        links.iter_mut().try_for_each(|link| link.echoed(STAGING))?;
        links.iter_mut().for_each(Link::hold);
    }
    let held = links.iter_mut().map(Link::held).collect::<Result<Vec<_>, _>>()?;
    let sockets: Vec<OwnedFd> = links
        .iter()
        .map(|link| link.as_fd().try_clone_to_owned())
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let pending: Vec<_> = sockets.iter().map(AsFd::as_fd).zip(held.iter().map(Vec::as_slice)).collect();

    let mut overlap = Overlap { depth: 0, copies: 0, early: early.iter().flatten().filter(|&&early| early).count() };
    let gate = Opening { mechanism: range.mechanism, parts: range.parts.min(links.len()), window: range.window };
    let freezer = Freezer::close(&range.frozen)?;
    let mut released = release(&pending, gate, &mut |gone| {
        if !range.frozen.is_empty() {
            return;
        }
        links[..gone].iter_mut().for_each(Link::turn);
        let answered: Vec<Vec<bool>> = links.iter().map(|link| link.answered().collect()).collect();
        let under_way = shots.iter().zip(&places).filter(|(_, (link, stream))| *link < gone && !answered[*link][*stream]);
        overlap = overlap.at_best(&under_way.map(|(shot, _)| shot.copy).collect::<Vec<_>>());
    });
    if let Some(freezer) = freezer {
        let answered: Vec<Vec<bool>> = links.iter().map(|link| link.answered().collect()).collect();
        let under_way = shots.iter().zip(&places).filter(|(_, (link, stream))| !answered[*link][*stream]);
        overlap = overlap.at_best(&under_way.map(|(shot, _)| shot.copy).collect::<Vec<_>>());
        let mut copies = vec![0; links.len()];
        shots.iter().zip(&places).for_each(|(shot, &(link, _))| copies[link] = shot.copy);
        freezer.open(&mut released, &copies);
    }
    std::thread::sleep(YIELD);
    wait(range, &mut links, released.began);
    let mut fates: Vec<Vec<Option<Fate>>> = links.into_iter().map(|link| link.fates().into_iter().map(Some).collect()).collect();
    let mut hits = Vec::with_capacity(shots.len());
    for ((shot, &(link, stream)), at) in shots.iter().zip(&places).zip(staged) {
        let times = Times {
            ahead: released.began.duration_since(at),
            released: released.gone[link].duration_since(released.began),
            ..Times::default()
        };
        let fate = fates[link][stream].take().ok_or("a request was lost")?;
        let mut hit = hit(range, shot, fate, released.began, times);
        if let Some(failed) = &released.failed[link] {
            hit.answer = hit.answer.map_err(|_| failed.clone());
        }
        hits.push(hit);
    }
    let spread = released.gone.iter().map(|gone| gone.duration_since(released.began)).max().unwrap_or_default();
    Ok(Flight { hits, overlap, spread, by: released.by })
}

/// A shot's connection, and its place there.
type Place = (usize, usize);

/// Connections for all shots, as few as each copy allows, and for each shot its connection and its place there.
fn connect(range: &Range<'_>, shots: &[Shot]) -> Result<(Vec<Link>, Vec<Place>), String> {
    let mut links: Vec<Link> = Vec::new();
    // By copy: the connection that still has room, and how many requests it has.
    let mut open: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut places = Vec::with_capacity(shots.len());
    for shot in shots {
        if range.interrupt.raised() {
            return Err("interrupted".to_owned());
        }
        let room = open.get(&shot.copy).copied().filter(|&(link, used)| used < links[link].most_streams());
        let (link, used) = match room {
            Some(place) => place,
            None => {
                let link = Link::open(&range.copies[shot.copy], &range.tls, range.timeout)?;
                if link.most_streams() == 0 {
                    return Err(format!("{} allows no HTTP/2 request at all", range.copies[shot.copy].name));
                }
                links.push(link);
                (links.len() - 1, 0)
            }
        };
        places.push((link, used));
        open.insert(shot.copy, (link, used + 1));
    }
    Ok((links, places))
}

/// Takes in answers until all are complete, or the time is over.
fn wait(range: &Range<'_>, links: &mut [Link], began: Instant) {
    let deadline = began + range.timeout;
    loop {
        links.iter_mut().for_each(Link::turn);
        let open: Vec<_> = links.iter().filter(|link| !link.is_done()).map(AsFd::as_fd).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        if open.is_empty() || left.is_zero() || range.interrupt.raised() {
            return;
        }
        wait_readable(&open, left.min(Duration::from_millis(50)));
    }
}

fn hit(range: &Range<'_>, shot: &Shot, fate: Fate, began: Instant, times: Times) -> Hit {
    let since = |at: Instant| at.saturating_duration_since(began);
    let begun = fate.first_byte.is_some();
    let answer = fate.answer.unwrap_or_else(|| {
        Err(match begun {
            _ if range.interrupt.raised() => "interrupted before its answer".to_owned(),
            true => format!("only half an answer within {:?}", range.timeout),
            false => format!("no answer within {:?}", range.timeout),
        })
    });
    let times = Times { first_byte: fate.first_byte.map(since), ended: fate.ended.map(since), ..times };
    Hit { copy: shot.copy, times, answer }
}
