//! Ctrl-C and SIGTERM as one flag that every phase looks at; it does not know what the phases do.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody asked the run to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for SIGINT and SIGTERM. The first sets the flag, the second ends the process at once.
    pub fn listen() -> io::Result<Interrupt> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&raised))?;
            flag::register(signal, Arc::clone(&raised))?;
        }
        Ok(Interrupt(raised))
    }

    /// Whether the flag is set.
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps, at most until the flag is set.
    pub fn sleep(&self, duration: Duration) {
        let until = Instant::now() + duration;
        while !self.raised() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    /// Sets the flag, as a signal would.
    #[cfg(test)]
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_ends_a_sleep() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let started = Instant::now();
        interrupt.sleep(Duration::from_secs(30));
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}
