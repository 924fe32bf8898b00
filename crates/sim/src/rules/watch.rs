//! Frames on the air as the watched receivers see them; does nothing where none is watched.
//!
//! The medium forgets what an ear was synchronised on when a frame ends, so ears are looked at
//! before that, and what they received is put to it afterwards. Tests: `tests/whole.rs`.

use crate::hooks::{AirTrace, Ending, Moment, Watch};
use crate::world::World;
use thalweg_medium::{Air, Cause, EarId, EarStatus, Outcome, Reception};

fn ear(n: usize) -> EarId {
    EarId(n as u32)
}

impl<A: Air> World<A> {
    pub(crate) fn watch_beginning(&mut self, frame: u32) {
        let Self {
            now,
            frames,
            air,
            watch,
            ..
        } = self;
        let (Some(kept), Some(watch)) = (frames.get(frame), watch) else {
            return;
        };
        let nodes = watch.nodes.iter().filter(|n| **n != kept.from);
        watch.begins.clear();
        let seen = nodes.map(|n| (*n, air.ear_status(*now, ear(*n), kept.id)));
        watch.begins.extend(seen);
        (watch.hook)(&AirTrace {
            at: *now,
            from: kept.from,
            channel: kept.channel,
            start: kept.start,
            mpdu: &kept.mpdu,
            moment: Moment::Begins(&watch.begins),
        });
    }

    /// Looks at the ears before the frame's end.
    pub(crate) fn watch_end(&mut self, frame: u32) {
        let Self {
            now,
            frames,
            air,
            watch,
            ..
        } = self;
        let (Some(kept), Some(watch)) = (frames.get(frame), watch) else {
            return;
        };
        let Watch { nodes, ends, .. } = watch;
        ends.clear();
        for n in nodes.iter().filter(|n| **n != kept.from) {
            let ending = match air.ear_status(*now, ear(*n), kept.id) {
                EarStatus::Locked => {
                    let (cause, interferer) = air.troubles(*now, ear(*n), kept.id);
                    Ending::Lost {
                        cause: cause.unwrap_or(Cause::Weak),
                        interferer: interferer.map(|from| from.0 as usize),
                    }
                }
                other => Ending::Other(other),
            };
            ends.push((*n, ending));
        }
    }

    /// Adds the receptions, and reports.
    pub(crate) fn watch_ending(&mut self, frame: u32, received: &[Reception]) {
        let Self {
            now, frames, watch, ..
        } = self;
        let (Some(kept), Some(Watch { hook, ends, .. })) = (frames.get(frame), watch) else {
            return;
        };
        for (n, ending) in ends.iter_mut() {
            let Some(reception) = received.iter().find(|r| r.ear == ear(*n)) else {
                continue;
            };
            match (reception.outcome, ending) {
                (Outcome::Corrupt(why), Ending::Lost { cause, .. }) => {
                    *cause = why.unwrap_or(*cause);
                }
                (Outcome::Corrupt(_), Ending::Good | Ending::Other(_)) => {}
                (Outcome::Good, ending) => *ending = Ending::Good,
            }
        }
        hook(&AirTrace {
            at: *now,
            from: kept.from,
            channel: kept.channel,
            start: kept.start,
            mpdu: &kept.mpdu,
            moment: Moment::Ends(ends),
        });
    }
}
