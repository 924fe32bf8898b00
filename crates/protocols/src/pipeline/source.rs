//! The source: stage 0. Sends a round of packets at a strictly regular pace, asks for a NACK, sends what is missing,
//! and so on (P3, sections IV-B and IV-F).
//!
//! `packets` of the context are those still to be sent in this round or the next: a NACK adds packets, sending removes
//! them. So after a NACK of which a part was lost, a round sends what is known, and the destination reports the rest.

use super::air::TxAnswer;
use super::context::{Context, Flow, Held, Key, Packets, Which};
use super::events::{End, Event};
use super::pauses::Pauses;
use super::session::{GiveUp, Retry, SetupError};
use super::{Active, Pipeline, State};
use crate::object::ObjectInfo;
use crate::timer::sooner;
use core::ops::ControlFlow::{Break, Continue};
use thalweg_engine::{Refusal, When};
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::SFD_OFFSET;
use thalweg_wire::pipeline::{
    self, Group, Head, Header, Kind, Nack, Purpose, Request, MAX_SLIM_PAYLOAD,
};
use thalweg_wire::route::Progress;
use thalweg_wire::{Reader, WireError, Writer};

/// Refusals in a row after which the radio is taken to be broken.
const MAX_REFUSALS: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Packet `number` is ordered.
    Data { number: u16 },
    /// All stages pause; by then the destination confirms packets, or the source sends a request.
    Pausing { until: Instant },
    /// A copy of the request is ordered, `following` more come after it.
    Request { following: u8, purpose: Purpose },
    /// The answer, or the rest of it, comes until then.
    Waiting { until: Instant },
    /// A copy of the release is ordered, `following` more come after it.
    Release { following: u8, end: End },
}

/// The source's state.
#[derive(Debug)]
pub(super) struct Source {
    object: ObjectInfo,
    packets: u16,
    doing: Doing,
    round: u16,
    /// SFD of the transmission that is ordered.
    sfd: Instant,
    group: Group,
    sent_in_round: u16,
    /// Packets of the odd and the even group since its last request for counts.
    sent: [u8; 2],
    /// SFD of the first copy of the last request, and of the first request of this exchange.
    requested_at: Instant,
    exchange_began: Instant,
    tries: u8,
    /// Different missing packets that NACKs of this exchange have listed.
    missing_listed: u16,
    /// A part of its NACK came.
    nack_began: bool,
    pauses: Pauses,
    refusals: u8,
    deadline: Option<Instant>,
    /// How many the last NACK reported missing.
    missing: Option<u16>,
    /// Packets in a row that brought nothing.
    fruitless: u16,
}

impl Source {
    pub(super) fn start(cx: &mut Context<'_>, now: Instant) -> Result<Self, SetupError> {
        let object = cx.store.info().named_by(cx.session.source);
        let packets = cx.session.packets(object.len);
        let packets = packets.ok_or(SetupError::TooManyPackets)?;
        let unsent = Self::unsent(cx, packets, &object);
        // It need not send a request first: the round is a probe, so few packets are sent in vain.
        let knows_enough = |cx: &Context<'_>| {
            let probe = cx.adaptation.stops_after(1, packets);
            probe.is_some_and(|probe| cx.packets.count() >= probe)
        };
        let round = match cx.session.progress {
            Progress::Fresh => {
                cx.packets.fill_to(packets);
                *cx.held = unsent;
                0
            }
            Progress::Kept if *cx.held == unsent && knows_enough(cx) => 1,
            // The first NACK says what to send.
            Progress::Kept => {
                cx.packets.clear();
                *cx.held = Held::Nothing;
                0
            }
        };
        (cx.stats.packets, cx.stats.rounds) = (packets, 1);
        let start = cx.align(cx.session.start.max(now + cx.cadence.lead()));
        let mut source = Self {
            object,
            packets,
            doing: Doing::Data { number: 0 },
            round,
            sfd: start,
            group: cx.session.first_group(0),
            sent_in_round: 0,
            sent: [0; 2],
            requested_at: start,
            exchange_began: start,
            tries: 0,
            missing_listed: 0,
            nack_began: false,
            pauses: Pauses::of(packets),
            refusals: 0,
            deadline: Some(start + cx.session.policy.deadline),
            missing: None,
            fruitless: 0,
        };
        source.order_data(cx, 0);
        Ok(source)
    }

    /// A request about its object.
    fn request_for(packets: u16, object: &ObjectInfo) -> Request {
        Request {
            packets,
            object_len: object.len,
            digest: object.digest,
            following: 0,
            purpose: Purpose::Report,
        }
    }

    /// The packet that follows the one that is ordered, if one does in this round.
    pub(super) fn upcoming(&self, unsent: &Packets) -> Option<u16> {
        match self.doing {
            Doing::Data { number } => unsent.first_from(number.saturating_add(1)),
            _ => unsent.first_from(0),
        }
    }

    /// The key of the packets still to be sent.
    fn unsent(cx: &Context<'_>, packets: u16, object: &ObjectInfo) -> Held {
        let request = Self::request_for(packets, object);
        Held::Of(Key::new(Which::Unsent, &request, cx.session.range))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = match self.doing {
            Doing::Waiting { until } | Doing::Pausing { until } => Some(until),
            Doing::Data { .. } | Doing::Request { .. } | Doing::Release { .. } => None,
        };
        sooner(waiting, self.deadline)
    }

    /// Orders the first packet from `from` on that is still to be sent, at `self.sfd`, or the
    /// request where there is none.
    fn order_data(&mut self, cx: &mut Context<'_>, from: u16) {
        let stop = cx.adaptation.stops_after(self.round, self.packets);
        let is_over = stop.is_some_and(|stop| self.sent_in_round >= stop);
        let next = cx.packets.first_from(from).filter(|_| !is_over);
        let Some(number) = next else {
            return self.end_round(cx);
        };
        if self.pauses.begins(cx.session, number) {
            self.sfd += cx.cadence.pause();
            let until = self.sfd.saturating_sub(cx.cadence.lead());
            self.doing = Doing::Pausing { until };
            return;
        }
        self.doing = Doing::Data { number };
        let mut room = [0; MAX_SLIM_PAYLOAD];
        let (pieces, len) = (cx.session.pieces(), Some(self.object.len));
        let payload = pieces.read(number, cx.store, len, &mut room);
        self.transmit(cx, Kind::Data, number, |w| {
            w.bytes(payload.unwrap_or_default()).map(|_| ())
        });
    }

    /// Sends a request at the end of a round; its next packet would be due at `self.sfd`.
    fn end_round(&mut self, cx: &mut Context<'_>) {
        if self.sent_in_round > 0 {
            self.sfd += cx.cadence.request_delay();
            if self.fruitless > 0 {
                // Where the destination hears the source, or another stage on its channel, the
                // request may drown the last packet again and again: let it arrive first.
                self.sfd += cx.cadence.cycle() * u64::from(cx.session.hops);
            }
        }
        cx.emit(Event::RoundSent {
            round: self.round,
            sent: self.sent_in_round,
        });
        // What was not sent yet is known to be missing.
        let unsent = cx.packets.count();
        (self.exchange_began, self.tries) = (self.sfd, 0);
        (self.missing_listed, self.nack_began) = (unsent, false);
        self.begin_request(cx);
    }

    /// Orders the first copy of a request for a report at `self.sfd`.
    fn begin_request(&mut self, cx: &mut Context<'_>) {
        self.requested_at = self.sfd;
        // A backup relay does not forward requests for counts: the next try wants none.
        let purpose = match self.tries {
            // A saturated counter is worthless.
            0 if cx.session.count_bytes > 0 && !self.sent.contains(&u8::MAX) => {
                cx.adaptation.request_purpose(self.round)
            }
            0 => Purpose::Report,
            _ => cx.session.policy.retry.purpose(),
        };
        let following = cx.cadence.copies() - 1;
        self.doing = Doing::Request { following, purpose };
        self.order_request(cx);
    }

    /// Orders the first copy of the release at `sfd`.
    fn release(&mut self, cx: &mut Context<'_>, sfd: Instant, end: End) {
        self.sfd = sfd;
        let following = cx.cadence.copies() - 1;
        self.doing = Doing::Release { following, end };
        self.order_request(cx);
    }

    fn order_request(&mut self, cx: &mut Context<'_>) {
        let (purpose, following) = match self.doing {
            Doing::Request { following, purpose } => (purpose, following),
            Doing::Release { following, .. } => (Purpose::Release, following),
            Doing::Data { .. } | Doing::Pausing { .. } | Doing::Waiting { .. } => return,
        };
        let request = Request {
            following,
            purpose,
            ..Self::request_for(self.packets, &self.object)
        };
        let bytes = cx.cadence.request_bytes() - usize::from(cx.session.mic_bytes);
        let sent = match purpose {
            Purpose::Count => core::mem::take(&mut self.sent[self.group.index()]),
            Purpose::Report | Purpose::Across | Purpose::Release => 0,
        };
        self.transmit(cx, Kind::Request, self.round, |w| {
            request.emit(w)?;
            if w.len() < bytes {
                w.u8(sent)?;
            }
            (w.len()..bytes).try_for_each(|_| w.u8(0).map(|_| ()))
        });
    }

    fn transmit(
        &mut self,
        cx: &mut Context<'_>,
        kind: Kind,
        number: u16,
        body: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) {
        let head = Head {
            kind,
            tag: cx.session.tag,
            hop: 0,
            group: self.group,
        };
        let frame = cx.air.frame_mut();
        let built = frame.rebuild(|w| {
            Header { head, number }.emit_as(cx.session.format, w)?;
            body(w)
        });
        // An empty frame, which cannot come about, would be refused by the radio.
        if built.is_ok() && cx.adaptation.calls(self.group) {
            pipeline::call(frame);
        }
        if kind != Kind::Data {
            cx.seal();
        }
        let channel = cx.adaptation.channel(1, self.sfd);
        cx.air.transmit(channel, When::At(self.sfd));
    }

    pub(super) fn answered(&mut self, cx: &mut Context<'_>, answer: TxAnswer) -> Flow {
        let sent = matches!(answer, TxAnswer::Sent(_));
        self.refusals = if sent { 0 } else { self.refusals + 1 };
        if self.refusals > MAX_REFUSALS {
            return Break(End::RadioFailed);
        }
        if let TxAnswer::Refused(Refusal::Late { by }) = answer {
            // By whole slots of two cycles, so that the next order is not late again.
            let step = cx.cadence.relay_period();
            self.sfd += step * by.as_nanos().div_ceil(step.as_nanos());
        }
        match self.doing {
            Doing::Data { number } => {
                if sent {
                    let of_group = &mut self.sent[self.group.index()];
                    *of_group = of_group.saturating_add(1);
                }
                self.sfd += cx.cadence.data_period();
                self.group = cx.session.next_group(self.group);
                if sent {
                    cx.packets.remove(number);
                    self.sent_in_round = self.sent_in_round.saturating_add(1);
                    cx.stats.data_sent += 1;
                }
                self.order_data(cx, number + u16::from(sent));
            }
            Doing::Request { following: 0, .. } => {
                let within = match cx.session.policy.retry {
                    Retry::AfterTrain => cx.cadence.answer_within(self.packets),
                    Retry::AcrossGroups => cx.cadence.answer_begins_within(self.packets),
                };
                let until = (self.requested_at + within).saturating_sub(SFD_OFFSET);
                self.doing = Doing::Waiting { until };
                self.group = cx.session.next_group(self.group);
            }
            Doing::Request { following, purpose } => {
                let following = following - 1;
                self.next_copy(cx, Doing::Request { following, purpose });
            }
            Doing::Release { following: 0, end } => return Break(end),
            Doing::Release { following, end } => {
                let following = following - 1;
                self.next_copy(cx, Doing::Release { following, end });
            }
            Doing::Pausing { .. } | Doing::Waiting { .. } => {}
        }
        Continue(())
    }

    fn next_copy(&mut self, cx: &mut Context<'_>, doing: Doing) {
        self.doing = doing;
        self.sfd += cx.cadence.request_slot();
        self.group = cx.session.next_group(self.group);
        self.order_request(cx);
    }

    /// The destination has told all that it is missing of this round: `missing` packets.
    fn note_round(&mut self, cx: &mut Context<'_>, missing: u16) {
        self.fruitless = match self.missing == Some(missing) {
            true => self.fruitless.saturating_add(self.sent_in_round),
            false => 0,
        };
        self.missing = Some(missing);
        cx.emit(Event::RoundReported {
            round: self.round,
            received: self.packets - missing,
            packets: self.packets,
        });
    }

    pub(super) fn frame(&mut self, cx: &mut Context<'_>, mpdu: &[u8], sfd: Instant) {
        let mut body = Reader::new(mpdu);
        let Ok(Header { head, number }) = Header::parse(&mut body) else {
            return;
        };
        let for_us = head.kind == Kind::Nack && head.tag == cx.session.tag && head.hop == 1;
        if !for_us || number != self.round {
            return;
        }
        let nack = cx.opened(head.kind, mpdu, body).map(Nack::parse);
        let Some(Ok(nack)) = nack else { return };
        match self.doing {
            Doing::Waiting { .. } => {}
            // No request: the destination confirms packets.
            Doing::Pausing { .. } => return self.order_data(cx, 0),
            Doing::Data { .. } | Doing::Request { .. } | Doing::Release { .. } => return,
        }
        let segments = cx.cadence.nack_shape(self.packets).segments;
        let train = u32::from(segments) * u32::from(cx.cadence.copies());
        if nack.missing > self.packets || u32::from(nack.following) >= train {
            return;
        }
        let Some((note, vector)) = cx.session.split(nack.vector) else {
            return;
        };
        let nack = Nack { vector, ..nack };
        (self.tries, self.nack_began) = (0, true);
        let rest = cx.cadence.nack_period(mpdu.len()) * u64::from(nack.following);
        let next = cx.align_heard(sfd + rest + cx.cadence.slot(mpdu.len()));
        for packet in nack.missing_packets() {
            self.missing_listed += u16::from(packet < self.packets && cx.packets.insert(packet));
        }
        *cx.held = Self::unsent(cx, self.packets, &self.object);
        let is_whole = self.missing_listed >= nack.missing;
        if is_whole {
            self.note_round(cx, nack.missing);
        }
        if nack.missing == 0 {
            self.release(cx, next, End::Complete);
        } else if is_whole {
            // After a part of the NACK it goes on as before: others may have heard nothing.
            let retune = cx.adaptation.on_nack(note, next);
            cx.retune(retune);
            match self.is_in_vain(cx) || cx.adaptation.gives_up() {
                true => self.release(cx, next, End::GaveUp),
                false => self.next_round(cx, next),
            }
        } else {
            let until = next.saturating_sub(SFD_OFFSET);
            self.doing = Doing::Waiting { until };
        }
    }

    fn is_in_vain(&self, cx: &Context<'_>) -> bool {
        match cx.session.policy.give_up {
            GiveUp::AfterTriesOrInVain { packets, .. } => self.fruitless > packets.into(),
            GiveUp::OnInactivity | GiveUp::AfterTries(_) => false,
        }
    }

    fn next_round(&mut self, cx: &mut Context<'_>, sfd: Instant) {
        self.round = self.round.wrapping_add(1);
        cx.stats.rounds = cx.stats.rounds.saturating_add(1);
        self.sfd = sfd;
        self.group = cx.session.first_group(self.round);
        self.sent_in_round = 0;
        self.order_data(cx, 0);
    }

    pub(super) fn timeout(&mut self, cx: &mut Context<'_>, at: Instant) {
        let soon = cx.align(at + cx.cadence.lead());
        if self.deadline.is_some_and(|deadline| at >= deadline) {
            self.deadline = None;
            if !matches!(self.doing, Doing::Release { .. }) {
                // A frame may be on the air for another cycle.
                self.release(cx, soon + cx.cadence.cycle(), End::TimedOut);
            }
            return;
        }
        match self.doing {
            Doing::Waiting { until } if at >= until => {}
            Doing::Pausing { until } if at >= until => {
                self.sfd = self.sfd.max(soon);
                return self.end_round(cx);
            }
            _ => return,
        }
        // What was not sent yet is known without a NACK, but not whether the pipeline carries it.
        if self.nack_began && self.missing_listed > 0 {
            return self.next_round(cx, soon);
        }
        self.tries = self.tries.saturating_add(1);
        cx.stats.unanswered += 1;
        let gives_up = match cx.session.policy.give_up {
            GiveUp::AfterTries(tries) | GiveUp::AfterTriesOrInVain { tries, .. } => {
                self.tries >= tries
            }
            GiveUp::OnInactivity => false,
        };
        let waited: Duration = at.since(self.exchange_began);
        if gives_up {
            self.release(cx, soon, End::GaveUp);
        } else if waited >= cx.session.policy.inactivity {
            self.release(cx, soon, End::TimedOut);
        } else {
            self.sfd = soon;
            self.begin_request(cx);
        }
    }
}

impl<S, A, G> Pipeline<S, A, G> {
    /// The bytes of the object that a source will read next, as far as it knows: from where on, and how many.
    pub fn upcoming(&self) -> Option<(u32, usize)> {
        let Some(Active::Pipeline { setup, state }) = &self.active else {
            return None;
        };
        let State::Source(source) = state else {
            return None;
        };
        let number = source.upcoming(&self.resources.packets)?;
        let bytes = setup.session.payload.bytes();
        let at = u32::from(number) * u32::from(bytes);
        Some((setup.session.range.offset.saturating_add(at), bytes.into()))
    }
}
