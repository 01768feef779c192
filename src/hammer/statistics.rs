//! The few figures a report rests on: a test of two rates, a bound, and quantiles. It does not know what is counted.

use std::time::Duration;

use hdrhistogram::Histogram;

/// How often something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// Failures.
    pub failed: u32,
    /// Trials.
    pub of: u32,
}

/// Fisher's exact test, two-sided: how probable a difference like this is between two equal rates.
pub fn fisher(a: Rate, b: Rate) -> f64 {
    let (trials, failed) = (a.of + b.of, a.failed + b.failed);
    let table = |first: u32| ln_choose(a.of, first) + ln_choose(b.of, failed - first) - ln_choose(trials, failed);
    let least = failed.saturating_sub(b.of);
    let seen = table(a.failed);
    let probability: f64 = (least..=failed.min(a.of)).map(table).filter(|&other| other <= seen + 1e-9).map(f64::exp).sum();
    probability.min(1.0)
}

/// Whether two rates differ beyond doubt (p < 0.01).
pub fn differ(a: Rate, b: Rate) -> bool {
    fisher(a, b) < 0.01
}

/// After no failure in `trials`: the rate that is exceeded with 5 % probability at most (about 3/k).
pub fn upper_bound(trials: u32) -> f64 {
    match trials {
        0 => 1.0,
        trials => 1.0 - 0.05_f64.powf(1.0 / f64::from(trials)),
    }
}

/// Median, 95th percentile and maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    /// Half took at most this.
    pub median: Duration,
    /// 95 % took at most this.
    pub p95: Duration,
    /// The longest.
    pub max: Duration,
}

/// The quantiles of these times; `None` of none.
pub fn quantiles(times: impl IntoIterator<Item = Duration>) -> Option<Quantiles> {
    let mut histogram = Histogram::<u64>::new(3).ok()?;
    for time in times {
        histogram.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)).ok()?;
    }
    let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
    (!histogram.is_empty()).then(|| Quantiles { median: at(0.5), p95: at(0.95), max: Duration::from_micros(histogram.max()) })
}

fn ln_choose(n: u32, k: u32) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

fn ln_factorial(n: u32) -> f64 {
    (2..=n).map(|factor| f64::from(factor).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(failed: u32, of: u32) -> Rate {
        Rate { failed, of }
    }

    #[test]
    fn fisher_agrees_with_tables() {
        // Computed with exact fractions.
        for (a, b, want) in [
            (rate(0, 5), rate(5, 5), 0.007_937),
            (rate(1, 9), rate(11, 15), 0.009_422_5),
            (rate(3, 4), rate(1, 4), 0.485_714),
            (rate(5, 5), rate(5, 5), 1.0),
            (rate(0, 0), rate(3, 4), 1.0),
        ] {
            let got = fisher(a, b);
            assert!((got - want).abs() < 1e-5, "{a:?} {b:?}: {got}");
            assert!((fisher(b, a) - got).abs() < 1e-9);
        }
        assert!(differ(rate(0, 5), rate(5, 5)) && !differ(rate(0, 4), rate(4, 4)));
    }

    #[test]
    fn the_bound_is_about_three_over_k() {
        assert!((upper_bound(100) - 0.0295).abs() < 1e-3);
        assert!((upper_bound(5) - 0.4507).abs() < 1e-3);
        assert_eq!(upper_bound(0), 1.0);
    }

    #[test]
    fn quantiles_are_of_the_times() {
        let of = quantiles((1..=100).map(Duration::from_millis)).unwrap();
        let close = |got: Duration, want: f64| (got.as_secs_f64() * 1e3 / want - 1.0).abs() < 0.01;
        assert!(close(of.median, 50.0) && close(of.p95, 95.0) && close(of.max, 100.0), "{of:?}");
        assert_eq!(quantiles([]), None);
    }
}
