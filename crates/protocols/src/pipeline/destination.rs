//! The destination: stage H. Stores packets and reports what is missing (P3, section IV-F).
//!
//! A NACK is a train of frames (`missing.rs`), each sent once per group. It begins in the slot after the request's last
//! copy, whichever copy was heard, so the source knows when it comes. Invariant: every request is answered, however
//! often it arrives.

use super::adaptation::{Reception, Tally};
use super::context::{Context, Flow, Held, Key, Which};
use super::events::{Complete, End, Event};
use super::missing::{Missing, Plan};
use super::pauses::Pauses;
use super::session::Session;
use crate::object::{NoRoom, ObjectInfo};
use core::ops::ControlFlow::{Break, Continue};
use thalweg_engine::When;
use thalweg_units::Instant;
use thalweg_wire::pipeline::{
    Counts, Group, Head, Header, Kind, Nack, Purpose, Request, MAX_SLIM_PAYLOAD,
};
use thalweg_wire::route::Progress;
use thalweg_wire::Reader;

/// The destination reports its progress every so many new packets.
const PROGRESS_EVERY: u16 = 16;

/// The request, with the fields that differ between requests of a transfer reset.
fn lasting_fields(request: &Request) -> Request {
    Request {
        following: 0,
        purpose: Purpose::Report,
        ..*request
    }
}

/// Cycles from the transfer's start to `at`. Wraps after more than any round has.
fn cycles(cx: &Context<'_>, at: Instant) -> u16 {
    let since = at.since(cx.session.start).as_nanos();
    (since / cx.cadence.cycle().as_nanos().max(1)) as u16
}

/// A NACK on its way.
#[derive(Debug, Clone, Copy)]
struct Train {
    round: u16,
    /// SFD of the frame that is ordered.
    sfd: Instant,
    plan: Plan,
    /// The packet from which on it reports what is missing.
    from: u16,
    /// Copies of this part after it.
    copies_left: u8,
    /// Frames after it.
    following: u8,
    group: Group,
}

/// The destination's state.
#[derive(Debug)]
pub(super) struct Destination {
    /// What the first request of this transfer said of the object.
    first_request: Option<Request>,
    first_round: Option<u16>,
    last_round: Option<u16>,
    complete: bool,
    /// The source had sent all packets below this at its last request. It knows about the others, unless some were
    /// kept.
    below: u16,
    /// The same at its next request.
    until: u16,
    train: Option<Train>,
    /// The earliest cycle, counted like [`cycles`], in which the round's first packet arrives.
    due: u16,
    /// What was received last of it.
    last: Reception,
    pauses: Pauses,
    /// Packets of the odd and the even group since the last request for counts of their chains.
    counts: [u8; 2],
    last_heard: Instant,
    last_packet: Instant,
}

impl Destination {
    pub(super) fn new(cx: &mut Context<'_>, now: Instant) -> Self {
        match (cx.session.progress, &cx.held) {
            (Progress::Kept, held) if held.is_there() => {
                cx.stats.received = cx.packets.count();
            }
            _ => Self::forget(cx),
        }
        Self {
            first_request: None,
            first_round: None,
            last_round: None,
            complete: false,
            below: 0,
            until: 0,
            train: None,
            due: 0,
            last: Reception::Control,
            pauses: Pauses::of(0),
            counts: [0; 2],
            last_heard: now.max(cx.session.start),
            last_packet: cx.session.start,
        }
    }

    /// Nothing is there.
    fn forget(cx: &mut Context<'_>) {
        cx.packets.clear();
        cx.store.begin();
        (*cx.held, cx.stats.received) = (Held::Nothing, 0);
    }

    /// When it leaves, having `received` so many packets.
    pub(super) fn deadline(&self, session: &Session, received: u16) -> Instant {
        let policy = &session.policy;
        let coming = u64::from(self.until.saturating_sub(received));
        let silence = match (self.complete, self.last) {
            (true, _) => policy.linger,
            (false, Reception::Packet) => policy.inactivity + policy.patience_per_packet * coming,
            // The source more likely missed the NACK than that a whole round got lost.
            (false, _) => policy.inactivity,
        };
        self.last_heard + silence
    }

    /// How it ends when nothing more is heard.
    pub(super) fn silence(&self) -> End {
        match self.complete {
            true => End::Complete,
            false => End::TimedOut,
        }
    }

    /// The beginning of a frame: aborts the reception of what is for others.
    pub(super) fn head(cx: &mut Context<'_>, bytes: &[u8], sfd: Instant) {
        let is_ours = |head: &Head| head.tag == cx.session.tag && head.hop + 1 == cx.session.hops;
        match Head::parse(bytes).ok().filter(is_ours) {
            Some(_) => cx.adaptation.on_reception(Reception::Neighbour, sfd),
            None => {
                cx.stats.aborted += 1;
                cx.listen();
            }
        }
    }

    pub(super) fn frame(
        &mut self,
        cx: &mut Context<'_>,
        mpdu: &[u8],
        (sfd, end): (Instant, Instant),
    ) -> Flow {
        let mut body = Reader::new(mpdu);
        let Ok(Header { head, number }) = Header::parse(&mut body) else {
            return Continue(());
        };
        if head.tag != cx.session.tag || head.hop + 1 != cx.session.hops {
            return Continue(());
        }
        let what = match head.kind {
            Kind::Data if mpdu.len() == cx.cadence.data_bytes() => {
                let count = &mut self.counts[head.group.index()];
                *count = count.saturating_add(1);
                cx.adaptation.on_packet(head.group);
                self.data(cx, number, body.rest(), end);
                if self.pauses.begins(cx.session, number) {
                    self.pause(cx, sfd);
                }
                Reception::Packet
            }
            Kind::Request => {
                let Some(mut body) = cx.opened(head.kind, mpdu, body) else {
                    return Continue(());
                };
                let Ok(request) = Request::parse(&mut body) else {
                    return Continue(());
                };
                if !self.believes(cx, &request) {
                    return Continue(());
                }
                if request.purpose == Purpose::Release {
                    return Break(match self.complete {
                        true => End::Complete,
                        false => End::Released,
                    });
                }
                self.request(cx, number, head.group, &request, sfd);
                if request.purpose == Purpose::Count {
                    let here = core::mem::take(&mut self.counts[head.group.index()]);
                    if let Ok(counts) = Counts::parse(&mut body, cx.session.hops, here) {
                        let group = head.group;
                        cx.emit(Event::Counted { group, counts });
                    }
                }
                Reception::Control
            }
            Kind::Data | Kind::Nack => return Continue(()),
        };
        (self.last_heard, self.last) = (self.last_heard.max(sfd), what);
        cx.adaptation.on_reception(what, sfd);
        Continue(())
    }

    fn data(&mut self, cx: &mut Context<'_>, number: u16, payload: &[u8], end: Instant) {
        if self
            .first_request
            .is_some_and(|first| number >= first.packets)
        {
            return;
        }
        if !cx.packets.insert(number) {
            cx.stats.duplicates += 1;
            return;
        }
        let object_len = self.first_request.map(|first| first.object_len);
        let pieces = cx.session.pieces();
        if let Err(NoRoom) = pieces.write(number, payload, object_len, cx.store) {
            cx.packets.remove(number);
            cx.stats.no_room += 1;
            return;
        }
        if *cx.held == Held::Nothing {
            *cx.held = Held::Unknown;
        }
        cx.stats.received = cx.stats.received.saturating_add(1);
        self.last_packet = end;
        if cx.stats.received % PROGRESS_EVERY == 0 {
            cx.emit(Event::Progress {
                received: cx.stats.received,
            });
        }
        let rounds = self.last_round.map_or(1, |r| r.saturating_add(2));
        self.check_complete(cx, rounds);
    }

    /// All stages pause after the packet that came at `sfd`: sends the source on if enough came.
    fn pause(&mut self, cx: &mut Context<'_>, sfd: Instant) {
        let sfd = sfd + cx.cadence.cycle();
        let due = sfd + cx.cadence.pause();
        if !cx.adaptation.goes_on(due) {
            return;
        }
        self.due = cycles(cx, due);
        self.until = self.pauses.sent(cx.session).unwrap_or(cx.stats.packets);
        let copies = cx.cadence.copies();
        self.train = Some(Train {
            round: self.last_round.map_or(0, |round| round.wrapping_add(1)),
            sfd,
            plan: Plan::GO_ON,
            from: 0,
            copies_left: copies - 1,
            following: copies - 1,
            group: cx.session.first_group(0),
        });
        self.order(cx);
    }

    /// How many of its packets the source has sent at the end of a `round` at whose beginning so many were `received`.
    fn sent(&self, cx: &Context<'_>, round: u16, received: u16) -> u16 {
        let packets = cx.stats.packets;
        let stop = cx.adaptation.stops_after(round, packets);
        let tried = stop.map(|stop| received.saturating_add(stop));
        let stop = tried.or_else(|| self.pauses.sent(cx.session));
        stop.map_or(packets, |asks| asks.min(packets))
    }

    /// Whether a request is consistent, with itself and with the first one.
    fn believes(&self, cx: &Context<'_>, request: &Request) -> bool {
        cx.session.packets(request.object_len) == Some(request.packets)
            && self
                .first_request
                .is_none_or(|before| before == lasting_fields(request))
            && request.following < cx.cadence.copies()
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        round: u16,
        group: Group,
        request: &Request,
        sfd: Instant,
    ) {
        if self.first_request.is_none() {
            self.accept_request(cx, round, request);
        }
        if self.last_round != Some(round) {
            self.last_round = Some(round);
            self.report(cx, round, request.packets, sfd);
        }
        self.check_complete(cx, round.saturating_add(1));
        if request.following > 0 {
            cx.adaptation.expect_copy(sfd + cx.cadence.request_slot());
        }
        if self.train.is_none() {
            let slots = request.following + 1;
            let group = (0..slots).fold(group, |g, _| cx.session.next_group(g));
            let sfd = sfd + cx.cadence.request_slot() * u64::from(slots);
            self.depart(cx, round, group, sfd);
        }
    }

    /// The first request, at the end of `round`, announces the object.
    fn accept_request(&mut self, cx: &mut Context<'_>, round: u16, request: &Request) {
        self.first_request = Some(lasting_fields(request));
        let held = Key::new(Which::There, request, cx.session.range);
        if matches!(*cx.held, Held::Of(before) if before != held) {
            Self::forget(cx);
        }
        *cx.held = Held::Of(held);
        cx.stats.packets = request.packets;
        self.pauses.set_packets(request.packets);
        self.until = self.sent(cx, round, 0);
        // Packets that the transfer turns out not to have.
        while let Some(k) = cx.packets.first_from(request.packets) {
            cx.packets.remove(k);
            cx.stats.received = cx.stats.received.saturating_sub(1);
        }
    }

    /// Takes stock at the end of `round`, whose request came at `sfd`.
    fn report(&mut self, cx: &mut Context<'_>, round: u16, packets: u16, sfd: Instant) {
        let received = cx.stats.received.min(packets);
        let sent = cycles(cx, sfd).wrapping_sub(self.due);
        let tally = Tally {
            received,
            missing: packets - received,
            sent: sent.saturating_add(cx.session.hops.into()),
        };
        let stop = cx.adaptation.stops_after(round, packets);
        self.below = match cx.session.progress {
            Progress::Fresh => self.until,
            Progress::Kept => packets,
        };
        cx.adaptation.on_round_end(round, Some(tally));
        // One that is over before all is sent is no round, nor is what comes before a pause.
        if stop.is_none_or(|stop| stop >= packets) && self.below == packets {
            self.first_round.get_or_insert(received);
        }
        cx.emit(Event::RoundReported {
            round,
            received,
            packets,
        });
        self.until = match cx.adaptation.gives_up() {
            true => received,
            false => self.sent(cx, round.saturating_add(1), received),
        };
        let groups = [Group::Odd, Group::Even].into_iter();
        for (group, chain) in groups.zip(cx.adaptation.degraded()) {
            if let Some(chain) = chain {
                cx.emit(Event::Degraded { group, chain });
            }
        }
    }

    fn check_complete(&mut self, cx: &mut Context<'_>, rounds: u16) {
        let Some(first) = self.first_request else {
            return;
        };
        if self.complete || cx.stats.received < first.packets {
            return;
        }
        self.complete = true;
        let named = ObjectInfo {
            len: first.object_len,
            digest: first.digest,
        };
        let object = named.named_by(cx.session.source);
        cx.emit(Event::Complete(Complete {
            len: cx.session.range.within(object.len),
            object_len: object.len,
            digest: object.digest,
            packets: first.packets,
            first_round: self.first_round.unwrap_or(first.packets),
            rounds,
            last_packet: self.last_packet,
        }));
    }

    /// What is missing, as far as the source does not know.
    fn missing<'c>(&self, cx: &'c Context<'_>) -> Missing<'c> {
        Missing {
            here: &*cx.packets,
            below: self.below,
        }
    }

    /// Begins a NACK whose first frame's SFD is at `sfd`.
    fn depart(&mut self, cx: &mut Context<'_>, round: u16, group: Group, sfd: Instant) {
        let copies = cx.cadence.copies();
        let packets = self.first_request.map_or(0, |first| first.packets);
        let plan = self.missing(cx).plan(cx.cadence, packets);
        let frames = plan.frames * u16::from(copies);
        self.train = Some(Train {
            round,
            sfd,
            plan,
            from: 0,
            copies_left: copies - 1,
            following: u8::try_from(frames - 1).unwrap_or(u8::MAX),
            group,
        });
        self.order(cx);
    }

    fn order(&mut self, cx: &mut Context<'_>) {
        let Some(train) = self.train else { return };
        let packets = self.first_request.map_or(0, |first| first.packets);
        let missing = packets.saturating_sub(cx.stats.received);
        let hop = cx.session.hops;
        let mut vector = [0; MAX_SLIM_PAYLOAD];
        let note_bytes = usize::from(cx.session.note_bytes);
        let all_bytes = note_bytes + usize::from(train.plan.vector_bytes);
        let (note, bits) = vector[..all_bytes].split_at_mut(note_bytes);
        let nack_bytes = cx.cadence.nack_bytes(bits.len());
        let plain_bytes = nack_bytes - usize::from(cx.session.mic_bytes);
        // The only NACK that lists nothing although packets are missing.
        let goes_on = missing > 0 && train.plan == Plan::GO_ON;
        if !goes_on {
            let after = (cx.cadence).round_after(nack_bytes, hop - 1, train.following, hop);
            let due = train.sfd + after;
            self.due = cycles(cx, due);
            (cx.adaptation).write_note(note, (missing > 0).then_some(due));
        }
        let part = self.missing(cx).part(train.from, bits);
        let nack = Nack {
            first: part.first,
            missing,
            following: train.following,
            vector: &vector[..all_bytes],
        };
        let head = Head {
            kind: Kind::Nack,
            tag: cx.session.tag,
            hop,
            group: train.group,
        };
        let number = train.round;
        // One that does not fit, which cannot come about, is empty, and refused by the radio.
        let _built = cx.air.frame_mut().rebuild(|w| {
            Header { head, number }.emit_as(cx.session.format, w)?;
            nack.emit(w)?;
            (w.len()..plain_bytes).try_for_each(|_| w.u8(0).map(|_| ()))
        });
        cx.seal();
        let channel = cx.adaptation.channel(hop - 1, train.sfd);
        cx.air.transmit(channel, When::At(train.sfd));
    }

    /// The frame ordered was sent or refused: orders the next.
    pub(super) fn answered(&mut self, cx: &mut Context<'_>) {
        let Some(train) = self.train.take() else {
            return;
        };
        // The source goes on once it has all frames, which takes longer than most silences if much is missing.
        self.last_heard = self.last_heard.max(train.sfd);
        if train.following == 0 {
            return;
        }
        let vector_bytes = train.plan.vector_bytes;
        let (from, copies_left) = match train.copies_left.checked_sub(1) {
            Some(left) => (Some(train.from), left),
            None => {
                let mut room = [0; MAX_SLIM_PAYLOAD];
                let bits = &mut room[..usize::from(vector_bytes)];
                let next = self.missing(cx).part(train.from, bits).next;
                (next, cx.cadence.copies() - 1)
            }
        };
        let nack_bytes = cx.cadence.nack_bytes(vector_bytes.into());
        self.train = from.map(|from| Train {
            sfd: train.sfd + cx.cadence.nack_period(nack_bytes),
            from,
            copies_left,
            following: train.following - 1,
            group: cx.session.next_group(train.group),
            ..train
        });
        self.order(cx);
    }
}
