//! Orders to a mote and events from it.

use crate::collection::Collect;
use crate::linkprobe::Measure;
use crate::sweep::Sweep;
use crate::{floodnet, pipeline};
use thalweg_units::{Duration, Instant};
use thalweg_wire::hop::HopRoute;
use thalweg_wire::route::Route;
use thalweg_wire::seal::frame::Sealing;

/// An order. All but [`Command::Stop`] are for the sink, one at a time.
// The lists are stored in place: there is no allocator to put them elsewhere.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<const NODES: usize = 256> {
    /// Measure the links of these nodes.
    Measure(Measure<NODES>),
    /// Collect the link tables of the last measurement.
    Collect(Collect<NODES>),
    /// Measure the links of these nodes the short way, and collect what was measured.
    Sweep(Sweep<NODES>),
    /// Wake the nodes of a route by floods and fetch the object over it. This node must be the
    /// route's sink.
    Fetch(Route),
    /// The same as one of several transfers that sinks begin together, each over nodes and on
    /// channels of its own. The first sink's wake-up leaves `room` before the transfers begin;
    /// a sink that hears of it, and gets such an order before they do, floods its route at once
    /// (the floods of two sinks must not meet) and begins with them.
    FetchTogether {
        /// As of [`Command::Fetch`].
        route: Route,
        /// For the wake-ups of the other sinks; without meaning for them.
        room: Duration,
    },
    /// Call the nodes of a route one after the other and fetch the object over it, block by block. This node must be
    /// the route's sink.
    FetchHops(HopRoute),
    /// Leave everything and listen for floods.
    Stop,
    /// This node's floods may have the numbers from `from` on, so many of them. Only in a secured network, whose floods
    /// are numbered.
    Numbers {
        /// The first.
        from: u32,
        /// How many.
        count: u16,
    },
}

impl<const NODES: usize> Command<NODES> {
    /// In what networks it is carried out; none where in any.
    pub const fn sealing(&self) -> Option<Sealing> {
        match self {
            Self::Fetch(route) | Self::FetchTogether { route, .. } => Some(route.sealing),
            Self::FetchHops(route) => Some(route.sealing()),
            Self::Numbers { .. } => Some(Sealing::Sealed),
            // Beacons that take turns are not sealed.
            Self::Measure(_) | Self::Collect(_) => Some(Sealing::Open),
            Self::Sweep(_) | Self::Stop => None,
        }
    }
}

/// Why an order is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Another order is being carried out, or this node takes part in another's.
    Busy,
    /// The route's sink is another node.
    NotSink,
    /// The route cannot be written into wake-up messages.
    BadRoute,
    /// The transfers to begin together with begin too soon to wake another route.
    TooLate,
    /// The order is for a secured network and this node has no keys, or the other way round.
    Sealing,
}

/// Events for the layer above.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Of link measurement and collection.
    Floods(floodnet::Event),
    /// On the sink: the wake-up floods have begun.
    WakeUp {
        /// When the SFD of the first wake-up packet ended: goodput counts from here (P3, section V).
        reference: Instant,
        /// When the SFD of the source's first packet will end.
        start: Instant,
    },
    /// This node takes part in a transfer from now on.
    Joined,
    /// Of the transfer.
    Pipeline(pipeline::Event),
    /// An order was not carried out.
    Refused(Refused),
}
