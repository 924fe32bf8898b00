//! What operations do: accepted, refused, superseded.
//!
//! The contract is [`thalweg_engine::RadioOp`]'s. Refused operations change nothing. A frame is
//! taken from the buffer when `Transmit` is submitted. Tests: `tests/contract.rs`,
//! `tests/random_operations.rs`.

use crate::hooks::{Activity, Kind};
use crate::queue::Rank;
use crate::radio::{frame, CcaStep, Excursion, Filling, Mode, Pending, Radio, Trigger};
use crate::world::{Event, Notice, World};
use thalweg_engine::{Cca, Condition, OpId, RadioId, RadioOp, Refusal, Request, When};
use thalweg_medium::Air;
use thalweg_units::{Channel, SimTime};
use thalweg_wire::phy;

impl<A: Air> World<A> {
    /// Takes an operation of node `n`, now.
    #[inline]
    pub(crate) fn submit(&mut self, n: usize, request: Request<'_>) {
        let id = request.id;
        let r = match request.radio {
            RadioId(0) => n,
            RadioId(other) => n + usize::from(other) * self.mcus.len(),
        };
        let Some(radio) = self.radios.get(r) else {
            return self.refuse(n, id, Refusal::NoSuch);
        };
        if !radio.caps.allows(&request.op) {
            return self.refuse(r, id, Refusal::NoSuch);
        }
        let bytes = request.op.bytes().len();
        let may_be = match request.op {
            RadioOp::Load { .. } | RadioOp::Stream { .. } | RadioOp::Acknowledge { .. } => {
                1..=phy::MAX_MPDU
            }
            _ => 0..=Condition::MAX_BYTES,
        };
        if !may_be.contains(&bytes) {
            self.refuse(r, id, Refusal::BadLength);
        } else if radio.board.timing.software.is_serial() {
            self.defer(r, id, request.op);
        } else {
            self.carry_out(r, id, request.op);
        }
    }

    /// Lets an operation take effect, now.
    pub(crate) fn carry_out(&mut self, n: usize, id: OpId, op: RadioOp<'_>) {
        let now = self.now;
        match op {
            RadioOp::Load { mpdu, .. } => self.load(n, id, mpdu),
            RadioOp::Transmit {
                channel, when, cca, ..
            } => match self.radios[n].slot {
                Some(frame) => {
                    let at = (channel, when, cca);
                    self.send(n, id, &frame, Filling::Loaded, at);
                }
                None => self.refuse(n, id, Refusal::Empty),
            },
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => self.send(n, id, mpdu, Filling::Streamed, (channel, when, cca)),
            RadioOp::Conditional {
                condition,
                channel,
                cca,
                ..
            } => self.await_condition(n, id, condition, (channel, cca)),
            RadioOp::Acknowledge { mpdu } => self.acknowledge_asked(n, id, mpdu),
            RadioOp::Sense => self.notify(n, now, Notice::Sense(id)),
            RadioOp::Assess(assessment) => self.assess(n, id, assessment),
            RadioOp::Listen {
                channel,
                head_bytes,
            } => self.listen(n, id, (channel, head_bytes)),
            RadioOp::Sleep => self.sleep(n, id),
            RadioOp::Cancel => {
                self.drop_conditional(n);
                self.take_back(n);
                self.drop_assessment(n);
                self.done(n, now, id);
            }
            RadioOp::Readout { bytes } => {
                self.radios[n].readout = bytes;
                self.done(n, now, id);
            }
            RadioOp::Hear(hear) => {
                self.filters[n].hear = hear;
                self.done(n, now, id);
            }
            RadioOp::Preamble { bytes } => {
                self.radios[n].preamble = bytes;
                self.done(n, now, id);
            }
            RadioOp::Answer(answering) => {
                self.radios[n].answering = answering;
                self.done(n, now, id);
            }
        }
    }

    fn listen(&mut self, n: usize, id: OpId, (channel, head_bytes): (Channel, u8)) {
        self.radios[n].mode = Mode::Listen {
            channel,
            head_bytes,
        };
        self.radios[n].aimed_at = Some(channel);
        self.stop_receiving(n);
        if self.radios[n].excursion == Excursion::No {
            let on = self.begin_tuning(n);
            self.notify(n, on, Notice::On(id));
        } else {
            self.done(n, self.now, id);
        }
    }

    fn sleep(&mut self, n: usize, id: OpId) {
        self.radios[n].mode = Mode::Sleep;
        self.stop_receiving(n);
        self.drop_pending(n);
        self.drop_conditional(n);
        self.drop_assessment(n);
        self.settle(n);
        self.done(n, self.now, id);
    }

    /// Copies a frame into the buffer, on boards where nothing waits for that.
    fn load(&mut self, n: usize, id: OpId, mpdu: &[u8]) {
        let node = self.node_of(n);
        let radio = &mut self.radios[n];
        let from = self.now.max(radio.bus_until);
        let until = from + radio.copy_time(mpdu.len());
        radio.slot = Some(frame(mpdu));
        radio.bus_until = until;
        self.radios[node].meter.mcu(from, until);
        self.span(n, from, until, Activity::Load, None, Some(mpdu));
        self.overwritten(n);
        self.done(n, until, id);
    }

    /// Accepts a transmission on a channel, at its time, after a clear channel assessment or not; or refuses it.
    pub(crate) fn send(
        &mut self,
        n: usize,
        id: OpId,
        mpdu: &[u8],
        filling: Filling,
        (channel, when, cca): (Channel, When, Cca),
    ) {
        let now = self.now;
        let last_rx_end = self.filters[n].last_rx.map(|last| last.end);
        let radio = &mut self.radios[n];
        let turnaround = radio.board.timing.turnaround;
        let soonest = match cca {
            Cca::Skip => radio.soonest_strobe(now),
            Cca::Require => radio.soonest_cca(now, channel) + radio.board.cca,
        };
        let ready = soonest + turnaround;
        let Some(nominal) = nominal(radio, when, ready, last_rx_end) else {
            return self.refuse(n, id, Refusal::Empty);
        };
        if nominal < ready {
            let by = ready.since(nominal);
            return self.refuse(n, id, Refusal::Late { by });
        }
        let start = with_jitter(radio, when, (nominal, ready));
        let trigger = match when {
            When::Now => Trigger::Software,
            _ => Trigger::Timer,
        };
        let cca_step = match cca {
            Cca::Skip => CcaStep::No,
            Cca::Require => CcaStep::Ahead,
        };
        let strobe = start.saturating_sub(turnaround).max(soonest);
        if filling == Filling::Streamed {
            radio.slot = Some(frame(mpdu));
            self.overwritten(n);
        }
        let pending = Pending {
            id: Some(id),
            token: 0,
            strobe,
            start,
            channel,
            cca_step,
            filling,
            trigger,
            kind: Kind::Data,
            frame: frame(mpdu),
        };
        let first = match cca_step {
            CcaStep::No => strobe,
            CcaStep::Ahead | CcaStep::Again { .. } => {
                strobe.saturating_sub(self.radios[n].board.cca)
            }
        };
        self.pend(n, pending, first);
    }

    /// Takes what was pending back, if anything was, and `pending` instead, which is attended to at
    /// `first`.
    pub(crate) fn pend(&mut self, n: usize, mut pending: Pending, first: SimTime) {
        let dropped = self.drop_pending(n);
        let radio = &mut self.radios[n];
        radio.tokens = radio.tokens.wrapping_add(1);
        let token = radio.tokens;
        pending.token = token;
        radio.pending = Some(pending);
        if dropped == Dropped::MustSettle || radio.mode == Mode::Sleep {
            self.settle(n);
        }
        // A prompt driver does at once what is due at once.
        if first <= self.now && self.radios[n].is_prompt() {
            return self.strobe(n, token);
        }
        let node = n as u32;
        self.queue
            .push(first, Rank::Turn, Event::Strobe { node, token });
    }

    /// Answers the pending transmission, if there is one, that it will not be, and turns back.
    pub(crate) fn take_back(&mut self, n: usize) {
        if self.drop_pending(n) == Dropped::MustSettle {
            self.settle(n);
        }
    }

    /// The same, but for the turning.
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

/// When a transmission is due; `None` where that counts from a reception that there was not.
fn nominal(
    radio: &Radio,
    when: When,
    ready: SimTime,
    last_rx_end: Option<SimTime>,
) -> Option<SimTime> {
    match when {
        When::Now => Some(ready),
        When::At(sfd) => {
            let sfd_offset = radio.board.chip.phy.sfd_offset();
            Some(radio.clock.when(sfd).saturating_sub(sfd_offset))
        }
        When::AfterRx(gap) => last_rx_end.map(|end| radio.clock.after(end, gap)),
    }
}

/// When a transmission that is due at `nominal` begins, and that may begin from `ready` on.
fn with_jitter(radio: &mut Radio, when: When, (nominal, ready): (SimTime, SimTime)) -> SimTime {
    match when {
        // Software is late, never early.
        When::Now => {
            let shifted = radio.with_software_jitter(nominal);
            nominal + nominal.since(shifted).max(shifted.since(nominal))
        }
        When::At(_) => radio.with_software_jitter(nominal).max(ready),
        // Armed in hardware, which may be early by its own rounding.
        When::AfterRx(_) => radio.with_sync_jitter(nominal),
    }
}

/// What dropping a pending transmission left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    Nothing,
    /// The radio was away or awake for it.
    MustSettle,
}
