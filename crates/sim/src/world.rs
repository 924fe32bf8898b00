//! The world below the engines: radios, their event queue and the medium.
//!
//! Owns time, the queue, timers and what engines are told; operations are in `operations.rs`, the
//! states of radios and frames in `air.rs`. Not generic over engines. Time base: [`SimTime`]; calls
//! into the medium come in time order. Invariant: each telling is told once. Tests: `tests/`.

use crate::capture::{Capture, CaptureError};
use crate::fault::Fault;
use crate::queue::{Queue, Rank, Slab};
use crate::radio::Radio;
use crate::software::Mcu;
use crate::timeline::SpanHook;
use crate::trace::{Stats, TraceHook, Watch};
use thalweg_engine::{OpId, RadioEvent, Refusal};
use thalweg_medium::{EarId, Medium, Reception, TxId};
use thalweg_units::{Channel, Dbm, Instant, SimTime};
use thalweg_wire::FrameBuf;

/// A frame that was sent, kept while somebody may still be told of it.
pub(crate) struct Air {
    pub(crate) tx: TxId,
    /// The radio that sent it.
    pub(crate) from: usize,
    pub(crate) start: SimTime,
    pub(crate) sfd: SimTime,
    pub(crate) end: SimTime,
    pub(crate) channel: Channel,
    pub(crate) mpdu: FrameBuf,
    pub(crate) users: u32,
}

/// What an engine will be told.
pub(crate) enum Telling {
    Done(OpId),
    Sent(OpId, Instant),
    Refused(OpId, Refusal),
    Head {
        air: u32,
        bytes: u8,
        sfd: Instant,
        tuning: u32,
    },
    Frame {
        air: u32,
        bytes: u8,
        sfd: Instant,
        end: Instant,
        rssi: Dbm,
        lqi: u8,
    },
    Corrupt {
        sfd: Instant,
    },
}

/// `node` is a node's number in `Timer`, `Work`, `Background` and `Look`, else a radio's (see [`World::new`]).
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// A sleeping radio's oscillator starts, for a transmission.
    Wake {
        node: u32,
        token: u32,
    },
    Strobe {
        node: u32,
        token: u32,
    },
    Tune {
        node: u32,
        tuning: u32,
    },
    AirStart {
        node: u32,
        token: u32,
    },
    AirEnd {
        air: u32,
    },
    Head {
        node: u32,
        air: u32,
        tuning: u32,
    },
    Tell {
        node: u32,
        telling: u32,
    },
    Timer {
        node: u32,
    },
    /// A piece of a microcontroller's work ends.
    Work {
        node: u32,
        begun: u32,
    },
    Undeafen {
        node: u32,
    },
    /// A run of background work is due.
    Background {
        node: u32,
    },
    /// A bus or a microcontroller that was held may be free, or interrupts are on again.
    Look {
        node: u32,
    },
    /// A fault that was planned strikes.
    Strike {
        planned: u32,
    },
}

/// When a node wants its time-out, and the one event in the queue that stands for it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Timer {
    pub(crate) local: Option<Instant>,
    pub(crate) wanted: Option<SimTime>,
    pub(crate) armed: Option<SimTime>,
}

/// What comes next for the engines.
pub(crate) enum Next {
    /// A node is told something by radio `radio`: see [`World::told`].
    Tell { radio: usize, telling: u32 },
    /// Node `n`'s time-out.
    Timeout { node: usize },
    /// Nothing until the deadline.
    Beyond,
    /// Nothing, ever.
    Idle,
}

/// An engine asks for things at one instant without end.
pub(crate) struct Stuck {
    pub(crate) at: SimTime,
}

pub(crate) struct World {
    pub(crate) now: SimTime,
    pub(crate) stats: Stats,
    pub(crate) capture: Option<Box<dyn Capture>>,
    pub(crate) trace: Option<TraceHook>,
    pub(crate) watch: Option<Watch>,
    pub(crate) spans: Option<SpanHook>,
    pub(crate) failed: Option<CaptureError>,
    pub(crate) medium: Medium,
    pub(crate) queue: Queue<What>,
    /// The first radios of all nodes, then all second ones; so are the medium's ears.
    pub(crate) radios: Vec<Radio>,
    pub(crate) mcus: Vec<Mcu>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) airs: Slab<Air>,
    /// Of these, what has not ended.
    pub(crate) on_air: Vec<u32>,
    pub(crate) tellings: Slab<Telling>,
    /// What dead nodes are owed.
    /// Faults to come, and those that came.
    pub(crate) planned: Vec<(usize, Fault)>,
    pub(crate) held: Vec<(u32, u32)>,
    pub(crate) locked: Vec<EarId>,
    pub(crate) received: Vec<Reception>,
    /// Events since time last moved.
    pub(crate) standing: u64,
}

impl World {
    /// `radios` holds the first radios of all `nodes` nodes, then all second ones.
    pub(crate) fn new(medium: Medium, radios: Vec<Radio>, nodes: usize) -> Self {
        let timers = vec![Timer::default(); nodes];
        let mcus = (0..nodes).map(|_| Mcu::default()).collect();
        Self {
            now: SimTime::ZERO,
            stats: Stats::default(),
            capture: None,
            trace: None,
            watch: None,
            spans: None,
            failed: None,
            medium,
            queue: Queue::new(),
            radios,
            mcus,
            timers,
            airs: Slab::new(),
            on_air: Vec::new(),
            tellings: Slab::new(),
            planned: Vec::new(),
            held: Vec::new(),
            locked: Vec::new(),
            received: Vec::new(),
            standing: 0,
        }
    }

    #[cfg(test)]
    pub(crate) fn is_clean(&self) -> bool {
        self.airs.len() == 0 && self.tellings.len() == 0 && self.held.is_empty()
    }
    /// The node that radio `r` belongs to. A node's first radio has the node's own number.
    pub(crate) fn node_of(&self, r: usize) -> usize {
        r % self.mcus.len().max(1)
    }
    /// The radios of node `n`, first one first.
    pub(crate) fn radios_of(&self, n: usize) -> impl Iterator<Item = usize> {
        (n..self.radios.len()).step_by(self.mcus.len().max(1))
    }
    pub(crate) fn radio(&self, n: usize) -> &Radio {
        &self.radios[n]
    }
    pub(crate) fn local(&self, n: usize) -> Instant {
        self.radios[n].read(self.now)
    }
    /// The microcontroller of node `n` handles something now.
    pub(crate) fn handled(&mut self, n: usize) {
        let until = self.now + self.radios[n].board.handler;
        self.radios[n].meter.mcu(self.now, until);
    }

    /// Lets things happen until one of them is for an engine, or until `deadline`.
    pub(crate) fn next(&mut self, deadline: SimTime) -> Result<Next, Stuck> {
        loop {
            let Some((at, what)) = self.queue.peek() else {
                return Ok(Next::Idle);
            };
            if let What::Timer { node } = *what {
                let n = node as usize;
                if self.timers[n].armed != Some(at) || self.timers[n].wanted != Some(at) {
                    self.queue.pop();
                    self.rearm(n, at);
                    continue;
                }
            }
            if at > deadline {
                return Ok(Next::Beyond);
            }
            self.stats.events += 1;
            self.standing = if at == self.now { self.standing + 1 } else { 0 };
            if self.standing > 65_536 + 1_024 * self.radios.len() as u64 {
                return Err(Stuck { at });
            }
            self.now = at;
            let Some((_, what)) = self.queue.pop() else {
                continue;
            };
            match what {
                What::Wake { node, token } => self.wake(node as usize, token),
                What::Strobe { node, token } => self.strobe(node as usize, token),
                What::Tune { node, tuning } => self.tune(node as usize, tuning),
                What::AirStart { node, token } => self.air_start(node as usize, token),
                What::AirEnd { air } => self.air_end(air),
                What::Head { node, air, tuning } => self.head(node as usize, air, tuning),
                What::Work { node, begun } => self.end_work(node as usize, begun),
                What::Undeafen { node } => self.undeafen(node as usize),
                What::Background { node } => self.background_due(node as usize),
                What::Look { node } => self.begin_work(node as usize),
                What::Strike { planned } => self.strike(planned as usize),
                What::Tell { node, telling } => {
                    if self.radios[node as usize].dead {
                        self.held.push((node, telling));
                    } else if !self.is_stale(node as usize, telling) {
                        return Ok(Next::Tell {
                            radio: node as usize,
                            telling,
                        });
                    }
                }
                What::Timer { node } => {
                    let n = node as usize;
                    self.timers[n].armed = None;
                    if !self.radios[n].dead {
                        self.timers[n].wanted = None;
                        self.timers[n].local = None;
                        self.pass_timeout(n);
                        return Ok(Next::Timeout { node: n });
                    }
                }
            }
            if self.failed.is_some() {
                return Ok(Next::Beyond);
            }
        }
    }

    /// Node `n` wants its next time-out at `local`.
    pub(crate) fn set_timeout(&mut self, n: usize, local: Option<Instant>) {
        let timer = &mut self.timers[n];
        if timer.local == local {
            return;
        }
        timer.local = local;
        timer.wanted = local.map(|l| self.radios[n].clock.when(l).max(self.now));
        // An event that comes too soon is moved on when it comes, so that an engine that puts off
        // its time-out with every frame does not fill the queue.
        if let Some(wanted) = timer.wanted {
            if timer.armed.is_none_or(|armed| armed > wanted) {
                timer.armed = Some(wanted);
                self.queue
                    .push(wanted, Rank::Timeout, What::Timer { node: n as u32 });
            }
        }
    }

    /// The timer event of `at` is gone from the queue and was not due.
    fn rearm(&mut self, n: usize, at: SimTime) {
        let timer = &mut self.timers[n];
        if timer.armed != Some(at) {
            return; // one that was overtaken by a sooner one
        }
        timer.armed = timer.wanted;
        if let Some(wanted) = timer.wanted {
            self.queue
                .push(wanted, Rank::Timeout, What::Timer { node: n as u32 });
        }
    }

    pub(crate) fn tell(&mut self, n: usize, at: SimTime, telling: Telling) {
        let telling = self.tellings.insert(telling);
        self.queue.push(
            at,
            Rank::Tell,
            What::Tell {
                node: n as u32,
                telling,
            },
        );
    }
    pub(crate) fn refuse(&mut self, n: usize, id: OpId, why: Refusal) {
        self.tell(n, self.now, Telling::Refused(id, why));
    }
    pub(crate) fn done(&mut self, n: usize, at: SimTime, id: OpId) {
        self.tell(n, at, Telling::Done(id));
    }
    /// A head of a frame that was aborted meanwhile is not told.
    fn is_stale(&mut self, n: usize, telling: u32) -> bool {
        let stale = match self.tellings.get(telling) {
            Some(Telling::Head { tuning, .. }) => *tuning != self.radios[n].tuning,
            Some(_) => false,
            None => true,
        };
        if stale {
            self.told(telling, |_| ());
        }
        stale
    }
    /// Gives the event named `telling` to `handle`, and forgets it.
    pub(crate) fn told(&mut self, telling: u32, handle: impl FnOnce(RadioEvent<'_>)) {
        let Some(telling) = self.tellings.remove(telling) else {
            return;
        };
        let air = match telling {
            Telling::Done(op) => return handle(RadioEvent::Done { op }),
            Telling::Sent(op, sfd) => return handle(RadioEvent::Sent { op, sfd }),
            Telling::Refused(op, why) => return handle(RadioEvent::Refused { op, why }),
            Telling::Corrupt { sfd } => return handle(RadioEvent::Corrupt { sfd }),
            Telling::Head {
                air, bytes, sfd, ..
            } => {
                if let Some(frame) = self.airs.get(air) {
                    let bytes = &frame.mpdu[..usize::from(bytes)];
                    handle(RadioEvent::Head { bytes, sfd });
                }
                air
            }
            Telling::Frame {
                air,
                bytes,
                sfd,
                end,
                rssi,
                lqi,
            } => {
                if let Some(frame) = self.airs.get(air) {
                    handle(RadioEvent::Frame {
                        mpdu: &frame.mpdu[..usize::from(bytes)],
                        sfd,
                        end,
                        rssi,
                        lqi,
                    });
                }
                air
            }
        };
        self.release(air);
    }
    pub(crate) fn release(&mut self, air: u32) {
        let Some(frame) = self.airs.get_mut(air) else {
            return;
        };
        frame.users -= 1;
        if frame.users == 0 {
            self.airs.remove(air);
        }
    }
}
