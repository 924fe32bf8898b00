//! What every role of a pipeline works with: the session of the transfer, and the node's resources.

use super::adaptation::{Adaptation, Retune};
use super::air::Air;
use super::cadence::Cadence;
use super::events::{End, Event, Stats};
use super::hop::Cx;
use super::session::Session;
use crate::bits::Bits;
use crate::object::ObjectStore;
use crate::ring::Fifo;
use crate::seals::{ControlSeal, Guard};
use core::ops::{ControlFlow, DerefMut};
use thalweg_units::{Duration, Instant};
use thalweg_wire::phy::SYMBOL;
use thalweg_wire::pipeline::{Kind, Request, MAX_PACKETS};
use thalweg_wire::route::{ObjectRange, Role};
use thalweg_wire::{FrameBuf, Reader};

/// `Break` where the node's part is over.
pub(super) type Flow = ControlFlow<End>;

/// The destination's packets that are there, or the source's that are still to be sent.
pub(super) type Packets = Bits<{ MAX_PACKETS as usize / 8 }>;

/// What a node needs to take part in a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Setup<A> {
    /// The transfer and its policy.
    pub session: Session,
    /// The slots that follow from it on the node's board.
    pub cadence: Cadence,
    /// What the protocol changes on the way.
    pub adaptation: A,
}

/// What a node works with in all its transfers.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) air: Air,
    pub(super) packets: Packets,
    /// Not yet polled. There is room for more than one handler call causes.
    pub(super) events: Fifo<Event, 8>,
    pub(super) stats: Stats,
    pub(super) held: Held,
}

/// Whose [`Packets`] a node has, from one transfer to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It has none.
    Nothing,
    /// Destination: some are there, and no request has said of which object.
    Unknown,
    /// They are of this.
    Of(Key),
}

impl Held {
    /// Whether they are packets that are there.
    pub(super) const fn is_there(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Unknown => true,
            Self::Of(key) => matches!(key.which, Which::There),
        }
    }
}

/// Which packets they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Destination: those that are there, of the object in the requests.
    There,
    /// Source: those that it knows to be missing, and has not sent since.
    Unsent,
}

/// What distinguishes packets of different objects, and of different ranges of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    which: Which,
    packets: u16,
    object_len: u32,
    /// The object's, mixed with the offset of the range, which takes no RAM.
    digest: [u8; 8],
}

impl Key {
    /// That of the `range` of the object in `request`.
    pub(super) fn new(which: Which, request: &Request, range: ObjectRange) -> Self {
        let mut digest = request.digest;
        for (byte, of) in digest.iter_mut().zip(range.offset.to_le_bytes()) {
            *byte ^= of;
        }
        Self {
            which,
            packets: request.packets,
            object_len: request.object_len,
            digest,
        }
    }
}

impl Resources {
    /// What a transfer hop by hop borrows for one call.
    pub(super) fn hop_context<'a, G: Guard>(
        &'a mut self,
        store: &'a mut dyn ObjectStore,
        guard: &'a mut G,
    ) -> Cx<'a> {
        Cx {
            seal: guard.seals().map(|seals| seals as &mut dyn ControlSeal),
            air: &mut self.air,
            memory: self.packets.bytes_mut(),
            store,
            events: &mut self.events,
            stats: &mut self.stats,
        }
    }
    /// What the roles borrow for one call.
    pub(super) fn context<'a, A: DerefMut<Target = dyn Adaptation>, G: Guard>(
        &'a mut self,
        setup: &'a mut Setup<A>,
        store: &'a mut dyn ObjectStore,
        guard: &'a mut G,
    ) -> Context<'a> {
        Context {
            seal: guard.seals().map(|seals| seals as &mut dyn ControlSeal),
            session: &setup.session,
            cadence: &setup.cadence,
            adaptation: &mut *setup.adaptation,
            store,
            air: &mut self.air,
            packets: &mut self.packets,
            events: &mut self.events,
            stats: &mut self.stats,
            held: &mut self.held,
        }
    }
}

/// Borrowed from the engine for one call.
pub(super) struct Context<'a> {
    seal: Option<&'a mut dyn ControlSeal>,
    pub(super) session: &'a Session,
    pub(super) cadence: &'a Cadence,
    pub(super) adaptation: &'a mut dyn Adaptation,
    pub(super) store: &'a mut dyn ObjectStore,
    pub(super) air: &'a mut Air,
    pub(super) packets: &'a mut Packets,
    pub(super) events: &'a mut Fifo<Event, 8>,
    pub(super) stats: &'a mut Stats,
    pub(super) held: &'a mut Held,
}

impl Context<'_> {
    pub(super) fn emit(&mut self, event: Event) {
        self.events.tell(event);
    }
    /// Seals the request or NACK that was written. One that cannot be sealed, which cannot come about, is refused by the
    /// radio as it is empty.
    pub(super) fn seal(&mut self) {
        if self.session.mic_bytes == 0 {
            return;
        }
        let frame = self.air.frame_mut();
        let mic = self.seal.as_mut().and_then(|seal| seal.mic(frame));
        if mic.is_none_or(|mic| frame.append(&mic).is_err()) {
            *frame = FrameBuf::EMPTY;
        }
    }
    /// What follows the header in `mpdu`, a frame of `kind`: `body`, without the MIC where there is one; none where that is
    /// wrong.
    pub(super) fn opened<'m>(
        &mut self,
        kind: Kind,
        mpdu: &'m [u8],
        body: Reader<'m>,
    ) -> Option<Reader<'m>> {
        if kind == Kind::Data || self.session.mic_bytes == 0 {
            return Some(body);
        }
        let header_bytes = mpdu.len() - body.remaining();
        let plain = self.seal.as_mut().and_then(|seal| seal.opened(mpdu));
        let forged = u16::from(plain.is_none());
        self.stats.forged = self.stats.forged.saturating_add(forged);
        plain
            .and_then(|plain| plain.get(header_bytes..))
            .map(Reader::new)
    }
    /// Listens on this node's channel, if on any, and aborts what is being received. Relays want the heads of frames;
    /// source and destination mostly have nothing better to receive.
    pub(super) fn listen(&mut self) {
        let head_bytes = match self.session.role {
            Role::Relay { .. } | Role::Backup { .. } | Role::Alternate { .. } => {
                self.session.format.head_bytes()
            }
            Role::Destination if self.adaptation.wants_heads() => self.session.format.head_bytes(),
            Role::Source | Role::Destination => 0,
        };
        match self.adaptation.listening() {
            Some(channel) => self.air.listen(channel, head_bytes),
            None => self.air.rest(),
        }
    }
    pub(super) fn retune(&mut self, retune: Retune) {
        if retune == Retune::Now {
            self.listen();
        }
    }
    /// The first instant from `sfd` on at which a frame may begin.
    pub(super) fn align(&self, sfd: Instant) -> Instant {
        self.adaptation.align(sfd, Duration::ZERO)
    }
    /// The same for an instant computed from another node's frame, which is off by what the two clocks drift apart in
    /// an exchange: some microseconds.
    pub(super) fn align_heard(&self, sfd: Instant) -> Instant {
        self.adaptation.align(sfd, SYMBOL)
    }
}
