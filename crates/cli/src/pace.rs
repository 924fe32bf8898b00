//! How long a command still takes, from how far it has come. Time base: wall clock. Tests: below.

use std::time::{Duration, Instant};

/// The time left is shown after so much has passed.
const FIRST: Duration = Duration::from_secs(2);

/// How fast a step comes on.
#[derive(Debug)]
pub(crate) struct Pace {
    step: String,
    begun: Instant,
}

impl Pace {
    /// Of a step that begins now.
    pub(crate) fn new() -> Self {
        Self {
            step: String::new(),
            begun: Instant::now(),
        }
    }

    /// Time that `step` still takes with `done` of `total` parts done, in words; nothing where it is not known.
    pub(crate) fn left(&mut self, step: &str, done: u64, total: u64) -> String {
        if self.step != step {
            *self = Self::new();
            step.clone_into(&mut self.step);
        }
        let left = left(self.begun.elapsed(), done, total);
        left.map(|left| format!("{} left", rounded(left)))
            .unwrap_or_default()
    }
}

/// What is left at the pace so far.
fn left(passed: Duration, done: u64, total: u64) -> Option<Duration> {
    if done == 0 || passed < FIRST {
        return None;
    }
    let share = total.saturating_sub(done) as f64 / done as f64;
    Duration::try_from_secs_f64(passed.as_secs_f64() * share).ok()
}

/// `time` as a person says it.
pub(crate) fn rounded(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s < 0.1 => "< 0.1 s".to_owned(),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let s = Duration::from_secs;
        assert_eq!(left(s(30), 3, 12), Some(s(90)));
        assert_eq!(left(s(30), 12, 12), Some(s(0)));
        assert_eq!((left(s(30), 0, 12), left(s(1), 6, 12)), (None, None));
        let words = [0, 4, 95, 100, 7_000].map(|n| rounded(s(n)));
        assert_eq!(words, ["< 0.1 s", "4.0 s", "95 s", "2 min", "1.9 h"]);
    }
}
