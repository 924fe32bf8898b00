//! Background work of a node: what its microcontroller does when neither an interrupt nor a task wants
//! it, a computation on what it senses, or a log.
//!
//! Owns when a run is due and what became of it; `software.rs` gives it its time. A board's file
//! switches it on. Runs fall due at the board's interval from an instant drawn per node; one that falls
//! due while one is under way follows it, further ones are missed. Not modelled: work that needs the
//! bus. Tests: `tests/background.rs`.

use crate::hooks::Activity;
use crate::mcu::{Job, Level};
use crate::queue::Rank;
use crate::world::{Event, World};
use thalweg_medium::{random, Air};
use thalweg_units::Duration;

impl<A: Air> World<A> {
    /// Plans the first run of each node whose board has background work.
    pub(crate) fn plan_background(&mut self, seed: u64) {
        for node in 0..self.mcus.len() {
            let Some(background) = self.radios[node].board.background else {
                continue;
            };
            let mut rng = random::stream(seed, "sim.background", &[node as u64]);
            let phase = random::uniform(&mut rng) * background.every.as_nanos() as f64;
            let at = self.now + Duration::from_nanos(phase as u64);
            let node = node as u32;
            self.queue
                .push(at, Rank::Software, Event::Background { node });
        }
    }

    /// A run of node `n` is due.
    pub(crate) fn background_due(&mut self, n: usize) {
        let Some(background) = self.radios[n].board.background else {
            return;
        };
        let again = self.now + background.every;
        let what = Event::Background { node: n as u32 };
        self.queue.push(again, Rank::Software, what);
        if self.radios[n].dead {
            return;
        }
        if self.mcus[n].is_behind() {
            self.mcus[n].background.missed += 1;
            return;
        }
        let (job, takes) = (Job::Background, background.takes);
        self.work(n, Level::Background, job, takes, Activity::Background);
    }
}
