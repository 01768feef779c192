//! How far a long scan or a run of volleys has come, on a terminal only. Short scans show nothing.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::scan::Progress;

/// A scan that is done by then needs no bar.
const PATIENCE: Duration = Duration::from_millis(400);

/// A line on standard error that is gone when the scan ends.
pub struct Spinner {
    started: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Spinner {
    /// Nothing is drawn yet.
    pub fn new() -> Spinner {
        Spinner { started: Instant::now(), bar: OnceLock::new() }
    }

    /// Draws the progress once the scan has taken long enough. Where standard error is no terminal nothing is drawn.
    pub fn show(&self, progress: Progress) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| ProgressBar::no_length().with_style(style()));
        bar.set_message(match progress.total {
            0 => progress.stage.to_string(),
            total => format!("{} {} of {total} files", progress.stage, progress.done),
        });
        bar.tick();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// A line on standard error that says how far a run has come, and is gone when it ends. Where standard error is no terminal
/// nothing is drawn.
pub struct Ticker(ProgressBar);

impl Ticker {
    /// Nothing is drawn yet.
    pub fn new() -> Ticker {
        Ticker(ProgressBar::no_length().with_style(style()))
    }

    /// Shows these words.
    pub fn show(&self, words: &str) {
        self.0.set_message(words.to_owned());
        self.0.tick();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} ({elapsed})").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
