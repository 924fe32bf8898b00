//! Announcements of a sweep that begins seconds later are repeated by every node that has one: a flood reaches the end
//! of a long row only where all its links are good at once, a repeated one crosses each link when that is good.
//!
//! A node that has heard four others repeat it since its last turn is silent, so that a dense network is not full of
//! floods. Time base: the node's clock.

use super::sink::START;
use super::*;
use crate::rng::Rng;
use crate::sweep::Built;
use thalweg_wire::beacon::steps;
use thalweg_wire::flood::Ntx;
use thalweg_wire::sweep::Announcement;

/// The sink announces so often, for [`LONGEST`] in all.
pub(super) const APART: Duration = Duration::from_millis(500);
/// An announcement says how long it is to the sweep in sixteen bits of 0.1 ms.
const LONGEST: Duration = Duration::from_secs(6);
/// A node repeats it after so long, and up to twice as long.
const TURN: Duration = Duration::from_millis(250);
/// Nothing is repeated so soon before the sweep.
const QUIET: Duration = Duration::from_millis(300);
/// How many others are enough.
const ENOUGH: u8 = 4;

/// An announcement that this node is to repeat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeating {
    due: Instant,
    /// Others that repeated it since this node's last turn.
    heard: u8,
}

/// How often a sink floods each of so many announcements that are to be repeated.
pub(super) fn copies(announcements: u64) -> u8 {
    (LONGEST / APART / announcements.max(1)).clamp(2, 12) as u8
}

impl<const NEIGHBOURS: usize, const NODES: usize, G: Guard> Floodnet<NEIGHBOURS, NODES, G> {
    pub(super) fn repeating_due(&self) -> Option<Instant> {
        self.repeating.map(|repeating| repeating.due)
    }

    /// This announcement came in at `reference`, of a sweep that begins at `begin`.
    pub(super) fn note_announcement(
        &mut self,
        content: &FrameBuf,
        reference: Instant,
        begin: Instant,
    ) {
        if let Some(repeating) = &mut self.repeating {
            repeating.heard = repeating.heard.saturating_add(1);
        } else if begin.since(reference) > QUIET * 2 {
            // Beacons come later, and the report after them.
            self.beacon_frame = *content;
            if let Measuring::Sweep(sweep) = &mut self.measuring {
                sweep.built = Built::Not;
            }
            self.repeating = Some(Repeating {
                due: reference + self.turn(reference),
                heard: 0,
            });
        }
    }
    fn turn(&self, now: Instant) -> Duration {
        let mut rng = Rng::new(now.as_nanos() ^ u64::from(self.id.get()) << 48);
        let more = rng.below(TURN.as_micros() as u32);
        TURN + Duration::from_micros(more.into())
    }

    pub(super) fn repeat_announcement(&mut self, now: Instant) {
        let (Some(repeating), Some(sweep)) = (self.repeating.take(), self.measuring.sweep()) else {
            return;
        };
        let (begin, reference) = (sweep.begin(), now + START.max(lead(&self.timing) + LEAD));
        if reference + QUIET >= begin {
            return;
        }
        self.repeating = Some(Repeating {
            due: now + self.turn(now),
            heard: 0,
        });
        if repeating.heard >= ENOUGH || self.flood.is_active() {
            return;
        }
        let content = Announcement::parse(&self.beacon_frame).and_then(|announcement| {
            let until = begin.since(reference);
            // In whole steps.
            let until = thalweg_wire::beacon::TIME_STEP * (until / thalweg_wire::beacon::TIME_STEP);
            steps(until)?;
            FrameBuf::build(|w| {
                Announcement {
                    until,
                    ..announcement
                }
                .emit(w)
            })
        });
        let content = content.and_then(|content| match self.guard.seals() {
            Some(seals) => seals.seal_repeat(self.id, &content),
            None => Ok(content),
        });
        if let Ok(content) = content {
            // Where it cannot be sent now, there is another turn.
            let _ = self
                .flood
                .start(now, &content, Ntx::TWO, When::At(reference));
        }
    }
}
