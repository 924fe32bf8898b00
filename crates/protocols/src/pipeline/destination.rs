//! The destination: stage H. Stores packets, tells what is missing when asked (P3, section IV-F).
//!
//! A NACK is a train of frames: each part of the bit vector that has something missing, once per
//! group. It begins in the slot after the request's last copy, whichever copy was heard, so the
//! source knows when it comes. Invariant: a request is answered however often it is heard.

use super::context::{Context, Flow};
use super::events::{Complete, End, Event};
use super::session::Policy;
use crate::object::ObjectStore;
use crate::p3::{next_group, rotations, Scores};
use core::ops::ControlFlow::{Break, Continue};
use thalweg_engine::When;
use thalweg_units::{Duration, Instant};
use thalweg_wire::pipeline::{Group, Head, Header, Kind, Nack, Purpose, Request, MAX_SLIM_PAYLOAD};
use thalweg_wire::{FrameBuf, Reader};

/// What the first request told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    packets: u16,
    object_len: u32,
    digest: [u8; 8],
}

/// A NACK on its way.
#[derive(Debug, Clone, Copy)]
struct Train {
    round: u16,
    /// SFD of the frame that is ordered.
    sfd: Instant,
    /// Its part of the bit vector.
    segment: u16,
    /// Copies of this part after it.
    copies_left: u8,
    /// Frames after it.
    following: u8,
    group: Group,
    /// To the next frame.
    step: Duration,
}

/// The destination's state.
#[derive(Debug)]
pub(super) struct Destination {
    told: Option<Told>,
    first_round: Option<u16>,
    last_round: Option<u16>,
    complete: bool,
    train: Option<Train>,
    last_heard: Instant,
    last_packet: Instant,
    since_progress: u16,
    /// Where the transfer learns the best rotation of its channels.
    scores: Option<Scores>,
}

impl Destination {
    pub(super) fn new<S: ObjectStore>(cx: &mut Context<'_, S>, now: Instant) -> Self {
        cx.packets.clear();
        Self {
            told: None,
            first_round: None,
            last_round: None,
            complete: false,
            train: None,
            last_heard: now.max(cx.session.start),
            last_packet: cx.session.start,
            since_progress: 0,
            scores: cx
                .session
                .tuning
                .map(|run| Scores::new(run, rotations(&cx.session.channels))),
        }
    }

    pub(super) fn deadline(&self, policy: &Policy) -> Instant {
        self.last_heard
            + if self.complete {
                policy.linger
            } else {
                policy.inactivity
            }
    }

    /// How it ends when nothing more is heard.
    pub(super) fn silence(&self) -> End {
        if self.complete {
            End::Complete
        } else {
            End::TimedOut
        }
    }

    pub(super) fn frame<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        mpdu: &[u8],
        (sfd, end): (Instant, Instant),
    ) -> Flow {
        let mut body = Reader::new(mpdu);
        let Ok(Header { head, number }) = Header::parse(&mut body) else {
            return Continue(());
        };
        if head.tag != cx.tag || head.hop + 1 != cx.session.hops() {
            return Continue(());
        }
        match head.kind {
            Kind::Data if mpdu.len() == cx.cadence.data_bytes() => {
                if let (Some(tuner), Some(scores)) = (&mut *cx.tuner, &mut self.scores) {
                    scores.heard(tuner.rotation_at(cx.session.hops(), sfd));
                    tuner.tick(sfd);
                }
                self.data(cx, number, body.rest(), end);
            }
            Kind::Request => {
                let Ok(request) = Request::parse(&mut body) else {
                    return Continue(());
                };
                if !self.believes(cx, &request) {
                    return Continue(());
                }
                if request.purpose == Purpose::Release {
                    return Break(if self.complete {
                        End::Complete
                    } else {
                        End::Released
                    });
                }
                self.request(cx, number, head.group, &request, sfd);
            }
            Kind::Data | Kind::Nack => return Continue(()),
        }
        self.last_heard = self.last_heard.max(sfd);
        cx.heard(sfd);
        Continue(())
    }

    fn data<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        number: u16,
        payload: &[u8],
        end: Instant,
    ) {
        if self.told.is_some_and(|told| number >= told.packets) {
            return;
        }
        if !cx.packets.insert(number) {
            cx.stats.duplicates += 1;
            return;
        }
        let within = u32::from(number) * u32::from(cx.session.payload.bytes());
        let left = match self.told {
            Some(told) => cx
                .session
                .range
                .within(told.object_len)
                .saturating_sub(within),
            None => u32::MAX,
        };
        let kept = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(payload.len());
        cx.store.write(
            cx.session.range.offset.saturating_add(within),
            &payload[..kept],
        );
        cx.stats.received = cx.stats.received.saturating_add(1);
        self.last_packet = end;
        self.since_progress += 1;
        if self.since_progress == cx.session.policy.progress_every {
            self.since_progress = 0;
            cx.events.push(Event::Progress {
                received: cx.stats.received,
            });
        }
        let rounds = self.last_round.map_or(1, |r| r.saturating_add(2));
        self.check_complete(cx, rounds);
    }

    /// Whether a request agrees with itself and with what was told before.
    fn believes<S: ObjectStore>(&self, cx: &Context<'_, S>, request: &Request) -> bool {
        let told = told(request);
        cx.session.packets(told.object_len) == Some(told.packets)
            && self.told.is_none_or(|before| before == told)
            && request.following < cx.cadence.copies()
    }

    fn request<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        round: u16,
        group: Group,
        request: &Request,
        sfd: Instant,
    ) {
        self.learn(cx, request);
        if self.last_round != Some(round) {
            self.last_round = Some(round);
            let packets = request.packets;
            let received = cx.stats.received.min(packets);
            if let Some(scores) = &mut self.scores {
                scores.round_over(round, received, packets - received);
            }
            // A trial is no round.
            if round > 0 || cx.session.trial().is_none_or(|trial| trial >= packets) {
                self.first_round.get_or_insert(received);
            }
            cx.events.push(Event::RoundReported {
                round,
                received,
                packets,
            });
        }
        self.check_complete(cx, round.saturating_add(1));
        if self.train.is_none() {
            let slots = request.following + 1;
            let group = (0..slots).fold(group, |g, _| next_group(cx.session.groups, g));
            self.depart(
                cx,
                round,
                group,
                sfd + cx.cadence.request_slot() * u64::from(slots),
            );
        }
    }

    /// Takes what a request tells of the transfer.
    fn learn<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, request: &Request) {
        if self.told.is_none() {
            self.told = Some(told(request));
            self.forget_beyond(cx, request.packets);
            cx.stats.packets = request.packets;
        }
    }

    /// Takes out packets that the transfer turns out not to have.
    fn forget_beyond<S: ObjectStore>(&self, cx: &mut Context<'_, S>, packets: u16) {
        while let Some(k) = cx.packets.first_from(packets) {
            cx.packets.remove(k);
            cx.stats.received = cx.stats.received.saturating_sub(1);
        }
    }

    fn check_complete<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>, rounds: u16) {
        let Some(told) = self.told else { return };
        if self.complete || cx.stats.received < told.packets {
            return;
        }
        self.complete = true;
        cx.events.push(Event::Complete(Complete {
            len: cx.session.range.within(told.object_len),
            object_len: told.object_len,
            digest: told.digest,
            packets: told.packets,
            first_round: self.first_round.unwrap_or(told.packets),
            rounds,
            last_packet: self.last_packet,
        }));
    }

    /// Begins a NACK whose first frame's SFD is at `sfd`.
    fn depart<S: ObjectStore>(
        &mut self,
        cx: &mut Context<'_, S>,
        round: u16,
        group: Group,
        sfd: Instant,
    ) {
        let copies = cx.cadence.copies();
        let parts = self.segments(cx, 0).count().max(1);
        let frames = parts * usize::from(copies);
        self.train = Some(Train {
            round,
            sfd,
            segment: self.segments(cx, 0).next().unwrap_or(0),
            copies_left: copies - 1,
            following: u8::try_from(frames - 1).unwrap_or(u8::MAX),
            group,
            step: Duration::ZERO,
        });
        self.order(cx);
    }

    /// The parts of the bit vector from `from` on in which something is missing.
    fn segments<'c, S: ObjectStore>(
        &self,
        cx: &'c Context<'_, S>,
        from: u16,
    ) -> impl Iterator<Item = u16> + 'c {
        let packets = self.told.map_or(0, |told| told.packets);
        let shape = cx.cadence.nack_shape(packets);
        let part = move |s: u16| {
            let first = usize::from(s) * shape.vector_bytes;
            first..first + shape.vector_bytes
        };
        (from..shape.segments)
            .filter(move |s| part(*s).any(|i| cx.packets.missing_byte(i, packets) != 0))
    }

    fn order<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>) {
        let (Some(train), Some(told)) = (self.train, self.told) else {
            return;
        };
        let missing = told.packets.saturating_sub(cx.stats.received);
        let shape = cx.cadence.nack_shape(told.packets);
        // Nothing missing needs no vector.
        let len = if missing == 0 { 0 } else { shape.vector_bytes };
        let mut vector = [0; MAX_SLIM_PAYLOAD];
        // Where the transfer learns, the rotation to go on with comes before it.
        let rotation = self.scores.as_ref().map_or(0, Scores::best);
        let before = cx.session.rotation_bytes();
        vector[..before].fill(rotation);
        let from = usize::from(train.segment) * shape.vector_bytes;
        for (i, byte) in vector[before..before + len].iter_mut().enumerate() {
            *byte = cx.packets.missing_byte(from + i, told.packets);
        }
        let nack = Nack {
            first: u16::try_from(from * 8).unwrap_or(0),
            missing,
            following: train.following,
            vector: &vector[..before + len],
        };
        let hop = cx.session.hops();
        let head = Head {
            kind: Kind::Nack,
            tag: cx.tag,
            hop,
            group: train.group,
        };
        let min = cx.cadence.min_nack_bytes();
        let frame = FrameBuf::build(|w| {
            Header {
                head,
                number: train.round,
            }
            .emit_as(cx.session.format, w)?;
            nack.emit(w)?;
            (w.len()..min).try_for_each(|_| w.u8(0).map(|_| ()))
        });
        let frame = frame.unwrap_or(FrameBuf::EMPTY);
        let step = cx.cadence.nack_period(frame.len());
        let channel = cx.channel(hop - 1, train.sfd);
        if let (Some(tuner), true) = (&mut *cx.tuner, missing > 0) {
            let after = cx
                .cadence
                .round_after(frame.len(), hop - 1, train.following, hop);
            tuner.told(rotation, train.sfd + after);
        }
        cx.air.transmit(frame, channel, When::At(train.sfd));
        self.train = Some(Train { step, ..train });
    }

    /// The frame ordered was sent or refused: orders the next.
    pub(super) fn answered<S: ObjectStore>(&mut self, cx: &mut Context<'_, S>) {
        let Some(train) = self.train.take().filter(|train| train.following > 0) else {
            return;
        };
        let (segment, copies_left) = match train.copies_left.checked_sub(1) {
            Some(left) => (Some(train.segment), left),
            None => (
                self.segments(cx, train.segment + 1).next(),
                cx.cadence.copies() - 1,
            ),
        };
        self.train = segment.map(|segment| Train {
            sfd: train.sfd + train.step,
            segment,
            copies_left,
            following: train.following - 1,
            group: next_group(cx.session.groups, train.group),
            ..train
        });
        self.order(cx);
    }
}

fn told(request: &Request) -> Told {
    let Request {
        packets,
        object_len,
        digest,
        ..
    } = *request;
    Told {
        packets,
        object_len,
        digest,
    }
}
