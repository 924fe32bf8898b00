//! What operations do: accepted, refused, superseded.
//!
//! The contract is [`thalweg_engine::RadioOp`]'s. Refused operations change nothing. A frame is
//! taken from the buffer when `Transmit` is asked for. Tests: `tests/contract.rs`,
//! `tests/random_operations.rs`.

use crate::conditional::conditional;
use crate::queue::Rank;
use crate::radio::{Excursion, Filling, Mode, Pending, Trigger};
use crate::software::Deferred;
use crate::timeline::Activity;
use crate::world::{What, World};
use thalweg_engine::{Cca, OpId, RadioId, RadioOp, Refusal, Request, TxSlot, When};
use thalweg_units::{Channel, SimTime};
use thalweg_wire::FrameBuf;

/// What dropping a pending transmission left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    Nothing,
    /// The radio was away or awake for it.
    MustSettle,
}

/// A transmission that is asked for.
pub(crate) struct Shot {
    pub(crate) id: OpId,
    pub(crate) frame: FrameBuf,
    pub(crate) filling: Filling,
    pub(crate) channel: Channel,
    pub(crate) when: When,
    pub(crate) cca: Cca,
}

impl World {
    /// Takes an operation of node `n`, now.
    pub(crate) fn submit(&mut self, n: usize, request: Request<'_>) {
        let (now, id, node) = (self.now, request.id, n);
        let n = n + usize::from(request.radio.0) * self.mcus.len();
        if n >= self.radios.len() {
            return self.refuse(node, id, Refusal::NoSuch);
        }
        let request = Request {
            radio: RadioId(0),
            ..request
        };
        if let Some(channel) = channel_of(&request.op) {
            if !self.radios[n].board.chip.has_channel(channel) {
                return self.refuse(n, id, Refusal::NoSuch);
            }
        }
        if self.radios[n].board.timing.software.is_serial() {
            return self.defer(n, request);
        }
        match request.op {
            RadioOp::Load { slot, .. }
            | RadioOp::Transmit { slot, .. }
            | RadioOp::Conditional { slot, .. }
                if slot != TxSlot(0) =>
            {
                self.refuse(n, id, Refusal::NoSuch);
            }
            RadioOp::Load { mpdu, .. } => {
                let Some(frame) = frame(mpdu) else {
                    return self.refuse(n, id, Refusal::BadLength);
                };
                let radio = &mut self.radios[n];
                let from = now.max(radio.bus_until);
                let until = from + radio.copy_time(mpdu.len());
                radio.slot = Some(frame);
                radio.bus_until = until;
                self.radios[node].meter.mcu(from, until);
                self.span(n, from, until, Activity::Load, None, Some(mpdu));
                self.overwritten(n);
                self.done(n, until, id);
            }
            RadioOp::Transmit {
                channel, when, cca, ..
            } => self.carry_out(n, id, Deferred::Transmit { channel, when, cca }),
            RadioOp::Conditional {
                condition,
                channel,
                cca,
                ..
            } => match conditional(condition, channel, cca) {
                Some(op) => self.carry_out(n, id, op),
                None => self.refuse(n, id, Refusal::BadLength),
            },
            RadioOp::Readout { bytes } => self.carry_out(n, id, Deferred::Readout(bytes)),
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => match frame(mpdu) {
                Some(frame) => {
                    let filling = Filling::Streamed;
                    self.send(
                        n,
                        Shot {
                            id,
                            frame,
                            filling,
                            channel,
                            when,
                            cca,
                        },
                    );
                }
                None => self.refuse(n, id, Refusal::BadLength),
            },
            RadioOp::Listen {
                channel,
                head_bytes,
            } => {
                let op = Deferred::Listen {
                    channel,
                    head_bytes,
                };
                self.carry_out(n, id, op);
            }
            RadioOp::Sleep => self.carry_out(n, id, Deferred::Sleep),
            RadioOp::Cancel => self.carry_out(n, id, Deferred::Cancel),
            RadioOp::Sense
            | RadioOp::Assess(_)
            | RadioOp::Acknowledge { .. }
            | RadioOp::Hear(_)
            | RadioOp::Preamble { .. } => self.refuse(n, id, Refusal::NoSuch),
            RadioOp::Answer(answering) => self.carry_out(n, id, Deferred::Answer(answering)),
        }
    }

    /// Lets an operation take effect, now.
    pub(crate) fn carry_out(&mut self, n: usize, id: OpId, op: Deferred) {
        let now = self.now;
        match op {
            Deferred::Transmit { channel, when, cca } => match self.radios[n].slot {
                Some(frame) => {
                    let filling = Filling::Loaded;
                    self.send(
                        n,
                        Shot {
                            id,
                            frame,
                            filling,
                            channel,
                            when,
                            cca,
                        },
                    );
                }
                None => self.refuse(n, id, Refusal::Empty),
            },
            Deferred::Answer(answering) => {
                self.radios[n].answering = answering;
                self.done(n, now, id);
            }
            Deferred::Conditional { .. } => self.await_condition(n, id, op),
            Deferred::Readout(bytes) => {
                self.radios[n].readout = bytes;
                self.done(n, now, id);
            }
            Deferred::Listen {
                channel,
                head_bytes,
            } => {
                self.radios[n].mode = Mode::Listen {
                    channel,
                    head_bytes,
                };
                self.stop_receiving(n);
                let on = match self.radios[n].excursion {
                    Excursion::No => self.begin_tuning(n),
                    Excursion::Strobed | Excursion::OnAir { .. } => now,
                };
                self.done(n, on, id);
            }
            Deferred::Sleep => {
                self.radios[n].mode = Mode::Sleep;
                self.stop_receiving(n);
                self.drop_pending(n);
                self.drop_conditional(n);
                self.settle(n);
                self.done(n, now, id);
            }
            Deferred::Cancel => {
                self.drop_conditional(n);
                if self.drop_pending(n) == Dropped::MustSettle {
                    self.settle(n);
                }
                self.done(n, now, id);
            }
        }
    }

    /// Accepts a transmission, or refuses it.
    pub(crate) fn send(&mut self, n: usize, shot: Shot) {
        let Shot {
            id,
            frame,
            filling,
            channel,
            when,
            cca,
        } = shot;
        let now = self.now;
        let last_rx_end = match when {
            When::AfterRxOn { radio, .. } => self.last_rx_end_on(n, radio),
            _ => self.radios[n].last_rx_end,
        };
        let radio = &mut self.radios[n];
        let turnaround = radio.board.timing.turnaround;
        let soonest = match cca {
            Cca::Skip => radio.soonest_strobe(now),
            Cca::Require => radio.soonest_look(now, channel),
        };
        let ready = soonest + turnaround;
        let nominal = match when {
            When::Now => ready,
            When::At(sfd) => radio
                .clock
                .when(sfd)
                .saturating_sub(radio.board.chip.phy.sfd_offset()),
            When::AfterRx(gap) | When::AfterRxOn { gap, .. } => match last_rx_end {
                Some(end) => radio.clock.after(end, gap),
                None => return self.refuse(n, id, Refusal::Empty),
            },
        };
        if nominal < ready {
            let why = Refusal::Late {
                by: ready.since(nominal),
            };
            return self.refuse(n, id, why);
        }
        let start = match when {
            // Software is late, never early.
            When::Now => {
                let shifted = radio.with_software_jitter(nominal);
                nominal + nominal.since(shifted).max(shifted.since(nominal))
            }
            When::At(_) => radio.with_software_jitter(nominal).max(ready),
            // Armed in hardware, which may be early by its own rounding.
            When::AfterRx(_) | When::AfterRxOn { .. } => radio.with_sync_jitter(nominal),
        };
        let trigger = match when {
            When::Now => Trigger::Software,
            When::At(_) | When::AfterRx(_) | When::AfterRxOn { .. } => Trigger::Timer,
        };
        let strobe = start.saturating_sub(turnaround).max(soonest);
        radio.tokens = radio.tokens.wrapping_add(1);
        let token = radio.tokens;
        if filling == Filling::Streamed {
            radio.slot = Some(frame);
            self.overwritten(n);
        }
        let dropped = self.drop_pending(n);
        self.radios[n].pending = Some(Pending {
            id: Some(id),
            token,
            strobe,
            start,
            channel,
            cca,
            filling,
            trigger,
            frame,
        });
        let node = n as u32;
        if dropped == Dropped::MustSettle || self.radios[n].mode == Mode::Sleep {
            self.settle(n);
        }
        self.queue
            .push(strobe, Rank::Turn, What::Strobe { node, token });
    }

    /// When the frame ended that radio `which` of the node with radio `n` received last.
    fn last_rx_end_on(&self, n: usize, which: RadioId) -> Option<SimTime> {
        let other = self.node_of(n) + usize::from(which.0) * self.mcus.len();
        self.radios.get(other)?.last_rx_end
    }

    /// Answers the pending transmission, if there is one, that it will not be.
    pub(crate) fn drop_pending(&mut self, n: usize) -> Dropped {
        let Some(pending) = self.radios[n].pending.take() else {
            return Dropped::Nothing;
        };
        if let Some(id) = pending.id {
            self.refuse(n, id, Refusal::Superseded);
        }
        let radio = &mut self.radios[n];
        let strobed = radio.excursion == Excursion::Strobed;
        if strobed {
            radio.excursion = Excursion::No;
        }
        if strobed || radio.mode == Mode::Sleep {
            Dropped::MustSettle
        } else {
            Dropped::Nothing
        }
    }
}

/// The channel that an operation names.
fn channel_of(op: &RadioOp<'_>) -> Option<Channel> {
    match op {
        RadioOp::Transmit { channel, .. }
        | RadioOp::Stream { channel, .. }
        | RadioOp::Conditional { channel, .. }
        | RadioOp::Listen { channel, .. } => Some(*channel),
        _ => None,
    }
}

pub(crate) fn frame(mpdu: &[u8]) -> Option<FrameBuf> {
    FrameBuf::from_slice(mpdu)
        .ok()
        .filter(|frame| !frame.is_empty())
}
