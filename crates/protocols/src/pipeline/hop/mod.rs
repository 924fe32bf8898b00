//! Block by block, hop by hop: every relay stores a block of packets and hands it on when it has all of it.
//!
//! For links on which a pipeline loses too much: each hop repeats what it lost, so a route of any length delivers what
//! its worst link does. No publication's; the parts are old (store and forward, selective repeat). The call travels
//! along the route itself, each hop acknowledged, on the control channel; no flood is needed. Then every node listens on
//! its own channel. A node that has a block polls the next until that is free, sends what the answer lacks, and polls
//! again. Time base: the node's clock. Invariants: a block is taken by an empty relay alone and stays until the next
//! node has all of it, so packets arrive in order; every wait ends. Memory is the pipeline's own: one of them runs at a
//! time. Tests: `mote/tests/hops.rs`.

mod give;
mod take;

use super::air::{Air, TxAnswer};
use super::end::End;
use super::events::{Event, Stats};
use crate::object::{ObjectInfo, ObjectStore, Pieces};
use crate::ring::Fifo;
use crate::rng::Rng;
use crate::seals::ControlSeal;
use core::ops::ControlFlow::{self, Break, Continue};
use thalweg_engine::When;
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::hop::{Block, Calls, Frame, HopRoute, Place, Subject, BLOCK, MAX_PAYLOAD};
use thalweg_wire::pipeline::MAX_PACKETS;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::WireError;

/// How long a node calls the one before it, for an object.
const CALLS: Duration = Duration::from_secs(10);
/// The same for a report.
const REPORT_CALLS: Duration = Duration::from_secs(3);
/// How long a node that was called answers calls whose answer was lost.
const HOLDS: Duration = Duration::from_millis(150);
/// How long the next node may leave polls unanswered.
const POLLS: Duration = Duration::from_secs(6);
/// How long the node before may be silent: longer than that polls, so nodes give up from the source on.
const SILENCE: Duration = Duration::from_secs(8);
/// How long a node that has everything answers polls whose answer was lost.
const LINGERS: Duration = Duration::from_millis(400);
/// Polls to a node that is busy with the next hop come so far apart, and up to twice as far.
const POLLS_APART: Duration = Duration::from_millis(8);
/// After so many calls a node listens for polls of the node that it calls, for so long.
const CALLS_BETWEEN_LOOKS: u8 = 12;
const LOOK: Duration = Duration::from_millis(30);
/// After so many answers without a new packet the next node is taken to have no use for them: over a link that carries one
/// frame in twenty that happens once in half a million blocks.
const IN_VAIN: u8 = 255;
/// How many polls follow each other at once.
const QUICK_POLLS: u16 = 3;
const SLOT: usize = MAX_PAYLOAD as usize;
const _: () = assert!(BLOCK as usize * SLOT <= MAX_PACKETS as usize / 8);

/// What a node needs to take its place.
#[derive(Debug, Clone, Copy)]
pub struct HopSetup {
    /// The route.
    pub route: HopRoute,
    /// Its position on it.
    pub position: u8,
    /// Where this node listens when it is called, and where it calls others.
    pub control: Channel,
    /// From the end of a frame to the end of its answer, at most.
    pub answer: Duration,
    /// For its pauses between polls.
    pub seed: u64,
}

impl HopSetup {
    /// How long a node calls the one before it.
    fn calls(&self) -> Duration {
        match self.route.subject {
            Subject::Object => CALLS,
            Subject::Report => REPORT_CALLS,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Calls the node before it.
    Calling,
    /// That one has answered. Others may not know yet that this one has.
    Holding,
    /// Takes a block from the node before it.
    Taking,
    /// Has asked the next node what it lacks.
    Polling,
    /// Sends that.
    Sending,
    /// Has nothing more to do, but answers polls.
    Lingering,
}

/// The kind of the frame that is on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnAir {
    Nothing,
    Call,
    Called,
    Poll,
    Data,
    Ack,
}

/// What a call into the engine works with.
pub(super) struct Cx<'a> {
    pub(super) air: &'a mut Air,
    /// Room for a block.
    pub(super) memory: &'a mut [u8],
    pub(super) store: &'a mut dyn ObjectStore,
    pub(super) events: &'a mut Fifo<Event, 8>,
    pub(super) stats: &'a mut Stats,
    /// What seals frames, in a secured network.
    pub(super) seal: Option<&'a mut dyn ControlSeal>,
}

/// `Break` where the node's part is over.
type Flow = ControlFlow<End>;

/// A node's part in a transfer under way.
#[derive(Debug)]
pub(super) struct HopTransfer {
    setup: HopSetup,
    phase: Phase,
    on_air: OnAir,
    /// Of the phase: when something is due.
    due: Option<Instant>,
    /// When the node gives up.
    gives_up: Instant,
    /// The first packet of the block that it takes or gives.
    base: u16,
    /// That block, once it is known.
    block: Option<Block>,
    /// Its packets that are there: here, or where this node sends.
    here: u16,
    /// Its packets still to be sent before the next poll.
    pending: u16,
    lens: [u8; BLOCK as usize],
    /// Polls since the last answer.
    polls: u16,
    /// Answers since the last that brought a new packet.
    in_vain: u8,
    /// Calls since the last look for polls.
    calls: u8,
    /// Calls so far, modulo 256: which channel is next, where they go on all.
    turn: u8,
    object: Option<ObjectInfo>,
    /// When the last new packet came in.
    last_packet: Instant,
    rng: Rng,
}

impl HopTransfer {
    /// Takes its part; as a source with this `report` where that is wanted.
    pub(super) fn start(
        setup: HopSetup,
        report: Option<&[u8]>,
        now: Instant,
        cx: &mut Cx<'_>,
    ) -> Self {
        let mut transfer = Self {
            phase: Phase::Calling,
            on_air: OnAir::Nothing,
            due: None,
            gives_up: now + setup.calls(),
            base: 0,
            block: None,
            here: 0,
            pending: 0,
            lens: [0; BLOCK as usize],
            polls: 0,
            in_vain: 0,
            calls: 1,
            turn: 0,
            object: None,
            last_packet: now,
            rng: Rng::new(setup.seed),
            setup,
        };
        if let Some(report) = report {
            transfer.keep(cx, 0, 0, report);
        }
        cx.air.listen(setup.control, 0);
        if transfer.is_sink() {
            if setup.route.subject == Subject::Object {
                cx.store.begin();
            }
            transfer.call(cx);
        } else {
            transfer.answer_call(now, cx);
        }
        transfer
    }

    fn position(&self) -> u8 {
        self.setup.position
    }
    fn is_source(&self) -> bool {
        self.position() == 0
    }
    fn is_sink(&self) -> bool {
        self.position() == self.setup.route.hops()
    }
    const fn transfer(&self) -> u16 {
        self.setup.route.transfer
    }
    fn pieces(&self) -> Pieces {
        Pieces::of_range(self.setup.route.range, self.setup.route.payload())
    }

    fn send(&mut self, cx: &mut Cx<'_>, kind: OnAir, frame: &Frame<'_>, channel: Channel) {
        // What the engine writes fits a frame.
        let written = cx.air.frame_mut();
        let built = written.rebuild(|w| frame.emit(w));
        let sealed = match (self.setup.route.sealing(), &mut cx.seal) {
            (Sealing::Open, _) => Ok(()),
            (Sealing::Sealed, Some(seal)) => seal.seal_hop(written),
            (Sealing::Sealed, None) => Err(WireError::Malformed),
        };
        if built.is_ok() && sealed.is_ok() {
            cx.air.transmit(channel, When::Now);
            self.on_air = kind;
            self.due = None;
        }
    }

    fn call(&mut self, cx: &mut Cx<'_>) {
        let frame = Frame::Call {
            to: self.position().saturating_sub(1),
            route: self.setup.route,
        };
        let channel = self.next_call();
        if self.setup.route.calls == Calls::Everywhere {
            cx.air.listen(channel, 0);
        }
        self.send(cx, OnAir::Call, &frame, channel);
    }
    /// The channel of the next call. A node that has no links on the control channel listens where it heard something
    /// last: that may be the hop's channel or any other.
    fn next_call(&mut self) -> Channel {
        if self.setup.route.calls == Calls::Control {
            return self.setup.control;
        }
        self.turn = self.turn.wrapping_add(1);
        match self.turn % 2 {
            0 => Channel::from_index(usize::from(self.turn / 2) % Channel::COUNT),
            _ => self.setup.route.channel(self.position()),
        }
    }
    /// Calls once more; now and then the node before this one may have been called and only its answers be lost: then it
    /// polls on this node's own channel.
    fn call_again(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.calls = (self.calls + 1) % CALLS_BETWEEN_LOOKS;
        match self.calls {
            0 => {
                cx.air.listen(self.setup.route.channel(self.position()), 0);
                self.due = Some(now + LOOK);
            }
            1 => {
                cx.air.listen(self.setup.control, 0);
                self.call(cx);
            }
            _ => self.call(cx),
        }
    }
    fn answer_call(&mut self, now: Instant, cx: &mut Cx<'_>) {
        let (transfer, by) = (self.transfer(), self.position());
        let frame = Frame::Called { transfer, by };
        self.send(cx, OnAir::Called, &frame, self.setup.control);
        // A source calls nobody; one that is called again was not heard.
        if self.phase == Phase::Holding || self.is_source() {
            self.hold(now);
        }
    }
    fn hold(&mut self, now: Instant) {
        self.phase = Phase::Holding;
        self.due = Some(now + HOLDS);
    }

    /// A short pause of a random length.
    fn pause(&mut self, most: Duration) -> Duration {
        let micros = u32::try_from(most.as_micros()).unwrap_or(u32::MAX);
        Duration::from_micros(u64::from(self.rng.below(micros)))
    }

    pub(super) fn answered(&mut self, now: Instant, cx: &mut Cx<'_>, answer: TxAnswer) -> Flow {
        cx.stats.refused += u32::from(matches!(answer, TxAnswer::Refused(_)));
        match core::mem::replace(&mut self.on_air, OnAir::Nothing) {
            OnAir::Call if self.phase == Phase::Calling => {
                let pause = self.pause(self.setup.answer);
                self.due = Some(now + self.setup.answer + pause);
            }
            OnAir::Called if self.phase == Phase::Calling => self.due = Some(now),
            OnAir::Poll if self.phase == Phase::Polling => {
                let pause = match self.polls {
                    0..=QUICK_POLLS => Duration::ZERO,
                    _ => POLLS_APART + self.pause(POLLS_APART),
                };
                self.due = Some(now + self.setup.answer + pause);
            }
            OnAir::Data if self.phase == Phase::Sending => self.send_next(cx),
            OnAir::Ack => self.acknowledged(now, cx),
            // An answer may come before the frame that it answers is said to be out.
            _ => {}
        }
        Continue(())
    }

    /// `mpdu` without its MIC where the transfer is sealed; none where that is wrong.
    fn opened<'m>(&self, cx: &mut Cx<'_>, mpdu: &'m [u8]) -> Option<&'m [u8]> {
        if self.setup.route.sealing() == Sealing::Open {
            return Some(mpdu);
        }
        let plain = cx.seal.as_mut().and_then(|seal| seal.opened_hop(mpdu));
        cx.stats.forged = (cx.stats.forged).saturating_add(u16::from(plain.is_none()));
        plain
    }

    pub(super) fn frame(&mut self, now: Instant, cx: &mut Cx<'_>, mpdu: &[u8]) -> Flow {
        let Some(mpdu) = self.opened(cx, mpdu) else {
            return Continue(());
        };
        let Ok(frame) = Frame::parse(mpdu) else {
            return Continue(());
        };
        let (own, is_early) = (
            self.transfer(),
            matches!(self.phase, Phase::Calling | Phase::Holding),
        );
        match frame {
            Frame::Call { to, route } if is_early && route.transfer == own => {
                if to == self.position() {
                    self.answer_call(now, cx);
                } else if to + 2 == self.position() && self.phase == Phase::Calling {
                    // The node before this one calls on: it was called.
                    self.hold(now);
                }
            }
            Frame::Called { transfer, by }
                if transfer == own && by + 1 == self.position() && self.phase == Phase::Calling =>
            {
                self.hold(now);
            }
            Frame::Data {
                transfer,
                by,
                number,
                payload,
            } if transfer == own && by + 1 == self.position() => {
                self.take(now, cx, number, payload);
            }
            Frame::Poll {
                transfer,
                by,
                block,
            } if transfer == own && by + 1 == self.position() => {
                if is_early {
                    // It was called, whatever became of its answer.
                    self.listen(cx);
                }
                self.polled(now, cx, block);
            }
            Frame::Ack {
                transfer,
                by,
                base,
                here,
            } if transfer == own && by == self.position() + 1 => {
                return self.acked(now, cx, base, here);
            }
            _ => {}
        }
        Continue(())
    }

    pub(super) fn timeout(&mut self, at: Instant, cx: &mut Cx<'_>) -> Flow {
        let is_due = self.due.is_some_and(|due| due <= at);
        match self.phase {
            // The answer may have been lost: if nobody is there, no packet comes.
            Phase::Calling if at >= self.gives_up => self.hold(at),
            Phase::Calling if is_due => self.call_again(at, cx),
            Phase::Holding if is_due && self.is_source() => self.give_next(at, cx),
            Phase::Holding if is_due => {
                let hops = u64::from(self.setup.route.hops());
                self.listen(cx);
                self.gives_up = at + self.setup.calls() + SILENCE + Duration::from_secs(1) * hops;
            }
            Phase::Polling | Phase::Sending if at >= self.gives_up => return Break(End::GaveUp),
            Phase::Polling if is_due => self.poll_next(cx),
            Phase::Taking if at >= self.gives_up => return Break(self.silence(cx)),
            Phase::Lingering if at >= self.gives_up => return Break(self.end()),
            _ => {}
        }
        Continue(())
    }

    /// How a part ends that was done.
    fn end(&self) -> End {
        match self.is_source() || self.is_sink() {
            true => End::Complete,
            false => End::Released,
        }
    }

    pub(super) fn next(&self) -> Instant {
        let due = self.due.unwrap_or(self.gives_up);
        match self.phase {
            Phase::Holding => due,
            Phase::Calling | Phase::Polling => due.min(self.gives_up),
            Phase::Taking | Phase::Sending | Phase::Lingering => self.gives_up,
        }
    }
}
