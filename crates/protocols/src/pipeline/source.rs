//! The source: stage 0. Sends a round of packets strictly regularly, asks for a NACK, sends what
//! is missing, and so on (P3, sections IV-B and IV-F).
//!
//! `packets` of the context holds what is still to be sent in the present or next round: a NACK
//! puts packets in, sending takes them out. A NACK of which a part was lost thus leads to a round
//! of what is known, after which the destination tells the rest. With a fountain code a round is a
//! number of new symbols instead (`fountain`), with one in blocks so many of each block (`blocks`), of
//! which those are sent first that are there already (`making`).

mod symbols;

use super::air::TxAnswer;
use super::blocks::BlockSupply;
use super::context::{Context, Flow};
use super::events::{End, Event};
use super::fountain::Fountain;
use super::making::read_packet;
use super::session::{GiveUp, SetupError};
use crate::blocks::Blocks;
use crate::object::{Coded, ObjectInfo, ObjectStore};
use crate::p3::{first_group, next_group, Directions, Form, Missing, Sent, Stretch};
use core::ops::ControlFlow::{Break, Continue};
use thalweg_engine::{Refusal, When};
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::SFD_OFFSET;
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Nack, Purpose, Request, MAX_SLIM_PAYLOAD};
use thalweg_wire::route::Recovery;
use thalweg_wire::{FrameBuf, Reader, WireError, Writer};

/// Refusals in a row after which the radio is taken to be broken.
const MAX_REFUSALS: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// A copy of the announcement is ordered, `following` more come after it.
    Announce { following: u8 },
    /// Packet `number` is ordered.
    Data { number: u16 },
    /// What is to be sent next is still being made; something else is sent then.
    Making { until: Instant },
    /// A copy of the request is ordered, `following` more come after it.
    Request { following: u8 },
    /// The answer, or the rest of it, comes until then.
    Waiting { until: Instant },
    /// A copy of the release is ordered, `following` more come after it.
    Release { following: u8, end: End },
}

/// What makes up for what is lost.
#[derive(Debug)]
enum Supply {
    /// The same packets again.
    Packets,
    Fountain(Fountain),
    Blocks(BlockSupply),
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
    /// SFD of the first copy of the last request, and of the first request of this exchange.
    asked: Instant,
    exchange_began: Instant,
    tries: u8,
    /// Different missing packets learned in this exchange.
    known: u16,
    refusals: u8,
    deadline: Option<Instant>,
    supply: Supply,
    /// Since when it waits for a symbol, and how many packets it has sent meanwhile.
    making: Option<Instant>,
    repeats: u16,
    /// What this round sends, and how a NACK of this exchange says to go on.
    stretch: Stretch,
    /// Under which setting of the channels it is sent.
    setting: u8,
    /// How many packets, from the first on, have been sent at least once.
    reach: u16,
    told: Option<Directions>,
    /// What the last NACK missed, and whether the one before missed as much.
    missing: Option<u16>,
    stuck: bool,
}

impl Source {
    pub(super) fn start<S: ObjectStore>(
        cx: &mut Context<'_, S>,
        now: Instant,
    ) -> Result<Self, SetupError> {
        let object = cx.store.info();
        let packets = cx
            .session
            .packets(object.len)
            .ok_or(SetupError::TooManyPackets)?;
        let trial = cx.session.trial();
        let supply = match cx.session.recovery {
            Recovery::Rounds => {
                cx.packets.fill_to(packets);
                Supply::Packets
            }
            Recovery::Fountain { spare } => {
                cx.packets.clear();
                Supply::Fountain(Fountain::new(packets, spare, trial))
            }
            Recovery::Blocks { most, spare } => {
                let blocks = Blocks::new(packets, most);
                let exchange = cx.cadence.cycles_of_exchange(packets);
                let coded = Coded {
                    part: cx.session.part(object.len),
                    blocks,
                    symbol_bytes: cx.session.payload.bytes(),
                };
                let stored = cx.store.stored_rows(&coded);
                let set = &mut *cx.packets;
                Supply::Blocks(BlockSupply::new(coded, stored, spare, exchange, set))
            }
        };
        (cx.stats.packets, cx.stats.rounds) = (packets, 1);
        let start = cx.align(cx.session.start.max(now + cx.cadence.lead()));
        let mut source = Self {
            object,
            packets,
            doing: Doing::Data { number: 0 },
            round: 0,
            sfd: start,
            group: first_group(cx.session.groups, 0),
            sent_in_round: 0,
            asked: start,
            exchange_began: start,
            tries: 0,
            known: 0,
            refusals: 0,
            deadline: Some(start + cx.session.policy.deadline),
            supply,
            making: None,
            repeats: 0,
            stretch: Stretch::Order(0),
            setting: 0,
            reach: 0,
            told: None,
            missing: None,
            stuck: false,
        };
        if cx.session.is_coded() {
            source.plan_making(cx);
            let following = cx.cadence.copies() - 1;
            source.doing = Doing::Announce { following };
            source.order_request(cx);
        } else {
            source.order_data(cx, 0);
        }
        Ok(source)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = match self.doing {
            Doing::Waiting { until } | Doing::Making { until } => Some(until),
            Doing::Announce { .. }
            | Doing::Data { .. }
            | Doing::Request { .. }
            | Doing::Release { .. } => None,
        };
        match (waiting, self.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Orders the first packet from `from` on that is still to be sent, at `self.sfd`, or the
    /// request where there is none.
    fn order_data<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, from: u16) {
        self.plan_making(cx);
        let Some(number) = self.next_packet(cx, from) else {
            if self.is_making(cx) {
                return self.wait_for_symbol(cx);
            }
            if self.sent_in_round > 0 {
                self.sfd += cx.cadence.request_delay();
                if self.stuck {
                    // Where the destination hears the source, or another stage on its channel, the
                    // request may drown the last packet again and again: let it arrive first.
                    self.sfd += cx.cadence.cycle() * u64::from(cx.session.hops());
                }
            }
            if let (Stretch::Order(_), Some(tuner)) = (self.stretch, &*cx.tuner) {
                // Requests belong to no trial, even where the object is shorter.
                self.sfd = self.sfd.max(tuner.trial_ends());
            }
            cx.events.push(Event::RoundSent {
                round: self.round,
                sent: self.sent_in_round,
            });
            // After a trial the rest of the object is known to be missing.
            let known = cx.packets.count();
            (self.exchange_began, self.tries, self.known) = (self.sfd, 0, known);
            self.told = None;
            return self.ask(cx);
        };
        self.send_data(cx, number);
    }

    /// Orders packet or symbol `number`, which is there, at `self.sfd`.
    fn send_data<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, number: u16) {
        self.doing = Doing::Data { number };
        let mut bytes = [0; MAX_SLIM_PAYLOAD];
        let bytes = &mut bytes[..usize::from(cx.session.payload.bytes())];
        let part = cx.session.part(self.object.len);
        match &self.supply {
            Supply::Fountain(_) => cx.store.symbol(part, number, bytes),
            Supply::Blocks(supply) if number >= self.packets => match cx.maker.symbol(number) {
                Some(symbol) => bytes.iter_mut().zip(symbol).for_each(|(to, b)| *to = *b),
                None => cx.store.read_repair(supply.coded(), number, bytes),
            },
            Supply::Packets | Supply::Blocks(_) => read_packet(cx.store, part, number, bytes),
        }
        self.transmit(cx, Kind::Data, number, |w| w.bytes(bytes).map(|_| ()));
    }

    /// What to send next in this round, if anything.
    fn next_packet<S: ObjectStore>(&self, cx: &Context<'_, S>, from: u16) -> Option<u16> {
        if let Supply::Fountain(fountain) = &self.supply {
            return fountain.next();
        }
        let limit = cx.session.limit(self.stretch);
        if limit.is_some_and(|limit| self.sent_in_round >= limit) {
            return None;
        }
        if let Supply::Blocks(supply) = &self.supply {
            // Those that were not there when their turn came are sent when they are.
            let ready = |from| supply.first_ready(cx.packets, cx.maker, from);
            return ready(from).or_else(|| ready(0));
        }
        cx.packets.first_from(from)
    }

    /// Of how many packets, from the first on, a NACK tells: where stages learn of those that were sent.
    fn reach<S: ObjectStore>(&self, cx: &Context<'_, S>) -> u16 {
        match cx.session.form() {
            Form::Stages if !cx.session.is_coded() => self.reach,
            _ => self.packets,
        }
    }

    /// Orders the first copy of a request for a report at `self.sfd`.
    fn ask<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>) {
        self.asked = self.sfd;
        self.doing = Doing::Request {
            following: cx.cadence.copies() - 1,
        };
        self.order_request(cx);
    }

    /// Orders the first copy of the release at `sfd`.
    fn release<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, sfd: Instant, end: End) {
        self.sfd = sfd;
        self.doing = Doing::Release {
            following: cx.cadence.copies() - 1,
            end,
        };
        self.order_request(cx);
    }

    fn order_request<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>) {
        let (purpose, following) = match self.doing {
            Doing::Announce { following } => (Purpose::Announce, following),
            Doing::Request { following } => (Purpose::Report, following),
            Doing::Release { following, .. } => (Purpose::Release, following),
            Doing::Data { .. } | Doing::Making { .. } | Doing::Waiting { .. } => return,
        };
        let ObjectInfo {
            len: object_len,
            digest,
        } = self.object;
        let request = Request {
            packets: self.packets,
            object_len,
            digest,
            following,
            purpose,
        };
        let bytes = cx.cadence.request_bytes();
        let sent = match (cx.session.form(), &*cx.tuner) {
            (Form::Stages, Some(tuner)) => Some(Sent {
                setting: tuner.setting(),
                under: self.setting,
                stretch: self.stretch,
                packets: self.sent_in_round,
                reach: self.reach(cx),
            }),
            _ => None,
        };
        self.transmit(cx, Kind::Request, self.round, |w| {
            request.emit(w)?;
            sent.map_or(Ok(()), |sent| sent.emit(w))?;
            (w.len()..bytes).try_for_each(|_| w.u8(0).map(|_| ()))
        });
    }

    fn transmit<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        kind: Kind,
        number: u16,
        body: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
    ) {
        let head = Head {
            kind,
            tag: cx.tag,
            hop: 0,
            group: self.group,
        };
        let frame = FrameBuf::build(|w| {
            Header { head, number }.emit_as(cx.session.format, w)?;
            body(w)
        });
        // An empty frame, which cannot come about, would be refused by the radio.
        let channel = cx.channel(1, self.sfd);
        cx.air.transmit(
            frame.unwrap_or(FrameBuf::EMPTY),
            channel,
            When::At(self.sfd),
        );
    }

    pub(super) fn answered<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        answer: TxAnswer,
    ) -> Flow {
        let sent = match answer {
            TxAnswer::Sent(_) => {
                self.refusals = 0;
                true
            }
            TxAnswer::Refused(why) => {
                self.refusals += 1;
                if self.refusals > MAX_REFUSALS {
                    return Break(End::RadioFailed);
                }
                self.skip_missed_slots(cx, why);
                false
            }
        };
        match self.doing {
            Doing::Announce { following: 0 } => {
                self.sfd += cx.cadence.request_slot();
                self.group = first_group(cx.session.groups, 0);
                self.order_data(cx, 0);
            }
            Doing::Announce { following } => {
                let following = following - 1;
                self.doing = Doing::Announce { following };
                self.next_copy(cx);
            }
            Doing::Data { number } => {
                self.sfd += cx.cadence.data_period();
                self.group = next_group(cx.session.groups, self.group);
                if sent {
                    cx.packets.remove(number);
                    cx.maker.drop(number);
                    match &mut self.supply {
                        Supply::Packets => {}
                        Supply::Fountain(fountain) => fountain.sent(),
                        Supply::Blocks(supply) => supply.sent(),
                    }
                    self.sent_in_round = self.sent_in_round.saturating_add(1);
                    self.reach = self.reach.max(number.saturating_add(1));
                    cx.stats.data_sent += 1;
                    self.order_data(cx, number + 1);
                } else {
                    self.order_data(cx, number);
                }
            }
            Doing::Request { following: 0 } => {
                let packets = self.reach(cx);
                let within = match &cx.tuner {
                    // Whoever lost its place looks for the source, and does not look anywhere for
                    // as long as a whole train of NACKs takes: ask again before.
                    Some(_) => cx.cadence.answer_begins_within(packets),
                    None => cx.cadence.answer_within(packets),
                };
                let until = self.asked + within;
                self.doing = Doing::Waiting {
                    until: until.saturating_sub(SFD_OFFSET),
                };
                self.group = next_group(cx.session.groups, self.group);
            }
            Doing::Request { following } => {
                self.doing = Doing::Request {
                    following: following - 1,
                };
                self.next_copy(cx);
            }
            Doing::Release { following: 0, end } => return Break(end),
            Doing::Release { following, end } => {
                self.doing = Doing::Release {
                    following: following - 1,
                    end,
                };
                self.next_copy(cx);
            }
            Doing::Making { .. } | Doing::Waiting { .. } => {}
        }
        Continue(())
    }

    fn next_copy<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>) {
        self.sfd += cx.cadence.request_slot();
        self.group = next_group(cx.session.groups, self.group);
        self.order_request(cx);
    }

    /// Moves `self.sfd` on by whole slots of two cycles, so that the next order is not late again.
    fn skip_missed_slots<S: ObjectStore>(&mut self, cx: &Context<'_, S>, why: Refusal) {
        if let Refusal::Late { by } = why {
            let step = cx.cadence.relay_period();
            self.sfd += step * by.as_nanos().div_ceil(step.as_nanos());
        }
    }

    pub(super) fn frame<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        mpdu: &[u8],
        sfd: Instant,
    ) {
        let mut body = Reader::new(mpdu);
        let Ok(Header { head, number }) = Header::parse(&mut body) else {
            return;
        };
        let for_us = head.kind == Kind::Nack && head.tag == cx.tag && head.hop == 1;
        if !for_us || number != self.round || !matches!(self.doing, Doing::Waiting { .. }) {
            return;
        }
        let Ok(nack) = Nack::parse(body) else { return };
        let train = u32::from(cx.cadence.nack_shape(self.reach(cx)).segments)
            * u32::from(cx.cadence.copies());
        if nack.missing > self.packets || u32::from(nack.following) >= train {
            return;
        }
        let Some((told, vector)) = Directions::split(cx.session.form(), nack.vector) else {
            return;
        };
        let nack = Nack { vector, ..nack };
        self.told = Some(told);
        self.tries = 0;
        let rest = cx.cadence.nack_period(mpdu.len()) * u64::from(nack.following);
        let next = cx.align_heard(sfd + rest + cx.cadence.slot(mpdu.len()));
        let learned_all = match &mut self.supply {
            Supply::Packets => {
                let mut note = |packet: u16| {
                    self.known += u16::from(packet < self.packets && cx.packets.insert(packet));
                };
                match told.missing {
                    Missing::Bits => nack.missing_packets().for_each(&mut note),
                    Missing::Numbers => {
                        let mut numbers = Reader::new(vector);
                        while let Ok(number) = numbers.u16() {
                            note(number);
                        }
                    }
                }
                self.known >= nack.missing
            }
            Supply::Fountain(fountain) => {
                fountain.missing(nack.missing);
                true
            }
            Supply::Blocks(supply) => {
                let missing = nack.missing_of_blocks();
                let new = supply.missing(missing, nack.missing, cx.packets);
                self.known = self.known.saturating_add(new);
                self.known >= nack.missing
            }
        };
        if learned_all {
            self.stuck = self.missing == Some(nack.missing);
            self.missing = Some(nack.missing);
            cx.events.push(Event::RoundReported {
                round: self.round,
                received: self.packets - nack.missing,
                packets: self.packets,
            });
        }
        if nack.missing == 0 {
            self.release(cx, next, End::Complete);
        } else if learned_all {
            self.next_round(cx, next);
        } else {
            self.doing = Doing::Waiting {
                until: next.saturating_sub(SFD_OFFSET),
            };
        }
    }

    fn next_round<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, sfd: Instant) {
        let told = self.told.take();
        if let (Some(tuner), Some(told)) = (&mut *cx.tuner, told) {
            match told.next {
                Stretch::Order(order) => tuner.try_order(order, told.setting, sfd),
                _ => tuner.turn_to(told.setting),
            }
            cx.listen();
        }
        self.setting = cx.tuner.as_ref().map_or(0, |tuner| tuner.setting());
        self.stretch = told.map_or(Stretch::All, |told| told.next);
        self.round = self.round.wrapping_add(1);
        cx.stats.rounds = cx.stats.rounds.saturating_add(1);
        self.sfd = sfd;
        self.group = first_group(cx.session.groups, self.round);
        self.sent_in_round = 0;
        if let Supply::Blocks(supply) = &mut self.supply {
            supply.round_begins();
        }
        self.order_data(cx, 0);
    }

    pub(super) fn timeout<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, at: Instant) {
        let soon = cx.align(at + cx.cadence.lead());
        if self.deadline.is_some_and(|deadline| at >= deadline) {
            self.deadline = None;
            if !matches!(self.doing, Doing::Release { .. }) {
                // A frame may be on the air for another cycle.
                self.release(cx, soon + cx.cadence.cycle(), End::TimedOut);
            }
            return;
        }
        let until = match self.doing {
            Doing::Waiting { until } => until,
            Doing::Making { until } if at >= until => return self.still_making(cx, soon),
            _ => return,
        };
        if at < until {
            return;
        }
        let stages = cx.session.form() == Form::Stages;
        // Where stages learn, who hears nothing has packets to send all the same, but how to go on is
        // worth asking for again, and nobody may be there to send them to.
        if self.known > 0 && !(stages && self.told.is_none()) {
            self.told = self.told.filter(|_| stages);
            return self.next_round(cx, soon);
        }
        self.tries = self.tries.saturating_add(1);
        cx.stats.unanswered += 1;
        let tired = match cx.session.policy.give_up {
            GiveUp::AfterTries(tries) => self.tries >= tries,
            GiveUp::OnInactivity => false,
        };
        if cx
            .tuner
            .as_mut()
            .is_some_and(|tuner| tuner.unanswered(self.tries))
        {
            cx.listen();
        }
        let waited: Duration = at.since(self.exchange_began);
        if tired {
            self.release(cx, soon, End::GaveUp);
        } else if waited >= cx.session.policy.inactivity {
            self.release(cx, soon, End::TimedOut);
        } else {
            self.sfd = soon;
            self.ask(cx);
        }
    }
}
