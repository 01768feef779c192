//! Copies that stand still while the last bytes are delivered, and go on together: what opens the gate is then that they run. It
//! does not know what they are sent.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::release::Released;

/// A stop takes effect a little after it is sent.
const STANDSTILL: Duration = Duration::from_millis(2);
/// What the kernel may still have to hand over within this machine.
const DELIVERY: Duration = Duration::from_millis(1);

/// Copies that stand still. Dropping it lets them go on.
pub struct Freezer<'a> {
    groups: &'a [Pid],
    open: bool,
}

impl<'a> Freezer<'a> {
    /// Stops every process of these groups; `None` where there are none.
    pub fn close(groups: &'a [Pid]) -> Result<Option<Freezer<'a>>, String> {
        if groups.is_empty() {
            return Ok(None);
        }
        let freezer = Freezer { groups, open: false };
        for group in groups {
            kill_process_group(*group, Signal::STOP).map_err(|error| format!("a copy cannot be stopped: {error}"))?;
        }
        std::thread::sleep(STANDSTILL);
        Ok(Some(freezer))
    }

    /// Lets all go on, and takes that for the release of the requests: `copies` says to which copy each went.
    pub fn open(mut self, released: &mut Released, copies: &[usize]) {
        std::thread::sleep(DELIVERY);
        let began = Instant::now();
        let gone: Vec<Instant> = self
            .groups
            .iter()
            .map(|group| {
                _ = kill_process_group(*group, Signal::CONT);
                Instant::now()
            })
            .collect();
        self.open = true;
        released.began = began;
        released.gone = copies.iter().map(|&copy| gone.get(copy).copied().unwrap_or(began)).collect();
    }
}

impl Drop for Freezer<'_> {
    fn drop(&mut self) {
        if !self.open {
            for group in self.groups {
                _ = kill_process_group(*group, Signal::CONT);
            }
        }
    }
}
