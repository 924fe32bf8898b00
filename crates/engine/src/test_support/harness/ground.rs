//! The radios of the harness and the air between them.

use crate::{Cca, Condition, OpId, RadioEvent, RadioOp, Refusal, When};
use thalweg_units::{Channel, Instant};
use thalweg_wire::{phy, FrameBuf};

use super::{Air, Fate, SentFrame};

use super::radio::{Collision, Conditional, Lock, Mode, Pending, What};
use super::{frame, Ground, SAME_FRAME};

impl Ground {
    pub(super) fn at(&mut self, at: Instant, what: What) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), what);
    }
    pub(super) fn answer(&mut self, node: usize, at: Instant, answer: RadioEvent<'static>) {
        self.at(at, What::Answer { node, answer });
    }
    fn done(&mut self, node: usize, at: Instant, op: OpId) {
        self.answer(node, at, RadioEvent::Done { op });
    }
    pub(super) fn refuse(&mut self, node: usize, op: OpId, why: Refusal) {
        self.answer(node, self.now, RadioEvent::Refused { op, why });
    }

    pub(super) fn submit(&mut self, n: usize, id: OpId, op: RadioOp<'_>) {
        let now = self.now;
        match op {
            RadioOp::Load { mpdu, .. } => self.load(n, id, mpdu),
            RadioOp::Stream {
                mpdu,
                channel,
                when,
                cca,
            } => match frame(mpdu) {
                Some(frame) => self.send(n, id, frame, channel, when, cca),
                None => self.refuse(n, id, Refusal::BadLength),
            },
            RadioOp::Transmit {
                channel, when, cca, ..
            } => match self.radios[n].slot {
                Some(frame) => self.send(n, id, frame, channel, when, cca),
                None => self.refuse(n, id, Refusal::Empty),
            },
            RadioOp::Listen {
                channel,
                head_bytes,
            } => self.listen(n, id, channel, head_bytes),
            RadioOp::Conditional { condition, .. }
                if condition.bytes.len() > Condition::MAX_BYTES =>
            {
                self.refuse(n, id, Refusal::BadLength);
            }
            RadioOp::Conditional {
                condition,
                channel,
                cca,
                ..
            } => self.hold(n, id, condition, channel, cca),
            RadioOp::Readout { bytes } => {
                self.radios[n].readout = usize::from(bytes);
                self.done(n, now, id);
            }
            RadioOp::Sleep => self.sleep(n, id),
            RadioOp::Cancel => {
                self.supersede_pending(n);
                self.supersede_conditional(n);
                self.done(n, now, id);
            }
            RadioOp::Sense
            | RadioOp::Assess(_)
            | RadioOp::Acknowledge { .. }
            | RadioOp::Hear(_)
            | RadioOp::Preamble { .. }
            | RadioOp::Answer(_) => self.refuse(n, id, Refusal::NoSuch),
        }
    }

    fn load(&mut self, n: usize, id: OpId, mpdu: &[u8]) {
        let Some(frame) = frame(mpdu) else {
            return self.refuse(n, id, Refusal::BadLength);
        };
        let cost = self.timing.load_base + self.timing.load_byte * mpdu.len() as u64;
        self.radios[n].slot = Some(frame);
        self.done(n, self.now + cost, id);
    }

    fn sleep(&mut self, n: usize, id: OpId) {
        self.radios[n].lock = None;
        self.supersede_pending(n);
        self.supersede_conditional(n);
        self.radios[n].mode = Mode::Sleep;
        self.power_down(n);
        self.done(n, self.now, id);
    }

    fn hold(&mut self, n: usize, id: OpId, until: Condition<'_>, channel: Channel, cca: Cca) {
        let Some(mpdu) = self.radios[n].slot else {
            return self.refuse(n, id, Refusal::Empty);
        };
        self.supersede_conditional(n);
        self.radios[n].conditional = Some(Conditional {
            op: id,
            offset: until.offset,
            bytes: until.bytes.to_vec(),
            channel,
            cca,
            mpdu,
        });
    }

    fn listen(&mut self, n: usize, id: OpId, channel: Channel, head_bytes: u8) {
        let now = self.now;
        let wake = now + self.timing.wake;
        let radio = &mut self.radios[n];
        radio.lock = None;
        let busy = radio.sending_until;
        let awake = *radio.awake_from.get_or_insert(wake);
        let since = busy.unwrap_or(now).max(awake) + self.timing.turnaround;
        radio.mode = Mode::Listen {
            channel,
            head_bytes,
            since,
        };
        match busy {
            Some(_) => self.done(n, now, id),
            None => self.at(since, What::On { node: n, op: id }),
        }
    }

    /// A sleeping radio that does not send loses its oscillator.
    pub(super) fn power_down(&mut self, n: usize) {
        let radio = &mut self.radios[n];
        if radio.mode == Mode::Sleep && radio.sending_until.is_none() {
            radio.awake_from = None;
        }
    }

    fn supersede_pending(&mut self, n: usize) {
        if let Some(p) = self.radios[n].pending.take() {
            self.refuse(n, p.op, Refusal::Superseded);
        }
    }

    fn supersede_conditional(&mut self, n: usize) {
        if let Some(c) = self.radios[n].conditional.take() {
            self.refuse(n, c.op, Refusal::Superseded);
        }
    }

    /// The conditional transmission of node `n` goes out if `mpdu` meets its condition.
    pub(super) fn meet(&mut self, n: usize, mpdu: &[u8]) {
        let met = self.radios[n].conditional.take_if(|c| {
            let (offset, bytes) = (c.offset, &c.bytes[..]);
            Condition { offset, bytes }.holds(mpdu)
        });
        if let Some(c) = met {
            self.send(n, c.op, c.mpdu, c.channel, When::Now, c.cca);
        }
    }

    fn send(&mut self, n: usize, op: OpId, mpdu: FrameBuf, channel: Channel, when: When, cca: Cca) {
        let now = self.now;
        let radio = &self.radios[n];
        let free = radio.sending_until.unwrap_or(now);
        let awake = radio.awake_from.unwrap_or(now + self.timing.wake);
        let ready = now.max(free).max(awake) + self.timing.turnaround;
        let start = match when {
            When::Now => ready,
            When::At(sfd) => sfd.saturating_sub(phy::SFD_OFFSET),
            When::AfterRx(gap) => match radio.last_rx_end {
                Some(end) => end + gap,
                None => return self.refuse(n, op, Refusal::Empty),
            },
        };
        if start < ready {
            let by = ready.since(start);
            return self.refuse(n, op, Refusal::Late { by });
        }
        let busy = self.queue.values().any(|w| match w {
            What::TxEnd { air } => self.sent[*air].channel == channel,
            _ => false,
        });
        if cca == Cca::Require && busy {
            return self.refuse(n, op, Refusal::ChannelBusy);
        }
        self.supersede_pending(n);
        self.radios[n].slot = Some(mpdu);
        self.radios[n].pending = Some(Pending {
            op,
            start,
            channel,
            mpdu,
        });
        self.at(start, What::TxStart { node: n, start });
    }

    pub(super) fn start_sending(&mut self, n: usize, start: Instant) {
        let radio = &mut self.radios[n];
        let Some(p) = radio.pending.take_if(|p| p.start == start) else {
            return; // cancelled or superseded
        };
        let end = start + phy::air_time(p.mpdu.len());
        radio.lock = None;
        radio.sending_until = Some(end);
        // It was woken in time.
        radio.awake_from.get_or_insert(start);
        if let Mode::Listen { since, .. } = &mut radio.mode {
            *since = end + self.timing.turnaround;
        }
        let air = self.sent.len();
        let frame = SentFrame {
            from: n,
            channel: p.channel,
            start,
            mpdu: p.mpdu.to_vec(),
        };
        for to in (0..self.radios.len()).filter(|to| *to != n) {
            self.arrive(to, air, &frame);
        }
        self.sent.push(frame);
        self.at(end, What::TxEnd { air });
        let sfd = start + phy::SFD_OFFSET;
        self.answer(n, end, RadioEvent::Sent { op: p.op, sfd });
    }

    /// A frame begins at listener `to`: it locks, joins, collides, or passes.
    fn arrive(&mut self, to: usize, air: usize, frame: &SentFrame) {
        let radio = &mut self.radios[to];
        let Mode::Listen {
            channel,
            head_bytes,
            since,
        } = radio.mode
        else {
            return;
        };
        if channel != frame.channel || radio.sending_until.is_some() {
            return;
        }
        let fate = (self.links)(Air {
            from: frame.from,
            to,
            channel,
            mpdu: &frame.mpdu,
            start: frame.start,
            number: air,
        });
        if fate == Fate::Silent {
            return;
        }
        let sent = &self.sent;
        match &mut radio.lock {
            Some(lock) => {
                let same = frame.start.since(lock.start) < SAME_FRAME
                    && sent.get(lock.air).is_some_and(|f| f.mpdu == frame.mpdu);
                if !same {
                    lock.fate = Fate::Corrupted;
                    lock.collided = Some(Collision);
                } else if fate == Fate::Heard && lock.collided.is_none() {
                    lock.fate = Fate::Heard;
                }
            }
            // Deaf while tuning: the frame's beginning was missed.
            None if since > frame.start => {}
            None => {
                radio.lock = Some(Lock {
                    air,
                    start: frame.start,
                    fate,
                    collided: None,
                });
                if head_bytes > 0 {
                    let n = usize::from(head_bytes).min(frame.mpdu.len());
                    let after = phy::SFD_OFFSET + phy::BYTE * (phy::PHR_BYTES + n) as u64;
                    self.at(frame.start + after, What::Head { node: to, air });
                }
            }
        }
    }
}
