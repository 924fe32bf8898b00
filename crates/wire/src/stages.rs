//! The call that sets up stages of relays with two radios: who is in which stage, what links are sent on,
//! at what pace, and when it begins (P3 over two radios; in neither paper).
//!
//! One frame holds all of it, so a node that heard it once can pass it on. The beginning is counted from
//! the frame, anew in each repetition. Tests: at the end.

use crate::addressed::Header;
use crate::buf::{Reader, WireError};
use crate::stream::{links, MAX_PATH, MAX_PAYLOAD};
use crate::{dispatch, FrameBuf};
use thalweg_units::{Duration, NodeId, Tuning};

/// Most nodes of all stages, source and sink included.
pub const MAX_NODES: usize = 31;
const NOBODY: Option<(NodeId, u8)> = None;

/// Nodes in stages, stage 0 the source, the last the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stages {
    nodes: [Option<(NodeId, u8)>; MAX_NODES],
    links: [Option<Tuning>; MAX_PATH],
    hops: u8,
}

impl Stages {
    /// Nodes with their stages, in the order of the stages, and what each stage but the last sends on. None
    /// where there are too many, a stage has nobody, the first or last more than one, or a node comes twice.
    pub fn new(nodes: impl IntoIterator<Item = (NodeId, u8)>, links: &[Tuning]) -> Option<Self> {
        let hops = u8::try_from(links.len()).ok().filter(|hops| *hops > 0)?;
        let mut stages = Self {
            nodes: [NOBODY; MAX_NODES],
            links: [None; MAX_PATH],
            hops,
        };
        for (at, link) in links.iter().enumerate() {
            *stages.links.get_mut(at)? = Some(*link);
        }
        let mut last = None;
        for (at, (node, stage)) in nodes.into_iter().enumerate() {
            let follows = match last {
                None => stage == 0,
                Some(before) => {
                    stage == before + 1 || (stage == before && stage > 0 && stage < hops)
                }
            };
            if !follows || stages.stage_of(node).is_some() {
                return None;
            }
            *stages.nodes.get_mut(at)? = Some((node, stage));
            last = Some(stage);
        }
        (last == Some(hops)).then_some(stages)
    }
    /// How many links there are from source to sink.
    pub const fn hops(&self) -> u8 {
        self.hops
    }
    /// All nodes with their stages.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, u8)> + '_ {
        self.nodes.iter().flatten().copied()
    }
    /// The stage of `node`.
    pub fn stage_of(&self, node: NodeId) -> Option<u8> {
        let found = self.nodes().find(|(n, _)| *n == node);
        found.map(|(_, stage)| stage)
    }
    /// What stage `stage` sends on; none of the sink's.
    pub fn link(&self, stage: u8) -> Option<Tuning> {
        self.links.get(usize::from(stage)).copied().flatten()
    }
    /// The first node: who has the object.
    pub fn source(&self) -> Option<NodeId> {
        self.nodes().next().map(|(node, _)| node)
    }
}

/// What a call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageCall {
    /// The stream's name.
    pub stream: u8,
    /// How often it was called before.
    pub attempt: u8,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
    /// From one packet of the source to its next; microseconds up to 65535 on the air.
    pub cycle: Duration,
    /// From the last byte in to the first symbol out; the same.
    pub gap: Duration,
    /// From this frame to the source's first packet; microseconds.
    pub start_in: Duration,
    /// Who takes part.
    pub stages: Stages,
}

impl StageCall {
    /// The frame that `from` sends to whoever listens.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] where there are too many nodes and links together; [`WireError::Malformed`]
    /// where a length of time is longer than can be told.
    pub fn frame(&self, sequence: u8, from: NodeId) -> Result<FrameBuf, WireError> {
        let us = |time: Duration| u16::try_from(time.as_micros()).map_err(|_| WireError::Malformed);
        let (cycle, gap) = (us(self.cycle)?, us(self.gap)?);
        let start = u32::try_from(self.start_in.as_micros()).map_err(|_| WireError::Malformed)?;
        FrameBuf::build(|w| {
            let to = None;
            Header { sequence, to, from }.emit(w)?;
            w.u8(dispatch::STAGE_CALL)?.u8(self.stream)?;
            w.u8(self.attempt)?.u8(self.payload_bytes)?;
            w.u16(cycle)?.u16(gap)?;
            w.u16((start >> 16) as u16)?.u16(start as u16)?;
            w.u8(self.stages.hops)?;
            for link in self.stages.links.iter().flatten() {
                w.u8(link.code())?;
            }
            for stage in 0..=self.stages.hops {
                let of_it = || self.stages.nodes().filter(|(_, s)| *s == stage);
                w.u8(of_it().count() as u8)?;
                for (node, _) in of_it() {
                    w.u16(node.get())?;
                }
            }
            Ok(())
        })
    }

    /// Reads a call.
    pub fn parse(mpdu: &[u8]) -> Result<(Header, Self), WireError> {
        let mut r = Reader::new(mpdu);
        let header = Header::parse(&mut r)?;
        r.expect(dispatch::STAGE_CALL)?;
        let (stream, attempt, payload_bytes) = (r.u8()?, r.u8()?, r.u8()?);
        let us = |us: u16| Duration::from_micros(u64::from(us));
        let (cycle, gap) = (us(r.u16()?), us(r.u16()?));
        let start = u64::from(r.u16()?) << 16 | u64::from(r.u16()?);
        let hops = r.u8()?;
        if usize::from(payload_bytes) > MAX_PAYLOAD || usize::from(hops) > MAX_PATH || hops == 0 {
            return Err(WireError::Malformed);
        }
        let links = links(&mut r, usize::from(hops))?;
        let mut nodes = [NOBODY; MAX_NODES];
        let mut places = nodes.iter_mut();
        for stage in 0..=hops {
            for _ in 0..r.u8()? {
                let place = places.next().ok_or(WireError::Malformed)?;
                *place = Some((r.node()?, stage));
            }
        }
        r.end()?;
        let nodes = nodes.iter().flatten().copied();
        let stages = Stages::new(nodes, &links[..usize::from(hops)]);
        let call = Self {
            stream,
            attempt,
            payload_bytes,
            cycle,
            gap,
            start_in: Duration::from_micros(start),
            stages: stages.ok_or(WireError::Malformed)?,
        };
        Ok((header, call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::{Channel, Channel900};

    fn id(n: u16) -> NodeId {
        NodeId::new(n).unwrap()
    }
    fn links(hops: usize) -> [Tuning; MAX_PATH] {
        let nine = Tuning::Mhz900(Channel900::new(3).unwrap());
        let two = Tuning::Ghz2_4(Channel::LAST);
        assert!(hops <= MAX_PATH);
        core::array::from_fn(|n| if n % 2 == 0 { two } else { nine })
    }
    fn call(nodes: &[(u16, u8)], hops: usize) -> Option<StageCall> {
        let nodes = nodes.iter().map(|(n, s)| (id(*n), *s));
        Some(StageCall {
            stream: 2,
            attempt: 1,
            payload_bytes: 100,
            cycle: Duration::from_micros(4_408),
            gap: Duration::from_micros(991),
            start_in: Duration::from_micros(1_234_567),
            stages: Stages::new(nodes, &links(hops)[..hops])?,
        })
    }

    #[test]
    fn calls_round_trip_and_nonsense_is_refused() {
        let broad = [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)];
        let call = call(&broad, 3).unwrap();
        let frame = call.frame(7, id(4)).unwrap();
        let (header, read) = StageCall::parse(&frame).unwrap();
        assert_eq!((header.sequence, header.from, read), (7, id(4), call));
        assert_eq!(read.stages.stage_of(id(5)), Some(2));
        assert_eq!(read.stages.source(), Some(id(1)));
        for short in 0..frame.len() {
            assert!(StageCall::parse(&frame[..short]).is_err());
        }
        for at in 0..frame.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut other = frame;
                other[at] ^= flip;
                let _ = StageCall::parse(&other);
            }
        }
    }

    #[test]
    fn stages_are_whole() {
        for wrong in [
            &[(1, 0), (2, 1)][..],
            &[(1, 0), (2, 0), (3, 1), (4, 2)],
            &[(1, 0), (3, 2)],
            &[(1, 0), (2, 1), (1, 2)],
            &[(1, 0), (2, 1), (3, 2), (4, 2)],
            &[(2, 1), (3, 2)],
            &[],
        ] {
            assert!(call(wrong, 2).is_none(), "{wrong:?}");
        }
        assert!(call(&[(1, 0), (2, 1), (3, 2)], 2).is_some());
        assert!(call(&[(1, 0)], 0).is_none());
    }

    #[test]
    fn the_most_nodes_fit_a_frame() {
        let hops = 20;
        let more = (MAX_NODES - 21) as u16;
        let mut nodes: [(u16, u8); MAX_NODES] = core::array::from_fn(|n| match n as u16 {
            0 => (1, 0),
            n if n <= more => (100 + n, 1),
            n => (200 + n, (n - more) as u8),
        });
        nodes[MAX_NODES - 1].1 = hops;
        let whole = call(&nodes, usize::from(hops)).unwrap();
        assert!(whole.frame(0, id(1)).is_ok());
    }
}
