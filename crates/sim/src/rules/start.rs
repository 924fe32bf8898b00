//! How a node restarts after its power failed: what RAM and radio held is gone, and nothing of it comes later.
//!
//! Owns when a node boots, and the end of all that was under way. What it had put on the air goes on to
//! its end, unanswered. The engine is the network's. Tests: `tests/restart.rs`.

use crate::fault::{Fault, Power};
use crate::mcu::{Job, Mcu};
use crate::queue::Rank;
use crate::radio::Filter;
use crate::world::{Event, Notice, Timer, World};
use thalweg_medium::Air;

impl<A: Air> World<A> {
    /// What of `fault` node `n` runs by from now on; whether it stops with it, or goes on.
    pub(crate) fn switch(&mut self, n: usize, fault: Fault) -> Power {
        let was = self.powers[n];
        let is = match (fault, was) {
            (Fault::Dead, Power::On | Power::Held) => Power::Held,
            (Fault::Dead, Power::Booting(_) | Power::Lost) => Power::Lost,
            (Fault::Reboot { until }, Power::On) => Power::Booting(until),
            (Fault::Reboot { until }, Power::Booting(before)) => Power::Booting(until.max(before)),
            (Fault::Reboot { .. }, Power::Held | Power::Lost) => Power::Lost,
            (Fault::Healthy, Power::Held) => Power::On,
            (Fault::Healthy, Power::Lost) => Power::Booting(self.now),
            (Fault::Healthy | Fault::Deaf { .. } | Fault::Jammed { .. }, was) => was,
        };
        if let Power::Booting(until) = is {
            if was != is {
                let what = Event::Boot { node: n as u32 };
                self.queue.push(until.max(self.now), Rank::Turn, what);
            }
        }
        self.powers[n] = is;
        was
    }

    /// Node `n` may have booted; whether it has.
    pub(crate) fn boot(&mut self, n: usize) -> bool {
        match self.powers[n] {
            Power::Booting(until) if until <= self.now => {}
            _ => return false,
        }
        self.powers[n] = Power::On;
        self.starts[n] += 1;
        self.forget(n);
        let clock = self.radios[n].clock;
        let model = self.radios[n].board.clock;
        let ids = (self.seed, n as u64, self.starts[n]);
        let clock = model.draw_again(clock, ids, self.now);
        let radios = self.radios_of(n).enumerate().collect::<Vec<_>>();
        for (which, r) in radios {
            let node = n as u64;
            self.radios[r].restart(clock, self.seed, node, which as u64);
            self.filters[r] = Filter::default();
        }
        true
    }

    /// Takes out all events and notices of node `n`.
    fn forget(&mut self, n: usize) {
        let nodes = self.mcus.len().max(1);
        let is_own = |r: u32| r as usize % nodes == n;
        let mut undelivered = Vec::new();
        self.queue.retain(|what| match *what {
            Event::Notify { node, notice } if is_own(node) => {
                undelivered.push(notice);
                false
            }
            Event::Wake { node, .. }
            | Event::Strobe { node, .. }
            | Event::Tune { node, .. }
            | Event::AirStart { node, .. }
            | Event::Head { node, .. }
            | Event::Assess { node, .. }
            | Event::Timer { node }
            | Event::Work { node, .. }
            | Event::Resume { node } => !is_own(node),
            Event::Notify { .. }
            | Event::AirEnd { .. }
            | Event::Undeafen { .. }
            | Event::Background { .. }
            | Event::Strike { .. }
            | Event::Boot { .. } => true,
        });
        self.take_undelivered(is_own, &mut undelivered);
        let mcu = std::mem::take(&mut self.mcus[n]);
        let running = mcu.running.into_iter().map(|running| running.work);
        for work in mcu.queues.into_iter().flatten().chain(running) {
            if let Job::Read { notice, .. } | Job::Notify { notice } = work.job {
                undelivered.push(notice);
            }
        }
        self.mcus[n] = Mcu {
            background: mcu.background,
            begun: mcu.begun.wrapping_add(1),
            ..Mcu::default()
        };
        for notice in undelivered {
            self.drop_undelivered(notice);
        }
        for frame in self.frames.values_mut() {
            if is_own(frame.from as u32) {
                frame.op = None;
            }
        }
        self.timers[n] = Timer::default();
    }

    fn drop_undelivered(&mut self, notice: u32) {
        let kept = self.notices.get(notice).copied();
        self.notices.free(notice);
        if let Some(Notice::Head { frame, .. } | Notice::Frame { frame, .. }) = kept {
            self.release(frame);
        }
    }
}
