//! What faults do to nodes. Does not model a half-sent frame: what is on the air when its sender dies
//! goes on to its end. Tests: `tests/whole.rs`.

use crate::fault::{Fault, Power};
use crate::queue::Rank;
use crate::radio::{Excursion, Mode};
use crate::world::{Event, World};
use thalweg_medium::{Air, Deaf, EarId};
use thalweg_units::SimTime;

impl<A: Air> World<A> {
    pub(crate) fn fault(&mut self, n: usize, fault: Fault) {
        let was = self.switch(n, fault);
        match fault {
            Fault::Dead | Fault::Reboot { .. } => {
                for r in self.radios_of(n) {
                    self.radios[r].dead = true;
                    self.stop_receiving(r);
                    self.drop_pending(r);
                    self.drop_conditional(r);
                    self.settle(r);
                }
            }
            Fault::Deaf { until } => {
                for r in self.radios_of(n) {
                    self.radios[r].deaf_until = Some(until);
                    self.go_deaf(r);
                    let what = Event::Undeafen { node: r as u32 };
                    self.queue.push(until.max(self.now), Rank::Turn, what);
                }
            }
            Fault::Jammed { channel } => {
                for r in self.radios_of(n) {
                    self.radios[r].jammed = Some(channel);
                    let there = matches!(
                        self.radios[r].mode,
                        Mode::Listen { channel: own, .. } if own == channel
                    );
                    if there {
                        self.go_deaf(r);
                    }
                }
            }
            Fault::Healthy => {
                for r in self.radios_of(n) {
                    self.radios[r].deaf_until = None;
                    self.radios[r].jammed = None;
                    self.undeafen(r);
                }
                if was == Power::Held {
                    self.revive(n);
                }
            }
        }
    }

    /// The receiver is on and hears nothing any more.
    fn go_deaf(&mut self, r: usize) {
        if std::mem::take(&mut self.radios[r].tuned) {
            self.air.deafen(self.now, EarId(r as u32), Deaf::Busy);
        }
    }

    pub(crate) fn plan_fault(&mut self, at: SimTime, n: usize, fault: Fault) {
        let what = Event::Strike {
            planned: self.planned.len() as u32,
        };
        self.planned.push((n, fault));
        self.queue.push(at.max(self.now), Rank::Turn, what);
    }

    pub(crate) fn strike(&mut self, planned: usize) {
        if let Some((n, fault)) = self.planned.get(planned).copied() {
            self.fault(n, fault);
        }
    }

    fn revive(&mut self, n: usize) {
        for r in self.radios_of(n) {
            self.radios[r].dead = false;
            self.settle(r);
        }
        self.notify_held(n);
        self.renew_timeout(n);
        self.begin_work(n);
    }

    pub(crate) fn undeafen(&mut self, n: usize) {
        let now = self.now;
        let radio = &mut self.radios[n];
        if radio.is_deaf(now) || radio.tuned || radio.excursion != Excursion::No {
            return;
        }
        if let (Mode::Listen { channel, .. }, true) = (radio.mode, radio.meter.receives(now)) {
            self.hear(n, channel);
        }
    }
}
