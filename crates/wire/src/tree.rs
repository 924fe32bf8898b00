//! Frames of collection trees: data on its way to a sink, and routing beacons, each after an
//! [`addressed::Header`](crate::addressed::Header).
//!
//! Every frame carries its sender's congestion bit (Fusion, section 4.2) and a number that counts
//! the frames that the sender sent, by whose gaps neighbours estimate the link (section 2.3.2).

use crate::addressed::Header;
use crate::buf::{Reader, WireError, Writer};
use crate::{addressed::Congestion, dispatch};
use thalweg_units::NodeId;

/// Where the flags of both kinds stand.
pub const FLAGS_AT: usize = crate::addressed::HEADER_BYTES + 1;
/// Bytes of a data frame before its payload.
pub const DATA_HEADER_BYTES: usize = crate::addressed::HEADER_BYTES + 7;
/// Bytes of a beacon before its entries.
pub const BEACON_HEADER_BYTES: usize = crate::addressed::HEADER_BYTES + 3;
/// Bytes of a route in a beacon.
pub const ROUTE_BYTES: usize = 8;
/// Bytes of a link in a beacon.
pub const LINK_BYTES: usize = 3;
/// Most routes in a beacon.
pub const MAX_ROUTES: usize = 4;

const CONGESTED: u8 = 1;

/// The flags byte.
pub const fn flags(congestion: Congestion) -> u8 {
    match congestion {
        Congestion::Clear => 0,
        Congestion::Congested => CONGESTED,
    }
}

fn congestion(flags: u8) -> Result<Congestion, WireError> {
    match flags {
        0 => Ok(Congestion::Clear),
        CONGESTED => Ok(Congestion::Congested),
        _ => Err(WireError::Malformed),
    }
}

/// A data packet, one hop of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The link's header.
    pub link: Header,
    /// The sender's state.
    pub congestion: Congestion,
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

/// A frame of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repr<'a> {
    /// A data packet.
    Data(Data<'a>),
    /// A beacon.
    Beacon(Beacon<'a>),
}

/// A routing beacon: routes, then link qualities, read one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// The link's header.
    pub link: Header,
    /// The sender's state.
    pub congestion: Congestion,
    routes: &'a [u8],
    links: &'a [u8],
}

impl Beacon<'_> {
    /// The routes.
    pub fn routes(&self) -> impl Iterator<Item = Route> + '_ {
        self.routes.chunks_exact(ROUTE_BYTES).filter_map(|entry| {
            let mut r = Reader::new(entry);
            Some(Route {
                sink: NodeId::new(r.u16().ok()?).ok()?,
                sequence: r.u16().ok()?,
                cost: r.u16().ok()?,
                parent: NodeId::new(r.u16().ok()?).ok()?,
            })
        })
    }
    /// The link qualities.
    pub fn links(&self) -> impl Iterator<Item = LinkQuality> + '_ {
        self.links.chunks_exact(LINK_BYTES).filter_map(|entry| {
            let mut r = Reader::new(entry);
            Some(LinkQuality {
                neighbour: NodeId::new(r.u16().ok()?).ok()?,
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
        congestion: Congestion,
        routes: &[Route],
        links: &[LinkQuality],
    ) -> Result<(), WireError> {
        if routes.len() > MAX_ROUTES || links.len() > 0x1f {
            return Err(WireError::NoRoom);
        }
        link.emit(w)?;
        w.u8(dispatch::TREE_BEACON)?.u8(flags(congestion))?;
        w.u8((routes.len() << 5 | links.len()) as u8)?;
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
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        self.link.emit(w)?;
        w.u8(dispatch::TREE_DATA)?.u8(flags(self.congestion))?;
        w.u16(self.origin.get())?.u16(self.number)?.u8(self.hops)?;
        w.bytes(self.payload)?;
        Ok(())
    }
}

impl<'a> Repr<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`WireError`] where it is no frame of a tree.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(mpdu);
        let link = Header::parse(&mut r)?;
        match r.u8()? {
            dispatch::TREE_DATA => Ok(Self::Data(Data {
                link,
                congestion: congestion(r.u8()?)?,
                origin: NodeId::new(r.u16()?).map_err(|_| WireError::Malformed)?,
                number: r.u16()?,
                hops: r.u8()?,
                payload: r.rest(),
            })),
            dispatch::TREE_BEACON => {
                let congestion = congestion(r.u8()?)?;
                let counts = usize::from(r.u8()?);
                let (routes, links) = (counts >> 5, counts & 0x1f);
                if routes > MAX_ROUTES {
                    return Err(WireError::Malformed);
                }
                Ok(Self::Beacon(Beacon {
                    link,
                    congestion,
                    routes: r.bytes(routes * ROUTE_BYTES)?,
                    links: r.bytes(links * LINK_BYTES)?,
                }))
            }
            _ => Err(WireError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameBuf;
    use proptest::prelude::*;

    fn id(n: u16) -> NodeId {
        NodeId::new(n).unwrap()
    }

    #[test]
    fn both_kinds_round_trip() {
        let link = Header {
            sequence: 9,
            to: Some(id(2)),
            from: id(3),
        };
        let data = Data {
            link,
            congestion: Congestion::Congested,
            origin: id(40),
            number: 513,
            hops: 2,
            payload: &[1, 2, 3],
        };
        let frame = FrameBuf::build(|w| data.emit(w)).unwrap();
        assert_eq!(frame.len(), DATA_HEADER_BYTES + 3);
        assert_eq!(frame[FLAGS_AT], flags(Congestion::Congested));
        assert_eq!(Repr::parse(&frame), Ok(Repr::Data(data)));

        let routes = [Route {
            sink: id(6),
            sequence: 12,
            cost: 40,
            parent: id(7),
        }];
        let links = [1, 2].map(|n| LinkQuality {
            neighbour: id(n),
            received: 200,
        });
        let link = Header { to: None, ..link };
        let frame =
            FrameBuf::build(|w| Beacon::emit(w, link, Congestion::Clear, &routes, &links)).unwrap();
        assert_eq!(
            frame.len(),
            BEACON_HEADER_BYTES + ROUTE_BYTES + 2 * LINK_BYTES
        );
        let Ok(Repr::Beacon(beacon)) = Repr::parse(&frame) else {
            panic!("no beacon");
        };
        assert!(beacon.routes().eq(routes) && beacon.links().eq(links));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..125)) {
            if let Ok(Repr::Beacon(beacon)) = Repr::parse(&bytes) {
                prop_assert!(beacon.routes().count() + beacon.links().count() <= 40);
            }
        }
    }
}
