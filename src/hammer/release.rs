//! The gate: lets the last bytes of all requests go as close together as this machine can. It does not know what they say.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::net::{SendFlags, send};

/// How last bytes are let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mechanism {
    /// Many at a time, in one submission to the kernel.
    #[value(name = "io_uring")]
    IoUring,
    /// One after another from one thread.
    Loop,
}

impl Mechanism {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::IoUring => "io_uring",
            Mechanism::Loop => "loop",
        }
    }
}

/// How the gate is opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// How last bytes are let go.
    pub mechanism: Mechanism,
    /// In how many parts.
    pub parts: usize,
    /// Over how long a time, request by request; zero: as fast as can be.
    pub window: Duration,
}

/// What one opening of the gate did.
#[derive(Debug)]
pub struct Released {
    /// How it was done in the end.
    pub by: Mechanism,
    /// When it began.
    pub began: Instant,
    /// When each was surely gone.
    pub gone: Vec<Instant>,
    /// Which could not be sent whole, and why.
    pub failed: Vec<Option<String>>,
}

/// Lets go of what each socket holds back, first to last, in `parts`: after each part, `glance` is told how many are gone.
/// One part is the fastest. Falls back to the loop where io_uring is not to be had.
pub fn release(held: &[(BorrowedFd<'_>, &[u8])], opening: Opening, glance: &mut dyn FnMut(usize)) -> Released {
    let Opening { mechanism, parts, window } = opening;
    let parts = if window.is_zero() { parts } else { held.len() };
    let size = held.len().div_ceil(parts.max(1)).max(1);
    let steps = u32::try_from(held.len().div_ceil(size).saturating_sub(1)).unwrap_or(u32::MAX).max(1);
    let mut passed = 0;
    let began = Instant::now();
    let glance = &mut |gone: usize| {
        glance(gone);
        passed += 1;
        // The last part is followed by none.
        while !window.is_zero() && passed < steps + 1 && began.elapsed() < window * passed / steps {
            std::hint::spin_loop();
        }
    };
    #[cfg(target_os = "linux")]
    if mechanism == Mechanism::IoUring
        && std::env::var_os("LOCKCHECK_NO_URING").is_none()
        && let Ok(released) = in_submissions(held, size, glance)
    {
        return released;
    }
    _ = mechanism;
    in_a_loop(held, size, glance)
}

const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

fn in_a_loop(held: &[(BorrowedFd<'_>, &[u8])], size: usize, glance: &mut dyn FnMut(usize)) -> Released {
    let mut gone = Vec::with_capacity(held.len());
    let mut sent = Vec::with_capacity(held.len());
    let began = Instant::now();
    for part in held.chunks(size) {
        for (socket, bytes) in part {
            sent.push(send(socket, bytes, FLAGS));
            gone.push(Instant::now());
        }
        glance(gone.len());
    }
    let failed =
        sent.into_iter().zip(held).map(|(sent, (_, bytes))| failure(sent.map_err(io::Error::from), bytes.len())).collect();
    Released { by: Mechanism::Loop, began, gone, failed }
}

/// Fails before anything is sent, or not at all.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn in_submissions(held: &[(BorrowedFd<'_>, &[u8])], size: usize, glance: &mut dyn FnMut(usize)) -> io::Result<Released> {
    use std::os::fd::AsRawFd;

    use io_uring::{IoUring, opcode, types};

    let count = u32::try_from(held.len()).map_err(io::Error::other)?;
    let flags = i32::try_from(FLAGS.bits()).map_err(io::Error::other)?;
    let mut entries = Vec::with_capacity(held.len());
    for (index, (socket, bytes)) in held.iter().enumerate() {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let entry = opcode::Send::new(types::Fd(socket.as_raw_fd()), bytes.as_ptr(), length);
        entries.push(entry.flags(flags).build().user_data(index as u64));
    }
    let mut ring = IoUring::new(count.max(1).next_power_of_two())?;
    // A refusal shows here, while nothing is sent yet; and what the kernel needs for each entry is then at hand.
    let rehearsal = vec![opcode::Nop::new().build(); held.len()];
    // SAFETY: an entry that does nothing borrows nothing.
    unsafe { ring.submission().push_multiple(&rehearsal) }.map_err(io::Error::other)?;
    ring.submit_and_wait(held.len())?;
    ring.completion().for_each(drop);
    let mut gone = Vec::with_capacity(held.len());
    let began = Instant::now();
    for part in entries.chunks(size) {
        // SAFETY: sockets and bytes are borrowed for the whole call, and the call does not return before the kernel has
        // answered every entry. DONTWAIT makes the kernel answer at once instead of keeping an entry for later.
        unsafe { ring.submission().push_multiple(part) }.map_err(io::Error::other)?;
        let mut left = part.len();
        while left > 0 {
            left -= ring.submit().unwrap_or(0).min(left);
        }
        gone.resize(gone.len() + part.len(), Instant::now());
        glance(gone.len());
    }
    let mut failed: Vec<Option<String>> = vec![None; held.len()];
    let mut answered = 0;
    while answered < held.len() {
        _ = ring.submit_and_wait(1);
        for completion in ring.completion() {
            answered += 1;
            let index = completion.user_data() as usize;
            let result = completion.result();
            let sent = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            failed[index] = failure(sent, held[index].1.len());
        }
    }
    Ok(Released { by: Mechanism::IoUring, began, gone, failed })
}

fn failure(sent: io::Result<usize>, length: usize) -> Option<String> {
    match sent {
        Ok(sent) if sent == length => None,
        Ok(sent) => Some(format!("only {sent} of the last {length} bytes could be sent")),
        Err(error) => Some(format!("the last byte could not be sent: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    fn pairs(count: usize) -> Vec<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (0..count).map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0)).collect()
    }

    #[test]
    fn every_mechanism_delivers_every_byte() {
        for mechanism in [Mechanism::IoUring, Mechanism::Loop] {
            let pairs = pairs(20);
            let held: Vec<_> = pairs.iter().map(|(near, _)| (near.as_fd(), b"xy".as_slice())).collect();
            let mut glances = Vec::new();
            let released =
                release(&held, Opening { mechanism, parts: 4, window: Duration::ZERO }, &mut |gone| glances.push(gone));
            assert_eq!(glances, [5, 10, 15, 20]);
            assert!(released.failed.iter().all(Option::is_none), "{:?}", released.failed);
            assert!(mechanism == Mechanism::IoUring || released.by == Mechanism::Loop);
            for (_, mut far) in pairs.iter().map(|(near, far)| (near, far)) {
                let mut bytes = [0; 2];
                far.read_exact(&mut bytes).unwrap();
                assert_eq!(&bytes, b"xy");
            }
        }
    }

    #[test]
    fn a_window_spreads_the_release() {
        for mechanism in [Mechanism::IoUring, Mechanism::Loop] {
            let pairs = pairs(5);
            let held: Vec<_> = pairs.iter().map(|(near, _)| (near.as_fd(), b"x".as_slice())).collect();
            let window = Duration::from_millis(20);
            let released = release(&held, Opening { mechanism, parts: 1, window }, &mut |_| {});
            let spread = released.gone[4].duration_since(released.gone[0]);
            assert!(spread >= Duration::from_millis(14), "{spread:?}");
        }
    }

    #[test]
    fn a_dead_socket_is_said() {
        let pairs = pairs(1);
        pairs[0].0.shutdown(std::net::Shutdown::Write).unwrap();
        for mechanism in [Mechanism::IoUring, Mechanism::Loop] {
            let released =
                release(&[(pairs[0].0.as_fd(), b"x")], Opening { mechanism, parts: 1, window: Duration::ZERO }, &mut |_| {});
            assert!(released.failed[0].as_ref().unwrap().contains("could not be sent"));
        }
    }
}
