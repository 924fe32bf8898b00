//! A flow's round trip: mean and deviation (RCRT, section 3.7). Tests: `tests/`.

use thalweg_units::{Duration, Instant};

/// Feedbacks whose answers are waited for.
const SENT: usize = 4;
/// Weight of a sample in the deviation (Jacobson, SIGCOMM 1988).
const DEVIATION: f64 = 1.0 / 4.0;

#[derive(Debug, Clone)]
pub(super) struct RoundTrip {
    /// Number and time of the last feedbacks, the latest first.
    sent: [Option<(u8, Instant)>; SENT],
    number: u8,
    mean: Option<f64>,
    deviation: f64,
    /// Taken before the first sample, seconds.
    first: f64,
    /// Weight of a sample in the mean.
    gain: f64,
}

impl RoundTrip {
    pub(super) const fn new(first: Duration, gain: f64) -> Self {
        Self {
            sent: [None; SENT],
            number: 0,
            mean: None,
            deviation: 0.0,
            first: first.as_nanos() as f64 * 1e-9,
            gain,
        }
    }
    /// A feedback goes out: its number.
    pub(super) fn sends(&mut self, now: Instant) -> u8 {
        self.number = self.number.wrapping_add(1);
        self.sent.rotate_right(1);
        self.sent[0] = Some((self.number, now));
        self.number
    }
    /// The answer to feedback `number` came, which waited so long at the source.
    pub(super) fn answered(&mut self, now: Instant, number: u8, waited: Duration) {
        let of_number = |sent: &&Option<(u8, Instant)>| sent.is_some_and(|(n, _)| n == number);
        let Some((_, at)) = self.sent.iter().find(of_number).copied().flatten() else {
            return;
        };
        // What waited longer than it was away has another clock, or lies.
        let away = now.since(at);
        if away < waited {
            return;
        }
        let sample = away.saturating_sub(waited).as_secs_f64();
        let mean = *self.mean.get_or_insert(sample);
        let error = sample - mean;
        self.deviation += DEVIATION * (error.abs() - self.deviation);
        self.mean = Some(mean + self.gain * error);
    }
    /// The mean, seconds.
    pub(super) fn mean(&self) -> f64 {
        self.mean.unwrap_or(self.first)
    }
    /// Mean and twice the deviation: no two feedbacks within it.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.mean() + 2.0 * self.deviation)
    }
}
