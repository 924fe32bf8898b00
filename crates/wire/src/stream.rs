//! FastForward's packets: data and end of a stream, and the call that sets it up along its path.
//!
//! A packet has 14 bytes in front of its payload: the addressed MAC header, dispatch, stream, round,
//! packet number; with 100 bytes of payload a frame is 122 bytes on the air, as in the paper (section
//! V-A). A call names the whole path and each link's radio and channel, so that nodes need no
//! routing table of their own (the paper's is at its base station, section III-B). Tests: `stream_tests.rs`.

use crate::addressed::{self, Header};
use crate::buf::{Reader, WireError, Writer};
use crate::{dispatch, phy, FrameBuf};
use thalweg_units::{Channel, NodeId, Tuning};

/// Bytes in front of the payload.
pub const HEADER_BYTES: usize = addressed::HEADER_BYTES + 5;
/// The longest payload.
pub const MAX_PAYLOAD: usize = phy::MAX_MPDU - HEADER_BYTES;
/// Most nodes of a path.
pub const MAX_PATH: usize = 24;
/// Most ranges of packets that a call can ask for.
pub const MAX_RANGES: usize = 8;

/// What of FastForward is used (the paper's Table I).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Neither acknowledgements nor back-pressure: noAckFastForward.
    NoAck,
    /// Acknowledgements; packets that find a queue full are lost: noBPFastForward.
    NoBackPressure,
    /// Both: FastForward.
    Full,
}

impl Version {
    /// Whether packets are acknowledged.
    pub const fn acknowledges(self) -> bool {
        !matches!(self, Self::NoAck)
    }
    const ALL: [Self; 3] = [Self::NoAck, Self::NoBackPressure, Self::Full];
}

/// A path: its nodes from source to sink, and what each link is sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    nodes: [Option<NodeId>; MAX_PATH],
    links: [Option<Tuning>; MAX_PATH],
}

impl Path {
    /// A path over `nodes` whose link `i` leaves node `i`; none where they do not fit each other, are
    /// too many, fewer than two, or not all different.
    pub fn new(nodes: &[NodeId], links: &[Tuning]) -> Option<Self> {
        let fits = (2..=MAX_PATH).contains(&nodes.len()) && links.len() + 1 == nodes.len();
        let twice = (0..nodes.len()).any(|i| nodes.iter().skip(i + 1).any(|n| *n == nodes[i]));
        if !fits || twice {
            return None;
        }
        let mut path = Self {
            nodes: [None; MAX_PATH],
            links: [None; MAX_PATH],
        };
        for (to, node) in path.nodes.iter_mut().zip(nodes) {
            *to = Some(*node);
        }
        for (to, link) in path.links.iter_mut().zip(links) {
            *to = Some(*link);
        }
        Some(path)
    }
    /// How many links.
    pub fn hops(&self) -> usize {
        self.links.iter().flatten().count()
    }
    /// Node `at`, 0 being the source.
    pub fn node(&self, at: usize) -> Option<NodeId> {
        self.nodes.get(at).copied().flatten()
    }
    /// What the link that leaves node `at` is sent on.
    pub fn link(&self, at: usize) -> Option<Tuning> {
        self.links.get(at).copied().flatten()
    }
    /// The place of `node`.
    pub fn place(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|n| *n == Some(node))
    }
}

/// Packets that are asked for: the first, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl Range {
    /// Ranges up to the end of a frame.
    fn list(mut r: Reader<'_>) -> Result<[Option<Self>; MAX_RANGES], WireError> {
        let mut ranges = [None; MAX_RANGES];
        for range in ranges.iter_mut().take(r.remaining().div_ceil(4)) {
            let (first, count) = (r.u16()?, r.u16()?);
            *range = Some(Self { first, count });
        }
        r.end().map(|()| ranges)
    }
    fn emit(ranges: &[Option<Self>], w: &mut Writer<'_>) -> Result<(), WireError> {
        let mut ranges = ranges.iter().flatten();
        ranges.try_for_each(|range| w.u16(range.first)?.u16(range.count).map(|_| ()))
    }
}

/// What `hops` links are sent on; those after them mean nothing.
fn links(r: &mut Reader<'_>, hops: usize) -> Result<[Tuning; MAX_PATH], WireError> {
    let mut links = [Tuning::Ghz2_4(Channel::LAST); MAX_PATH];
    for link in links.iter_mut().take(hops) {
        *link = Tuning::from_code(r.u8()?).ok_or(WireError::Malformed)?;
    }
    Ok(links)
}

/// What a call asks of the nodes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The stream's name.
    pub stream: u8,
    /// How often it was called before: repairs count on.
    pub round: u8,
    /// What of the protocol it uses.
    pub version: Version,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
    /// Its path.
    pub path: Path,
    /// Which packets; all of the object where there is none.
    pub ranges: [Option<Range>; MAX_RANGES],
}

impl Call {
    /// The frame that `from` sends to `to`; [`WireError::NoRoom`] where path and ranges are too long together.
    pub fn frame(&self, sequence: u8, from: NodeId, to: NodeId) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| {
            let to = Some(to);
            Header { sequence, to, from }.emit(w)?;
            w.u8(dispatch::STREAM_CALL)?.u8(self.stream)?;
            w.u8(self.round)?.u8(self.version as u8)?;
            w.u8(self.payload_bytes)?;
            w.u8(self.path.hops() as u8)?;
            for node in self.path.nodes.iter().flatten() {
                w.u16(node.get())?;
            }
            for link in self.path.links.iter().flatten() {
                w.u8(link.code())?;
            }
            Range::emit(&self.ranges, w)
        })
    }
    /// Reads a call.
    pub fn parse(mpdu: &[u8]) -> Result<(Header, Self), WireError> {
        let mut r = Reader::new(mpdu);
        let header = Header::parse(&mut r)?;
        r.expect(dispatch::STREAM_CALL)?;
        let (stream, round) = (r.u8()?, r.u8()?);
        let version = Version::ALL.get(usize::from(r.u8()?));
        let version = *version.ok_or(WireError::Malformed)?;
        let (payload_bytes, hops) = (r.u8()?, usize::from(r.u8()?));
        if hops + 1 > MAX_PATH || usize::from(payload_bytes) > MAX_PAYLOAD {
            return Err(WireError::Malformed);
        }
        let mut nodes = [header.from; MAX_PATH];
        for node in &mut nodes[..=hops] {
            *node = r.node()?;
        }
        let links = links(&mut r, hops)?;
        let call = Self {
            stream,
            round,
            version,
            payload_bytes,
            path: Path::new(&nodes[..=hops], &links[..hops]).ok_or(WireError::Malformed)?,
            ranges: Range::list(r)?,
        };
        Ok((header, call))
    }
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Bytes of the object.
    Data(&'a [u8]),
    /// Nothing: it is the stream's last.
    End,
}

/// A packet of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The link it is on.
    pub link: Header,
    /// Its stream.
    pub stream: u8,
    /// Its stream's round.
    pub round: u8,
    /// Its number; they rise along a stream's round.
    pub number: u16,
    /// What it carries.
    pub content: Content<'a>,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// [`WireError`], also for one that is longer than a frame can be.
    pub fn parse(mpdu: &'a [u8]) -> Result<Self, WireError> {
        // What no frame holds cannot be sent on.
        if mpdu.len() > phy::MAX_MPDU {
            return Err(WireError::Malformed);
        }
        let mut r = Reader::new(mpdu);
        let link = Header::parse(&mut r)?;
        let kind = r.u8()?;
        Ok(Self {
            link,
            stream: r.u8()?,
            round: r.u8()?,
            number: r.u16()?,
            content: match kind {
                dispatch::STREAM_DATA => Content::Data(r.rest()),
                dispatch::STREAM_END if r.remaining() == 0 => Content::End,
                _ => return Err(WireError::Malformed),
            },
        })
    }
    /// The frame; [`WireError::NoRoom`] where the payload is longer than [`MAX_PAYLOAD`].
    pub fn frame(&self) -> Result<FrameBuf, WireError> {
        FrameBuf::build(|w| {
            self.link.emit(w)?;
            let (kind, payload) = match self.content {
                Content::Data(payload) => (dispatch::STREAM_DATA, payload),
                Content::End => (dispatch::STREAM_END, &[][..]),
            };
            w.u8(kind)?.u8(self.stream)?.u8(self.round)?;
            w.u16(self.number)?.bytes(payload)?;
            Ok(())
        })
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
