//! What operations do in a contention network, and how a radio goes through a transmission:
//! assessing, turning round, sending, turning back.

use super::{Air, Doing, Inner, Kind, Looking, Mode, Pending, Telling, Wakes, What};
use crate::queue::Rank;
use thalweg_engine::{
    Activity, Assessment, Cca, OpId, RadioEvent, RadioId, RadioOp, Refusal, Request, TxSlot, When,
};
use thalweg_medium::ether::{Form, Sending};
use thalweg_medium::EarId;
use thalweg_units::{Duration, Instant, SimTime};
use thalweg_wire::{addressed, FrameBuf};

/// A frame that is asked for.
struct Shot<'a> {
    op: OpId,
    mpdu: &'a [u8],
    kind: Kind,
    when: When,
    cca: Cca,
}

impl Inner {
    /// Takes an operation of node `n`, now.
    pub(super) fn submit(&mut self, n: usize, request: Request<'_>) {
        let op = request.id;
        if request.radio != RadioId(0) {
            return self.refuse(n, op, Refusal::NoSuch);
        }
        match request.op {
            RadioOp::Listen { channel, .. } => {
                if channel != self.channel {
                    return self.refuse(n, op, Refusal::NoSuch);
                }
                let now = self.now;
                let node = &mut self.nodes[n];
                node.mode = Mode::Listen;
                let slept = node.sleeps_since.take();
                if let Some(since) = slept {
                    node.asleep += now.since(since);
                }
                let waits = self.board.wakes == Wakes::WhenAsked;
                let is_cold = slept.is_some() && node.doing == Doing::Nothing;
                if (waits && is_cold) || node.doing == Doing::Starting {
                    return self.start_up(n, op);
                }
                if node.doing == Doing::Nothing {
                    self.ether.listen(now, Self::ear(n));
                }
                self.done(n, op);
            }
            RadioOp::Sleep => {
                self.drop_pending(n);
                self.drop_start(n);
                self.drop_looking(n);
                let now = self.now;
                let node = &mut self.nodes[n];
                node.mode = Mode::Sleep;
                node.sleeps_since.get_or_insert(now);
                self.ether.deafen(Self::ear(n));
                self.done(n, op);
            }
            RadioOp::Cancel => {
                self.drop_pending(n);
                self.drop_looking(n);
                self.done(n, op);
            }
            // Bytes reach the microcontroller as they come: there is nothing to read out, a condition
            // is what the engine makes of a frame, and acknowledgements are its own.
            RadioOp::Conditional { .. } | RadioOp::Readout { .. } | RadioOp::Answer(_) => {
                self.refuse(n, op, Refusal::NoSuch);
            }
            RadioOp::Sense => self.tellings.push_back((n as u32, Telling::Sensed(op))),
            RadioOp::Assess(assessment) => {
                self.drop_looking(n);
                self.nodes[n].looking = Some(Looking {
                    op,
                    assessment,
                    left: assessment.looks,
                    due: self.now,
                });
                self.tellings.push_back((n as u32, Telling::Look(op)));
            }
            RadioOp::Hear(hear) => {
                self.nodes[n].hear = hear;
                self.done(n, op);
            }
            RadioOp::Preamble { bytes } => {
                self.nodes[n].preamble = bytes;
                self.done(n, op);
            }
            RadioOp::Load { slot, mpdu } => {
                let (TxSlot(0), Some(frame)) = (slot, checked(mpdu)) else {
                    return self.refuse(n, op, Refusal::BadLength);
                };
                let now = self.now.as_nanos();
                let cost = self.board.load_byte.as_nanos() * mpdu.len() as u64;
                let node = &mut self.nodes[n];
                node.slot = Some(frame);
                node.bus_until = node.bus_until.max(now) + cost;
                let at = SimTime::from_nanos(node.bus_until);
                let node = n as u32;
                self.queue.push(at, Rank::Tell, What::Loaded { node, op });
            }
            RadioOp::Transmit { when, cca, .. } => match self.nodes[n].slot {
                Some(frame) => {
                    let (mpdu, kind) = (&*frame, Kind::Data);
                    self.send(
                        n,
                        Shot {
                            op,
                            mpdu,
                            kind,
                            when,
                            cca,
                        },
                    );
                }
                None => self.refuse(n, op, Refusal::Empty),
            },
            RadioOp::Stream {
                mpdu, when, cca, ..
            } => {
                let kind = Kind::Data;
                self.send(
                    n,
                    Shot {
                        op,
                        mpdu,
                        kind,
                        when,
                        cca,
                    },
                );
            }
            RadioOp::Acknowledge { mpdu } => {
                let when = When::AfterRx(self.board.acknowledgement.gap);
                let (kind, cca) = (Kind::Acknowledgement, Cca::Skip);
                self.send(
                    n,
                    Shot {
                        op,
                        mpdu,
                        kind,
                        when,
                        cca,
                    },
                );
            }
        }
    }

    /// The sleeping receiver of `n` starts up, or goes on doing so for another operation.
    fn start_up(&mut self, n: usize, op: OpId) {
        let (now, length) = (self.now, self.board.start_up);
        let node = &mut self.nodes[n];
        if let Some(old) = node.starts.replace(op) {
            return self.refuse(n, old, Refusal::Superseded);
        }
        node.doing = Doing::Starting;
        node.token = node.token.wrapping_add(1);
        let (node, token) = (n as u32, node.token);
        self.queue
            .push(now + length, Rank::Turn, What::Started { node, token });
    }

    pub(super) fn started(&mut self, n: usize, token: u32) {
        let node = &mut self.nodes[n];
        if node.token != token || node.doing != Doing::Starting {
            return;
        }
        node.doing = Doing::Nothing;
        let op = node.starts.take();
        self.back(n);
        if let Some(op) = op {
            self.done(n, op);
        }
    }

    fn drop_start(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        if let Some(op) = node.starts.take() {
            node.doing = Doing::Nothing;
            self.refuse(n, op, Refusal::Superseded);
        }
    }

    fn send(&mut self, n: usize, shot: Shot<'_>) {
        let Some(frame) = checked(shot.mpdu) else {
            return self.refuse(n, shot.op, Refusal::BadLength);
        };
        if self.nodes[n].doing == Doing::Sending {
            return self.refuse(n, shot.op, Refusal::Superseded);
        }
        if self.nodes[n].doing == Doing::Starting {
            let by = self.board.start_up;
            return self.refuse(n, shot.op, Refusal::Late { by });
        }
        let now = self.now;
        let turnaround = self.board.turnaround;
        let start = match shot.when {
            When::Now => None,
            When::At(sfd) => Some(
                SimTime::from_nanos(sfd.as_nanos())
                    .saturating_sub(self.board.chip.phy.sfd_offset()),
            ),
            // These nodes have one radio.
            When::AfterRxOn { radio, .. } if radio != RadioId(0) => {
                return self.refuse(n, shot.op, Refusal::Empty)
            }
            When::AfterRx(gap) | When::AfterRxOn { gap, .. } => match self.nodes[n].last_rx_end {
                Some(end) => Some(SimTime::from_nanos(end) + gap),
                None => return self.refuse(n, shot.op, Refusal::Empty),
            },
        };
        if let Some(start) = start.filter(|start| *start < now + turnaround) {
            let by = (now + turnaround).since(start);
            return self.refuse(n, shot.op, Refusal::Late { by });
        }
        let looks = shot.cca == Cca::Require;
        let busy_before = looks && self.is_busy(n);
        if looks && self.board.cca.is_zero() && busy_before {
            return self.refuse(n, shot.op, Refusal::ChannelBusy);
        }
        self.drop_pending(n);
        let node = &mut self.nodes[n];
        node.token = node.token.wrapping_add(1);
        node.doing = Doing::Preparing;
        node.pending = Some(Pending {
            op: shot.op,
            kind: shot.kind,
            frame,
            busy_before,
        });
        let (node, token) = (n as u32, node.token);
        if looks && !self.board.cca.is_zero() {
            let at = now + self.board.cca;
            let what = What::Assessed { node, token };
            return self.queue.push(at, Rank::Turn, what);
        }
        let start = start.unwrap_or(now + turnaround);
        // The receiver is lost as soon as it turns round.
        self.ether.deafen(EarId(node));
        let what = What::Start { node, token };
        self.queue.push(start, Rank::AirStart, what);
    }

    /// The channel was looked at for long enough.
    pub(super) fn assessed(&mut self, n: usize, token: u32) {
        if self.nodes[n].token != token || self.nodes[n].doing != Doing::Preparing {
            return;
        }
        let busy = self.is_busy(n);
        let node = &mut self.nodes[n];
        let Some(pending) = &node.pending else { return };
        if busy || pending.busy_before {
            let op = pending.op;
            node.pending = None;
            node.doing = Doing::Nothing;
            return self.refuse(n, op, Refusal::ChannelBusy);
        }
        self.ether.deafen(Self::ear(n));
        let at = self.now + self.board.turnaround;
        let node = n as u32;
        self.queue
            .push(at, Rank::AirStart, What::Start { node, token });
    }

    pub(super) fn start(&mut self, n: usize, token: u32) {
        let node = &mut self.nodes[n];
        if node.token != token || node.doing != Doing::Preparing {
            return;
        }
        let Some(pending) = node.pending.take() else {
            return;
        };
        node.doing = Doing::Sending;
        let phy = self.board.chip.phy;
        let byte = phy.symbol * u64::from(phy.symbols_per_byte);
        let (air, form) = match pending.kind {
            Kind::Acknowledgement => {
                let ack = self.board.acknowledgement;
                (ack.air, ack.form)
            }
            Kind::Data => {
                let more = u64::from(node.preamble) * byte.as_nanos();
                let usual = u64::from(phy.preamble_bytes) * byte.as_nanos();
                let air = phy.air_time(pending.frame.len()).as_nanos() + more - usual;
                (Duration::from_nanos(air), Form::Preamble(node.preamble))
            }
        };
        node.sent += air;
        self.stats.air_frames += 1;
        let to = match pending.kind {
            Kind::Acknowledgement => self.nodes[n].last_rx_from,
            Kind::Data => addressed::destination(&pending.frame).and_then(|to| {
                let found = self.by_address.get(usize::from(to.get()));
                found.copied().flatten()
            }),
        };
        let from = n as u32;
        let on_air = self.ether.begin(
            self.now,
            Sending {
                from: EarId(from),
                to: to.map(EarId),
                power: self.board.tx_power,
                form,
                air,
            },
        );
        let lead = match form {
            Form::Preamble(bytes) => byte * u64::from(u32::from(bytes) + phy.sfd_bytes),
            Form::Expected => Duration::ZERO,
        };
        let air_index = self.airs.insert(Air {
            on_air,
            from,
            to,
            op: pending.op,
            kind: pending.kind,
            start: self.now,
            sfd: self.now + lead,
            frame: pending.frame,
        });
        let what = What::End { air: air_index };
        self.queue.push(self.now + air, Rank::AirEnd, what);
    }

    /// Node `n`'s frame has ended: it turns back.
    pub(super) fn sent(&mut self, n: usize) {
        let at = self.now + self.board.turnaround;
        let node = &mut self.nodes[n];
        node.doing = Doing::Returning;
        let (node, token) = (n as u32, node.token);
        self.queue
            .push(at, Rank::Turn, What::Returned { node, token });
    }

    pub(super) fn returned(&mut self, n: usize, token: u32) {
        let node = &mut self.nodes[n];
        if node.token == token && node.doing == Doing::Returning {
            node.doing = Doing::Nothing;
            self.back(n);
        }
    }

    fn back(&mut self, n: usize) {
        if self.nodes[n].mode == Mode::Listen {
            self.ether.listen(self.now, Self::ear(n));
        }
    }

    fn drop_pending(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        if let Some(pending) = node.pending.take() {
            node.doing = Doing::Nothing;
            node.token = node.token.wrapping_add(1);
            self.refuse(n, pending.op, Refusal::Superseded);
            self.back(n);
        }
    }

    /// Hardware's assessment: energy above the threshold, or a frame being received (IEEE
    /// 802.15.4-2006, 6.9.9, mode 3 with "or", as the CC2420 and ns-3 have it).
    fn is_busy(&self, n: usize) -> bool {
        let ear = Self::ear(n);
        self.ether.receiving_since(ear).is_some() || self.ether.sensed(ear).0 >= self.cca_mw
    }

    /// What `Sense` says, when the engine is told.
    pub(super) fn sensed(&mut self, n: usize, op: OpId) -> RadioEvent<'static> {
        let activity = match self.ether.receiving_since(Self::ear(n)) {
            Some(since) => Activity::Receiving {
                since: Instant::from_nanos(since.as_nanos()),
            },
            None => Activity::Idle,
        };
        RadioEvent::Sensed {
            op,
            power: self.meter.read(
                self.ether.sensed(Self::ear(n)),
                &mut self.nodes[n].fluctuation,
            ),
            activity,
        }
    }

    /// The next look of node `n`'s assessment `op`, if that still goes on: its answer, where it is the last.
    pub(super) fn look(&mut self, n: usize, op: OpId) -> Option<RadioEvent<'static>> {
        let looking = self.nodes[n].looking?;
        if looking.op != op || looking.due != self.now {
            return None; // one that was ended
        }
        let event = self.sensed(n, op);
        let RadioEvent::Sensed {
            power, activity, ..
        } = event
        else {
            return None;
        };
        let Assessment { between, clear, .. } = looking.assessment;
        if activity == Activity::Idle && power.0 > clear.0 && looking.left > 1 {
            let due = self.now + between;
            self.nodes[n].looking = Some(Looking {
                left: looking.left - 1,
                due,
                ..looking
            });
            let node = n as u32;
            self.queue.push(due, Rank::Timeout, What::Look { node, op });
            return None;
        }
        self.nodes[n].looking = None;
        Some(event)
    }

    fn drop_looking(&mut self, n: usize) {
        if let Some(looking) = self.nodes[n].looking.take() {
            self.refuse(n, looking.op, Refusal::Superseded);
        }
    }

    fn refuse(&mut self, n: usize, op: OpId, why: Refusal) {
        self.tellings
            .push_back((n as u32, Telling::Refused(op, why)));
    }
    fn done(&mut self, n: usize, op: OpId) {
        self.tellings.push_back((n as u32, Telling::Done(op)));
    }
}

fn checked(mpdu: &[u8]) -> Option<FrameBuf> {
    FrameBuf::from_slice(mpdu)
        .ok()
        .filter(|frame| !frame.is_empty())
}
