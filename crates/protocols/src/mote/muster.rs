//! Musters: floods that call all nodes to a session, for which the layer above takes the radio.
//!
//! Owns: sending one, as often as [`TIMES`]; noting one that came; giving the radio away and taking it back. Time base: the
//! node's clock. Invariant: a muster that was ordered is noted by its own sink too, once it is out. Tests:
//! `../member/tests.rs`.

use super::company::LOOK;
use super::setup::first_frame;
use super::{Mote, Order, Work};
use crate::floodnet::{self, Idle};
use crate::glossy::{flood_spacing, Insistence};
use crate::object::ObjectStore;
use crate::pipeline;
use crate::seals::Guard;
use thalweg_engine::{Engine, When};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::flood::HEADER_BYTES;
use thalweg_wire::muster::Muster;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::FrameBuf;

/// How often it is flooded: who misses it has no part in the session.
const TIMES: u8 = 3;
/// Floods are so far apart where nodes may look for others on other channels: one comes while they are back.
const APART: Duration = Duration::from_millis(800);
const _: () = assert!(APART.as_nanos() < LOOK.as_nanos());
const _: () = assert!(APART.as_nanos() * (TIMES as u64 - 1) > LOOK.as_nanos() * 3 / 2);
/// From the last flood to the beginning.
const AFTER: Duration = Duration::from_millis(20);

/// What a node is called to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mustered {
    /// The base station.
    pub by: NodeId,
    /// When the session begins.
    pub start: Instant,
}

/// A muster on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mustering {
    start: Instant,
    sources: FrameBuf,
    /// The next flood begins then, or once the one before is over; from one to the next.
    next: Instant,
    apart: Duration,
    /// Floods that are still to be begun.
    left: u8,
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// Calls all nodes to a session of `sources`. It ends in [`Self::take_mustered`], or in an event that refuses it.
    pub fn muster(&mut self, now: Instant, sources: FrameBuf) {
        self.queue_order(now, Order::Muster(sources));
        self.run(now);
    }
    /// Whether it was called to a session.
    pub const fn is_mustered(&self) -> bool {
        self.mustered.is_some()
    }
    /// Its sources, as [`Muster`] has them, until the node is called again.
    pub fn mustered_sources(&self) -> &[u8] {
        Muster::parse(self.floods.payload()).map_or(&[], |muster| muster.sources)
    }
    /// What this node was called to since the last call.
    pub fn take_mustered(&mut self) -> Option<Mustered> {
        self.mustered.take()
    }
    /// Gives the radio away, with nothing pending, until [`Self::resume`].
    pub fn pause(&mut self, now: Instant) {
        self.pipeline.handle_command(now, pipeline::Command::Stop);
        (self.work, self.pending_call) = (Work::Nothing, None);
        self.train.stop();
        self.go_to_rest(now, now);
    }
    /// Takes the radio back. Other nodes may rest meanwhile.
    pub fn resume(&mut self, now: Instant) {
        (self.active, self.reached) = (Some(now), None);
        self.take_floods(now);
    }

    /// Begins to flood it: all nodes are awake.
    pub(super) fn begin_mustering(&mut self, now: Instant, sources: FrameBuf) {
        let bytes = HEADER_BYTES + 1 + 3 + sources.len();
        let spacing = flood_spacing(bytes, self.config.n_tx, self.floods.timing());
        let ahead = first_frame(self.floods.timing());
        // Who looks for others takes part in no session, and misses no end of one.
        let may_look = self.config.idle == Idle::Listens && !sources.is_empty();
        let apart = match may_look {
            true => APART,
            false => Duration::ZERO,
        };
        let all = (spacing + ahead) * u64::from(TIMES) + apart * u64::from(TIMES - 1);
        let start = now + all + AFTER;
        self.work = Work::Mustering(Mustering {
            start,
            sources,
            next: now,
            apart,
            left: TIMES,
        });
        self.go_on_mustering(now);
    }
    /// No flood of it is under way: the next, or its end.
    pub(super) fn go_on_mustering(&mut self, now: Instant) {
        let Work::Mustering(mustering) = &mut self.work else {
            return;
        };
        let (start, sources) = (mustering.start, mustering.sources);
        let Some(left) = mustering.left.checked_sub(1) else {
            self.mustered = Some(Mustered { by: self.id, start });
            self.work = Work::Nothing;
            return;
        };
        mustering.left = left;
        let ahead = first_frame(self.floods.timing());
        let first = mustering.next.max(now) + ahead;
        let begin = match mustering.next > now {
            true => When::At(first),
            false => When::Now,
        };
        mustering.next += mustering.apart;
        let muster = Muster {
            until_start: start.since(first),
            sources: &sources,
        };
        // Fits: whoever orders it has made sure of that, and a flood that carries nothing calls nobody.
        let payload = FrameBuf::build(|w| muster.emit(w)).unwrap_or(FrameBuf::EMPTY);
        let flood = floodnet::Command::Flood {
            payload,
            insistence: Insistence::Throughout,
            begin,
        };
        self.floods.handle_command(now, flood);
    }
    /// Notes the muster in a flood of `by`, if it is one. A node that is at work leaves it to others.
    pub(super) fn heed(&mut self, by: NodeId, reference: Instant) -> bool {
        let Ok(muster) = Muster::parse(self.floods.payload()) else {
            return false;
        };
        // Sessions are not sealed.
        if self.guard().sealing() == Sealing::Sealed {
            return true;
        }
        if by != self.id && !self.has_order() {
            let start = reference + muster.until_start;
            self.mustered = Some(Mustered { by, start });
        }
        true
    }
}
