//! When nodes that have no part in a transfer listen: for a short window at every step of a grid
//! that begins with the transfer, until its deadline. So they sleep through it and can still be
//! woken soon after its end, without being told when that is.

use thalweg_units::{Duration, Instant};

/// Step of the grid.
pub const PERIOD: Duration = Duration::from_millis(500);
/// Length of the window: a flood's frames reach ten hops away, clocks drift 40 ppm for ten minutes.
pub const WINDOW: Duration = Duration::from_millis(80);
/// From the window's beginning to the sink's first frame in it: more than clocks drift apart
/// (2 x 40 ppm x 300 s).
pub const MARGIN: Duration = Duration::from_millis(25);

/// The grid of the last transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Its beginning: the transfer's start.
    pub(super) epoch: Instant,
    /// Its end: everyone listens always from then on.
    pub(super) until: Instant,
}

impl Grid {
    /// The beginning of the first window that begins at `now` or later.
    pub(super) fn window_after(&self, now: Instant) -> Instant {
        let steps = now.since(self.epoch).as_nanos().div_ceil(PERIOD.as_nanos());
        (self.epoch + PERIOD * steps).min(self.until)
    }
    /// When a sink may begin floods, at `now` or later, so that all nodes hear them.
    pub(super) fn meeting_after(&self, now: Instant) -> Instant {
        if now >= self.until {
            return now;
        }
        let meeting = self.window_after(now.saturating_sub(MARGIN)) + MARGIN;
        if meeting < now {
            self.window_after(now) + MARGIN
        } else {
            meeting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_lie_inside_windows_and_never_before_now() {
        let epoch = Instant::from_nanos(123_456_789);
        let grid = Grid { epoch, until: epoch + Duration::from_secs(10) };
        for us in (0..12_000_000).step_by(3_331) {
            let now = epoch + Duration::from_micros(us);
            let at = grid.meeting_after(now);
            assert!(at >= now && at.since(now) <= PERIOD + MARGIN);
            if at < grid.until {
                let into = at.since(epoch).as_nanos() % PERIOD.as_nanos();
                assert_eq!(into, MARGIN.as_nanos());
            }
        }
    }
}
