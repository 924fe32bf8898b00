//! When nodes that have no part in a transfer listen: around the *meetings*, a grid of instants
//! that begins with the wake-up and ends with the transfer's deadline. So they sleep through it and
//! can still be woken soon after its end, without being told when that is.
//!
//! Time base: the node's clock. Invariants: all nodes that heard a wake-up know the same meetings,
//! whichever of its segments they heard; a wake-up at a meeting of one grid begins the next in step
//! with it, so who missed it still listens when the others do. Tests: at the end of this file.

use thalweg_units::{Duration, Instant};

/// From one meeting to the next.
pub const PERIOD: Duration = Duration::from_millis(500);
/// How long a node listens after a meeting when clocks agree: a flood's frames reach ten hops away.
pub const LISTEN: Duration = Duration::from_millis(60);
/// How long it listens before one: what the wake-up's time stamps may be off.
pub const GUARD: Duration = Duration::from_millis(2);
/// Two clocks drift apart by one part in so many, 2 x 40 ppm.
const DRIFT: u64 = 12_500;

/// The grid of the last transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// When it was learned: the wake-up's first frame. Clocks drift apart from then on.
    pub(super) learned: Instant,
    /// Its end: everyone listens always from then on.
    until: Instant,
    /// How long to listen after a meeting.
    listen: Duration,
}

impl Grid {
    /// The grid of a wake-up whose first frame was at `first` and whose transfer ends at `until`,
    /// by a node that has kept to `before`.
    pub(super) fn new(learned: Instant, until: Instant, before: Option<Self>) -> Self {
        // Who missed this wake-up keeps to the longer one.
        let until = before.map_or(until, |grid| grid.until.max(until));
        Self {
            learned,
            until,
            listen: LISTEN,
        }
    }
    /// The same whose windows are as long as a flood takes whose first frames take `reach`.
    #[must_use]
    pub(super) fn reaching(self, reach: Duration) -> Self {
        let listen = LISTEN.max(reach);
        Self { listen, ..self }
    }
    /// Whether everyone listens always.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }
    /// When a sink may begin floods, at `now` or later, so that all nodes hear them.
    pub(super) fn meeting_after(&self, now: Instant) -> Instant {
        if self.is_over(now) {
            return now;
        }
        let steps = (now.since(self.learned).as_nanos()).div_ceil(PERIOD.as_nanos());
        self.learned + PERIOD * steps
    }
    /// From when to when to listen: the first such time that ends after `now`. `None` from when on
    /// everyone listens always.
    pub(super) fn window_after(&self, now: Instant) -> Option<(Instant, Instant)> {
        let end = self.until.saturating_sub(self.slack(self.until));
        let mut meeting = self.meeting_after(now.max(self.learned));
        meeting = meeting.max(self.learned + PERIOD);
        let before = meeting.saturating_sub(PERIOD);
        if before > self.learned && before + self.listen + self.slack(before) > now {
            meeting = before;
        }
        let slack = self.slack(meeting);
        let opens = meeting.saturating_sub(slack).min(end);
        (now < end).then_some((opens, meeting + self.listen + slack))
    }
    /// How far another node's clock may be off at `at`.
    fn slack(&self, at: Instant) -> Duration {
        GUARD + at.since(self.learned) / DRIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn grid() -> Grid {
        let first = Instant::from_nanos(123_456_789);
        Grid::new(first, first + Duration::from_secs(10), None)
    }

    #[test]
    fn meetings_are_whole_periods_apart_and_never_before_now() {
        let grid = grid();
        for us in (0..12_000_000).step_by(3_331) {
            let now = grid.learned + Duration::from_micros(us);
            let at = grid.meeting_after(now);
            assert!(at >= now && at.since(now) <= PERIOD);
            if now < grid.until {
                assert_eq!(at.since(grid.learned).as_nanos() % PERIOD.as_nanos(), 0);
            }
        }
    }

    #[test]
    fn whatever_the_clocks_do_a_meeting_lies_in_a_window() {
        let first = Instant::from_nanos(123_456_789);
        let grid = Grid::new(first, first + Duration::from_secs(600), None);
        for k in 1..1_200 {
            for ppm in [-80_i64, -13, 0, 80] {
                // The sink's meeting by a clock that runs so much faster.
                let since = (PERIOD * k).as_nanos() as i64;
                let at = first + Duration::from_nanos((since + since * ppm / 1_000_000) as u64);
                let asleep = at.saturating_sub(MS(300));
                match grid.window_after(asleep) {
                    Some((opens, closes)) => {
                        let within = opens <= at && closes >= at + MS(45);
                        assert!(within, "meeting {k}, {ppm} ppm");
                        assert!(closes.since(opens) < MS(170));
                    }
                    None => assert!(at + MS(400) > grid.until),
                }
            }
        }
    }

    #[test]
    fn a_window_that_is_open_is_not_left_out() {
        let grid = grid();
        let meeting = grid.learned + PERIOD * 4;
        let (opens, closes) = grid.window_after(meeting + MS(10)).unwrap();
        assert!(opens < meeting && closes > meeting + MS(10));
        let (opens, _) = grid.window_after(closes).unwrap();
        assert!(opens > closes);
    }

    #[test]
    fn the_next_grid_is_in_step_and_does_not_end_before_the_last() {
        let old = grid();
        let first = old.meeting_after(old.learned + MS(1_234));
        let new = Grid::new(first, first + Duration::from_secs(1), Some(old));
        assert_eq!(new.until, old.until);
        let late = first + MS(4_321);
        assert_eq!(new.meeting_after(late), old.meeting_after(late));
    }

    #[test]
    fn a_grid_without_end_has_windows_that_meet() {
        let grid = Grid::new(Instant::ZERO, Instant::MAX, None);
        let late = Instant::ZERO + Duration::from_secs(100_000);
        let (opens, closes) = grid.window_after(late).unwrap();
        assert!(opens <= late && closes > late);
        assert!(grid.window_after(Instant::MAX).is_none());
    }
}
