//! Frames on the air as the watched receivers see them; does nothing unless somebody watches.
//!
//! The medium forgets what an ear was synchronised on when a frame ends, so ears are looked at
//! before that, and what they received is put to it afterwards. Tests: `tests/whole.rs`.

use crate::air::ear;
use crate::trace::{AirTrace, Ending, Moment, Watch};
use crate::world::World;
use thalweg_medium::{LossCause, Outcome, Reception, Standing};

impl World {
    pub(crate) fn watch_beginning(&mut self, air: u32) {
        let Self {
            now,
            airs,
            medium,
            watch,
            ..
        } = self;
        let (Some(frame), Some(watch)) = (airs.get(air), watch) else {
            return;
        };
        let nodes = watch.nodes.iter().filter(|n| **n != frame.from);
        watch.begins.clear();
        let seen = nodes.map(|n| (*n, medium.standing(*now, ear(*n), frame.tx)));
        watch.begins.extend(seen);
        (watch.hook)(&AirTrace {
            at: *now,
            from: frame.from,
            channel: frame.channel,
            start: frame.start,
            mpdu: &frame.mpdu,
            moment: Moment::Begins(&watch.begins),
        });
    }

    /// Looks at the ears before the frame's end.
    pub(crate) fn watch_end(&mut self, air: u32) {
        let Self {
            now,
            airs,
            medium,
            watch,
            ..
        } = self;
        let (Some(frame), Some(watch)) = (airs.get(air), watch) else {
            return;
        };
        let Watch { nodes, ends, .. } = watch;
        ends.clear();
        for n in nodes.iter().filter(|n| **n != frame.from) {
            let ending = match medium.standing(*now, ear(*n), frame.tx) {
                Standing::Locked => Ending::Lost {
                    cause: medium
                        .header_loss(*now, ear(*n), frame.tx)
                        .unwrap_or(LossCause::Weak),
                    interferer: medium
                        .interferer(ear(*n), frame.tx)
                        .map(|from| from.0 as usize),
                },
                other => Ending::Other(other),
            };
            ends.push((*n, ending));
        }
    }

    /// Puts the receptions to it and tells.
    pub(crate) fn tell_end(&mut self, air: u32, received: &[Reception]) {
        let Self {
            now, airs, watch, ..
        } = self;
        let (Some(frame), Some(Watch { hook, ends, .. })) = (airs.get(air), watch) else {
            return;
        };
        for (n, ending) in ends.iter_mut() {
            let Some(reception) = received.iter().find(|r| r.ear == ear(*n)) else {
                continue;
            };
            match (reception.outcome, ending) {
                (Outcome::Corrupt(why), Ending::Lost { cause, .. }) => *cause = why,
                (Outcome::Corrupt(_), Ending::Good | Ending::Other(_)) => {}
                (Outcome::Good, ending) => *ending = Ending::Good,
            }
        }
        hook(&AirTrace {
            at: *now,
            from: frame.from,
            channel: frame.channel,
            start: frame.start,
            mpdu: &frame.mpdu,
            moment: Moment::Ends(ends),
        });
    }
}
