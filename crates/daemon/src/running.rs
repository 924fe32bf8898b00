//! The running job, as watchers see it. Time base: wall clock. Tests: at the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_planner::Plan;
use thalweg_units::Duration as Span;

use thalweg_host::job::Progress;
use thalweg_host::store::JobId;
use thalweg_host::text::{are_silent, count};
use thalweg_host::transfer::session::SourceStatus;

/// The most points of a transfer's course.
const POINTS: usize = 240;

/// A point of a transfer's course: seconds since its source began, packets by then, and the goodput so far in kbit/s, by the
/// network's clock. Pauses before further tries are left out.
pub(super) type CoursePoint = (f64, u32, f64);

/// The running job.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) id: JobId,
    pub(super) phase: String,
    pub(super) progress: f64,
    pub(super) round: u32,
    pub(super) received: u32,
    pub(super) packets: u32,
    pub(super) rate_kbps: f64,
    pub(super) course: Vec<CoursePoint>,
    pub(super) plan: Option<Arc<Plan>>,
    /// When the first packet came.
    first: Option<Instant>,
    /// What the tries before the present one took, in seconds of the course.
    before_s: f64,
    /// Sources of a session, as they fare.
    pub(super) sources: Vec<SourceStatus>,
    /// When it was last reported.
    reported: Option<Instant>,
    /// The share of the progress before the present phase, and that of the phase.
    pub(super) span: (f64, f64),
    pub(super) cancelled: bool,
}

/// The sum of `values`; zero of none, for which the standard library's is -0.
pub(super) fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
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
            before_s: 0.0,
            sources: Vec::new(),
            reported: None,
            span: (0.0, 1.0),
            cancelled: false,
        }
    }

    /// Seconds until all packets are there, at the rate so far by the wall's clock.
    pub(super) fn left_s(&self) -> Option<f64> {
        let s = self.first?.elapsed().as_secs_f64();
        let (received, left) = (self.received, self.packets.checked_sub(self.received)?);
        (s > 0.5 && received > 0).then(|| f64::from(left) * s / f64::from(received))
    }

    /// Whether a report is due, at most once in `period`.
    pub(super) fn is_due(&mut self, period: Duration) -> bool {
        let due = self
            .reported
            .is_none_or(|reported| reported.elapsed() >= period);
        if due {
            self.reported = Some(Instant::now());
        }
        due
    }

    /// The sources of a session fare so, `at_s` seconds after it began; it ends by itself after `whole_s`.
    pub(super) fn note_sources(
        &mut self,
        at_s: f64,
        whole_s: Option<f64>,
        sources: &[SourceStatus],
    ) {
        let open = sources.iter().filter(|s| s.rate.is_some()).count();
        let packets: u64 = sources.iter().map(|s| s.packets).sum();
        self.phase = format!(
            "{open} of {} send, {} in {at_s:.0} s",
            count(sources.len(), "node"),
            count(packets, "packet")
        );
        self.progress = whole_s.map_or(0.0, |whole| (at_s / whole.max(1.0)).clamp(0.0, 0.99));
        self.sources = sources.to_vec();
    }

    pub(super) fn note(&mut self, progress: Progress) {
        let share = |part: f64, of: f64| (part / of.max(1.0)).clamp(0.0, 1.0);
        let within = match progress {
            Progress::Planned { packets, .. } => {
                self.packets = packets;
                (self.first, self.received, self.before_s) = (None, 0, 0.0);
                self.course.clear();
                self.phase = "planned".to_owned();
                0.0
            }
            Progress::Sweeping { of, .. } => {
                self.phase = format!("measuring links of {}", count(of, "node"));
                0.0
            }
            Progress::Measuring { turn, of } => {
                // Of a base station that says more nodes than there are, that much is believed.
                let turn = turn.min(of.saturating_sub(1));
                self.phase = format!("measuring links: node {} of {of}", turn + 1);
                0.7 * share(f64::from(turn), f64::from(of))
            }
            Progress::Collecting { complete, of } => {
                let complete = complete.min(of);
                self.phase = format!("collecting link tables: {complete} of {of}");
                0.7 + 0.3 * share(f64::from(complete), f64::from(of))
            }
            Progress::Silent { nodes, of } => {
                self.phase = are_silent(nodes.len(), of);
                0.0
            }
            Progress::OutOfReach { pause, .. } => {
                let pause = pause.as_secs_f64();
                self.phase = format!("out of reach: links are measured again in {pause:.0} s");
                0.0
            }
            Progress::WakingUp => {
                self.phase = "waking the route up".to_owned();
                0.0
            }
            Progress::Packets {
                round,
                received,
                rate,
                since,
            } => {
                self.first.get_or_insert_with(Instant::now);
                // The object is longer than was thought.
                self.packets = self.packets.max(received);
                self.phase = format!("round {round}: {received} of {} packets", self.packets);
                (self.round, self.received) = (round, received);
                self.rate_kbps = rate.kbps();
                self.extend_course(since);
                share(f64::from(received), f64::from(self.packets))
            }
            Progress::Of(..) | Progress::Wave { .. } => 0.0,
        };
        let (base, own) = self.span;
        let progress = base + own * within;
        self.progress = self.progress.max(progress.min(0.99));
    }

    /// Adds the present packets and rate to the course, `since` its source began; a full course loses every other point.
    fn extend_course(&mut self, since: Span) {
        if self.course.len() == POINTS {
            let mut nth = 0;
            self.course.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
        }
        let took = (since.as_secs_f64() * 100.0).round() / 100.0;
        let last = self.course.last().map_or(0.0, |(at, ..)| *at);
        if self.before_s + took < last {
            self.before_s = last;
        }
        let at = self.before_s + took;
        let kbps = (self.rate_kbps * 10.0).round() / 10.0;
        self.course.push((at, self.received, kbps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::BitRate;

    #[test]
    fn progress_never_goes_back_and_its_course_is_bounded() {
        let mut running = Running::new(JobId(1));
        running.span = (0.5, 0.5);
        running.packets = 1_000;
        let mut before = 0.0;
        for round in 1..=2 {
            for received in 1..=900 {
                let rate = BitRate::of_bytes(1_000, thalweg_units::Duration::from_secs(1));
                let received = received / round;
                running.note(Progress::Packets {
                    round,
                    received,
                    rate,
                    since: thalweg_units::Duration::from_millis(u64::from(received)),
                });
                assert!(running.progress >= before && running.progress < 1.0);
                before = running.progress;
            }
        }
        assert!((0.94..0.96).contains(&before), "{before}");
        assert!(running.course.len() <= POINTS, "{}", running.course.len());
        assert_eq!((running.received, running.round), (450, 2));
        // The second try follows the first.
        let times: Vec<f64> = running.course.iter().map(|(at, ..)| *at).collect();
        assert!(
            times.is_sorted() && (1.2..1.4).contains(times.last().unwrap()),
            "{times:?}"
        );
    }

    #[test]
    fn no_more_nodes_than_there_are_are_told() {
        let mut running = Running::new(JobId(1));
        running.note(Progress::Measuring { turn: 199, of: 21 });
        assert_eq!(running.phase, "measuring links: node 21 of 21");
        running.note(Progress::Measuring {
            turn: u16::MAX,
            of: 0,
        });
        running.note(Progress::Collecting {
            complete: 200,
            of: 21,
        });
        assert_eq!(running.phase, "collecting link tables: 21 of 21");
    }
}
