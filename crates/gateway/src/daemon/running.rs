//! A job that is under way, as those who watch it see it. Time base: wall clock. Tests: at the end.

use std::sync::Arc;
use std::time::Instant;

use thalweg_planner::Plan;

use crate::job::Progress;
use crate::store::JobId;

/// So many points of a transfer's course are kept.
const POINTS: usize = 240;

/// A job that is under way.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) id: JobId,
    pub(super) phase: String,
    pub(super) progress: f64,
    pub(super) round: u32,
    pub(super) received: u32,
    pub(super) packets: u32,
    pub(super) rate_kbps: f64,
    /// Seconds since the first packet, and packets by then.
    pub(super) course: Vec<(f64, u32)>,
    pub(super) plan: Option<Arc<Plan>>,
    first: Option<Instant>,
    /// When somebody was last told.
    pub(super) told: Option<Instant>,
    /// The share of the progress that lies before what is under way, and its own.
    pub(super) span: (f64, f64),
    pub(super) cancelled: bool,
}

impl Running {
    pub(super) fn new(id: JobId) -> Self {
        Self {
            id,
            phase: "begins".to_owned(),
            progress: 0.0,
            round: 0,
            received: 0,
            packets: 0,
            rate_kbps: 0.0,
            course: Vec::new(),
            plan: None,
            first: None,
            told: None,
            span: (0.0, 1.0),
            cancelled: false,
        }
    }

    /// Seconds until all packets are there, at the rate so far by the wall's clock.
    pub(super) fn left_s(&self) -> Option<f64> {
        let (s, received) = *self.course.last()?;
        let (left, rate) = (self.packets.checked_sub(received)?, f64::from(received) / s);
        (s > 0.5 && received > 0).then(|| f64::from(left) / rate)
    }

    pub(super) fn note(&mut self, progress: Progress) {
        let share = |part: f64, of: f64| (part / of.max(1.0)).clamp(0.0, 1.0);
        let within = match progress {
            Progress::Planned { packets, .. } => {
                self.packets = packets;
                (self.first, self.received) = (None, 0);
                self.course.clear();
                self.phase = "planned".to_owned();
                0.0
            }
            Progress::Measuring { turn, of } => {
                self.phase = format!("measuring links: node {} of {of}", turn + 1);
                0.7 * share(f64::from(turn), f64::from(of))
            }
            Progress::Collecting { complete, of } => {
                self.phase = format!("collecting link tables: {complete} of {of}");
                0.7 + 0.3 * share(f64::from(complete), f64::from(of))
            }
            Progress::WakingUp => {
                self.phase = "waking the route up".to_owned();
                0.0
            }
            Progress::Packets {
                round,
                received,
                rate,
            } => {
                let first = *self.first.get_or_insert_with(Instant::now);
                // The object is longer than was thought.
                self.packets = self.packets.max(received);
                self.phase = format!("round {round}: {received} of {} packets", self.packets);
                (self.round, self.received) = (round, received);
                self.rate_kbps = rate.kbps();
                if self.course.len() == POINTS {
                    let mut nth = 0;
                    self.course.retain(|_| {
                        nth += 1;
                        nth % 2 == 0
                    });
                }
                self.course.push((first.elapsed().as_secs_f64(), received));
                share(f64::from(received), f64::from(self.packets))
            }
            Progress::Wave { .. } => 0.0,
        };
        let (base, own) = self.span;
        let progress = base + own * within;
        self.progress = self.progress.max(progress.min(0.99));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::{BitRate, Duration};

    #[test]
    fn progress_never_goes_back_and_its_course_is_bounded() {
        let mut running = Running::new(JobId(1));
        running.span = (0.5, 0.5);
        running.packets = 1_000;
        let mut before = 0.0;
        for round in 1..=2 {
            for received in 1..=900 {
                let rate = BitRate::of_bytes(1_000, Duration::from_secs(1));
                let received = received / round;
                running.note(Progress::Packets {
                    round,
                    received,
                    rate,
                });
                assert!(running.progress >= before && running.progress < 1.0);
                before = running.progress;
            }
        }
        assert!((0.94..0.96).contains(&before), "{before}");
        assert!(running.course.len() <= POINTS, "{}", running.course.len());
        assert_eq!((running.received, running.round), (450, 2));
    }
}
