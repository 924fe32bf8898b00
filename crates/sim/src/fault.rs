//! Faults that experiments inject: a node that dies, a receiver that goes deaf, everywhere or on a channel.
//!
//! Does not model a half-sent frame: what is on the air when its sender dies goes on to its end.
//! Tests: `tests/whole.rs`.

use crate::air::ear;
use crate::queue::Rank;
use crate::radio::{Excursion, Mode};
use crate::world::{What, World};
use thalweg_medium::Deaf;
use thalweg_units::{Channel, SimTime};

/// What is wrong with a node from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Neither engine nor radio runs: nothing is heard, sent, handled or timed. Events and
    /// time-outs that come due meanwhile are given at once when it is healthy again.
    Dead,
    /// The receiver is on and hears nothing; all else works.
    Deaf {
        /// Until when.
        until: SimTime,
    },
    /// Something near the node drowns a channel: the receiver hears nothing there, and all else works.
    Jammed {
        /// Which.
        channel: Channel,
    },
    /// Nothing. The engine goes on from the state it had, the radio in the mode it had.
    Healthy,
}

impl World {
    pub(crate) fn fault(&mut self, n: usize, fault: Fault) {
        match fault {
            Fault::Dead => {
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
                    if self.radios[r].tuned {
                        self.radios[r].tuned = false;
                        self.radios[r].receiving_until = SimTime::ZERO;
                        self.medium.deafen(self.now, ear(r), Deaf::Busy);
                    }
                    let what = What::Undeafen { node: r as u32 };
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
                    if self.radios[r].tuned && there {
                        self.radios[r].tuned = false;
                        self.radios[r].receiving_until = SimTime::ZERO;
                        self.medium.deafen(self.now, ear(r), Deaf::Busy);
                    }
                }
            }
            Fault::Healthy => {
                let was_dead = self.radios[n].dead;
                for r in self.radios_of(n) {
                    self.radios[r].dead = false;
                    self.radios[r].deaf_until = None;
                    self.radios[r].jammed = None;
                    if !was_dead {
                        self.undeafen(r);
                    }
                }
                if was_dead {
                    self.revive(n);
                }
            }
        }
    }

    pub(crate) fn plan_fault(&mut self, at: SimTime, n: usize, fault: Fault) {
        let what = What::Strike {
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
            self.settle(r);
        }
        let now = self.now;
        for (node, telling) in std::mem::take(&mut self.held) {
            if self.node_of(node as usize) == n {
                self.queue
                    .push(now, Rank::Tell, What::Tell { node, telling });
            } else {
                self.held.push((node, telling));
            }
        }
        let local = self.timers[n].local.take();
        self.set_timeout(n, local);
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
