//! Frames of collection trees: packets on their way to a sink or from one, and routing beacons, each
//! after an [`addressed::Header`](crate::addressed::Header).
//!
//! Every frame carries its sender's [`Stamp`] and a number that counts the frames that the sender
//! sent, by whose gaps neighbours estimate the link (Fusion, section 2.3.2).

use crate::addressed::Header;
use crate::buf::{Reader, WireError, Writer};
use crate::{addressed::Congestion, dispatch};
use thalweg_units::NodeId;

/// What each frame of a node carries for all neighbours; its meaning belongs to whatever holds
/// back the node's queue. Fusion's is its congestion bit (section 4.2).
pub type Stamp = [u8; 1];
/// Where the stamp stands, in packets and beacons alike.
pub const STAMP_AT: usize = crate::addressed::HEADER_BYTES + 1;
/// Bytes before the payload of a packet on its way up.
pub const DATA_HEADER_BYTES: usize = STAMP_AT + size_of::<Stamp>() + 5;
/// Bytes of a beacon before its entries.
pub const BEACON_HEADER_BYTES: usize = STAMP_AT + size_of::<Stamp>() + 1;
/// Bytes of a route in a beacon.
pub const ROUTE_BYTES: usize = 8;
/// Bytes of a link in a beacon.
pub const LINK_BYTES: usize = 3;
/// Most routes in a beacon.
pub const MAX_ROUTES: usize = 4;
/// Most links in a beacon.
pub const MAX_LINKS: usize = 0x1f;

const CONGESTED: u8 = 1;

/// Fusion's stamp.
pub const fn stamp(congestion: Congestion) -> Stamp {
    match congestion {
        Congestion::Clear => [0],
        Congestion::Congested => [CONGESTED],
    }
}
/// What Fusion's stamp says.
///
/// # Errors
/// [`WireError::Malformed`] where it is none of Fusion's.
pub const fn congestion(stamp: Stamp) -> Result<Congestion, WireError> {
    match stamp {
        [0] => Ok(Congestion::Clear),
        [CONGESTED] => Ok(Congestion::Congested),
        _ => Err(WireError::Malformed),
    }
}

/// Which direction a packet takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the sink that its relays' trees lead to.
    Up,
    /// To one node, by the routes that packets of that node left behind on their way up.
    Down {
        /// The node.
        to: NodeId,
    },
}

/// A data packet, one hop of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The link's header.
    pub link: Header,
    /// The sender's.
    pub stamp: Stamp,
    /// Up or down.
    pub direction: Direction,
    /// Who made the packet.
    pub origin: NodeId,
    /// Its number among its origin's packets.
    pub number: u16,
    /// Links that it has crossed before this one.
    pub hops: u8,
    /// What it carries.
    pub payload: &'a [u8],
}

/// A route that a beacon advertises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Where to.
    pub sink: NodeId,
    /// The sink's sequence number (DSDV).
    pub sequence: u16,
    /// Expected transmissions to there, in sixteenths.
    pub cost: u16,
    /// The sender's own next hop; the sink names itself.
    pub parent: NodeId,
}

/// How well the sender of a beacon hears a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkQuality {
    /// The neighbour.
    pub neighbour: NodeId,
    /// Its frames that arrive, of 255.
    pub received: u8,
}

/// A route that a beacon of MultiHopLQI advertises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LqiRoute {
    /// Sum of its links' costs, below [`LqiRoute::NO_COST`].
    pub cost: u16,
    /// Links to the sink.
    pub hops: u8,
    /// The sender's own next hop; the sink names itself.
    pub parent: NodeId,
}

impl LqiRoute {
    /// What stands on the air as the cost where there is no route.
    pub const NO_COST: u16 = u16::MAX;
}

/// A beacon of MultiHopLQI (TinyOS 1.x): the sender's route. Its number is that of the link's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LqiBeacon {
    /// The link's header.
    pub link: Header,
    /// The sender's.
    pub stamp: Stamp,
    /// Its route, if it has one.
    pub route: Option<LqiRoute>,
}

impl LqiBeacon {
    /// Writes the beacon.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.link.emit(w)?;
        w.u8(dispatch::TREE_LQI_BEACON)?.bytes(&self.stamp)?;
        let none = LqiRoute {
            cost: LqiRoute::NO_COST,
            hops: u8::MAX,
            parent: self.link.from,
        };
        let route = self.route.unwrap_or(none);
        w.u16(route.cost)?.u8(route.hops)?.u16(route.parent.get())?;
        Ok(())
    }
}

/// A frame to all that carries its sender's stamp and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The link's header.
    pub link: Header,
    /// The sender's.
    pub stamp: Stamp,
}

impl Notice {
    /// Writes the notice.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.link.emit(w)?;
        w.u8(dispatch::TREE_NOTICE)?.bytes(&self.stamp)?;
        Ok(())
    }
}

/// A frame of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repr<'a> {
    /// A data packet.
    Data(Data<'a>),
    /// A beacon.
    Beacon(Beacon<'a>),
    /// A beacon of MultiHopLQI.
    LqiBeacon(LqiBeacon),
    /// A notice.
    Notice(Notice),
}

/// A routing beacon: routes, then link qualities, read one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// The link's header.
    pub link: Header,
    /// The sender's.
    pub stamp: Stamp,
    routes: &'a [u8],
    links: &'a [u8],
}

impl Beacon<'_> {
    /// The routes.
    pub fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        self.routes.chunks_exact(ROUTE_BYTES).filter_map(|entry| {
            let mut r = Reader::new(entry);
            Some(Route {
                sink: r.node().ok()?,
                sequence: r.u16().ok()?,
                cost: r.u16().ok()?,
                parent: r.node().ok()?,
            })
        })
    }
    /// The link qualities.
    pub fn links(&self) -> impl Iterator<Item = LinkQuality> + '_ {
        self.links.chunks_exact(LINK_BYTES).filter_map(|entry| {
            let mut r = Reader::new(entry);
            Some(LinkQuality {
                neighbour: r.node().ok()?,
                received: r.u8().ok()?,
            })
        })
    }
    /// Writes a beacon.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], also where there are more entries than a beacon can count.
    pub fn emit(
        w: &mut Writer<'_>,
        link: Header,
        stamp: Stamp,
        routes: &[Route],
        links: impl Iterator<Item = LinkQuality> + Clone,
    ) -> Result<(), WireError> {
        let count = links.clone().count();
        if routes.len() > MAX_ROUTES || count > MAX_LINKS {
            return Err(WireError::NoRoom);
        }
        link.emit(w)?;
        w.u8(dispatch::TREE_BEACON)?.bytes(&stamp)?;
        w.u8((routes.len() << 5 | count) as u8)?;
        for route in routes {
            w.u16(route.sink.get())?.u16(route.sequence)?;
            w.u16(route.cost)?.u16(route.parent.get())?;
        }
        for link in links {
            w.u16(link.neighbour.get())?.u8(link.received)?;
        }
        Ok(())
    }
}

impl Data<'_> {
    /// Writes the packet.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.link.emit(w)?;
        w.u8(match self.direction {
            Direction::Up => dispatch::TREE_DATA,
            Direction::Down { .. } => dispatch::TREE_DOWN,
        })?;
        w.bytes(&self.stamp)?;
        w.u16(self.origin.get())?.u16(self.number)?.u8(self.hops)?;
        if let Direction::Down { to } = self.direction {
            w.u16(to.get())?;
        }
        w.bytes(self.payload)?;
        Ok(())
    }
}

impl<'a> Repr<'a> {
    /// The link's header.
    pub const fn link(&self) -> &Header {
        match self {
            Self::Data(data) => &data.link,
            Self::Beacon(beacon) => &beacon.link,
            Self::LqiBeacon(beacon) => &beacon.link,
            Self::Notice(notice) => &notice.link,
        }
    }
    /// Its sender's stamp.
    pub const fn stamp(&self) -> Stamp {
        match self {
            Self::Data(data) => data.stamp,
            Self::Beacon(beacon) => beacon.stamp,
            Self::LqiBeacon(beacon) => beacon.stamp,
            Self::Notice(notice) => notice.stamp,
        }
    }
    /// Reads a frame.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let link = Header::parse(&mut r)?;
        let kind = r.u8()?;
        let stamp = [r.u8()?];
        match kind {
            dispatch::TREE_DATA | dispatch::TREE_DOWN => Ok(Self::Data(Data {
                link,
                stamp,
                origin: r.node()?,
                number: r.u16()?,
                hops: r.u8()?,
                direction: match kind {
                    dispatch::TREE_DOWN => Direction::Down { to: r.node()? },
                    _ => Direction::Up,
                },
                payload: r.rest(),
            })),
            dispatch::TREE_BEACON => {
                let counts = usize::from(r.u8()?);
                let (routes, links) = (counts >> 5, counts & MAX_LINKS);
                if routes > MAX_ROUTES {
                    return Err(WireError::Malformed);
                }
                Ok(Self::Beacon(Beacon {
                    link,
                    stamp,
                    routes: r.bytes(routes * ROUTE_BYTES)?,
                    links: r.bytes(links * LINK_BYTES)?,
                }))
            }
            dispatch::TREE_LQI_BEACON => {
                let route = LqiRoute {
                    cost: r.u16()?,
                    hops: r.u8()?,
                    parent: r.node()?,
                };
                Ok(Self::LqiBeacon(LqiBeacon {
                    link,
                    stamp,
                    route: (route.cost != LqiRoute::NO_COST).then_some(route),
                }))
            }
            dispatch::TREE_NOTICE => Ok(Self::Notice(Notice { link, stamp })),
            _ => Err(WireError::Malformed),
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
