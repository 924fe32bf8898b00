//! An object that PIP's own engine carries over a chain of nodes, on boards of any kind: with NACKs
//! and rounds, until the sink has it or the source gives up.
//!
//! That nodes know their part and when it begins is given: there is no wake-up in the time. The
//! schedule is the board's ([`thalweg_engine::BoardTiming::relaying`]). Time base: simulated time,
//! from the source's first preamble symbol. Tests: `tests.rs`.

use super::chain::{assigned, ChainError, Channels, Result, SPREAD};
use super::Bench;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_engine::{BoardTiming, Passing};
use thalweg_host::object::Memory;
use thalweg_protocols::mote::{setup, AnyAdaptation};
use thalweg_protocols::pipeline::{Cadence, Command, End, Event, Pipeline};
use thalweg_sim::Network;
use thalweg_units::{BitRate, Channel, Duration, Instant, NodeId, SimTime};
use thalweg_wire::phy::SFD_OFFSET;
use thalweg_wire::pipeline::{Group, HEADER_BYTES, MAX_HOPS};
use thalweg_wire::route::{self, Hopping, Member, PayloadSize, Route, Scheme};

type Node = Pipeline<Memory, AnyAdaptation>;

/// Nodes are switched on for so long before the source begins.
const AHEAD: Duration = Duration::from_millis(50);
/// After this it is broken off, in seconds.
const DEADLINE_S: u16 = 300;

/// A path, and how packets go over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipe {
    /// Node indices from source to sink.
    pub nodes: Vec<usize>,
    /// The channel of each hop.
    pub channels: Vec<Channel>,
    /// How relays pass packets on.
    pub passing: Passing,
    /// Payload of a packet.
    pub payload: PayloadSize,
}

/// What became of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct PipeTrial {
    /// Packets that it makes.
    pub packets: u32,
    /// Of these, how many arrived.
    pub received: u32,
    /// How many arrived in the first round.
    pub first_round: u32,
    /// Rounds that the source sent.
    pub rounds: u32,
    /// From the source's first preamble symbol to the last new packet's last byte at the sink.
    pub time: Duration,
    /// Whether what arrived is what was sent.
    pub verified: bool,
    /// How it ended at the source; none where it did not.
    pub source_end: Option<End>,
    /// How it ended at the sink.
    pub sink_end: Option<End>,
    /// Frames that each node of the path sent, control frames of relays included.
    pub sent: Vec<u32>,
    /// Transmissions that radios refused.
    pub refused: u32,
    /// Energy of all nodes of the path, in joules.
    pub joules: f64,
}

impl PipeTrial {
    /// MPDU bits of different packets that arrived, headers included, per time.
    pub fn raw(&self, payload: PayloadSize) -> BitRate {
        let bytes = HEADER_BYTES + usize::from(payload.bytes());
        BitRate::of_bytes(u64::from(self.received) * bytes as u64, self.time)
    }
}

/// How far it is: packets at the sink, of how many, after how long. May break off.
pub type PipeObserver<'a> = &'a mut dyn FnMut(u32, u32, Duration) -> ControlFlow<()>;

impl Pipe {
    /// A pipe of `hops` over the first nodes of a site, a channel per hop.
    pub fn line(hops: usize, passing: Passing, payload: PayloadSize) -> Self {
        Self {
            nodes: (0..=hops).collect(),
            channels: assigned(0, hops, Channels::PerHop),
            passing,
            payload,
        }
    }

    /// The route that nodes get; none where it has no hop or too many.
    fn route(&self, ids: &[NodeId]) -> Option<Route> {
        let id = |n: &usize| ids.get(*n).copied();
        // What the source hears goes over a channel that no other node sends on, where there is one.
        let free = |number: &&u8| !self.channels.iter().any(|c| c.number() == **number);
        let back = SPREAD.iter().rev().find(free).copied();
        let back = back.and_then(|number| Channel::new(number).ok());
        let mut channels = vec![back.or(self.channels.last().copied())?];
        channels.extend(&self.channels);
        let channels = route::Channels::new(&channels)?;
        let scheme = match self.passing {
            Passing::Copied => Scheme::Pip(Hopping::Fixed),
            Passing::Conditional => Scheme::PipCit,
        };
        let (source, sink) = (id(self.nodes.first()?)?, id(self.nodes.last()?)?);
        let mut route = Route::new(1, source, sink, scheme, channels);
        (route.payload, route.deadline_s) = (self.payload, DEADLINE_S);
        for (stage, node) in self.nodes.iter().enumerate() {
            if stage > 0 && stage + 1 < self.nodes.len() {
                let (node, stage, group) = (id(node)?, stage as u8, Group::Odd);
                route.add(Member { node, stage, group }).ok()?;
            }
        }
        Some(route)
    }

    /// The schedule of its packets on `bench`; none where it has no hop, or more than [`MAX_HOPS`].
    pub fn cadence(&self, bench: &Bench, ids: &[NodeId]) -> Option<Cadence> {
        let source = ids.get(*self.nodes.first()?)?;
        let (begin, timing) = (Instant::from_nanos(0), &bench.site.board.timing);
        setup(&self.route(ids)?, *source, begin, timing).map(|setup| setup.cadence)
    }

    /// Carries `object` over it; `ids` names the nodes of the site.
    pub fn run(
        &self,
        bench: &Bench,
        ids: &[NodeId],
        object: &[u8],
        observer: PipeObserver<'_>,
    ) -> Result<PipeTrial> {
        self.run_planned(bench, &bench.site.board.timing, ids, object, observer)
    }

    /// The same by a schedule for boards of `timing`, whatever the boards are.
    pub(super) fn run_planned(
        &self,
        bench: &Bench,
        timing: &BoardTiming,
        ids: &[NodeId],
        object: &[u8],
        observer: PipeObserver<'_>,
    ) -> Result<PipeTrial> {
        let hops = self.nodes.len().saturating_sub(1);
        let route = self.route(ids).ok_or(ChainError::Hops {
            hops,
            most: usize::from(MAX_HOPS),
        })?;
        let mut net = Self::open(bench, ids)?;
        let source = self.nodes.first().copied().unwrap_or(0);
        let sink = self.nodes.last().copied().unwrap_or(0);
        net.engine_mut(source).store_mut().offer(Arc::from(object));
        let begin = net.now() + AHEAD;
        for node in &self.nodes {
            let start = net.local(*node, begin);
            if let Some(part) = setup(&route, ids[*node], start, timing) {
                net.command(*node, Command::Start(part));
            }
        }
        let begin = begin.saturating_sub(SFD_OFFSET);
        net.run_until(begin, |_, _, _| Continue(()))?;
        let joules =
            |net: &Network<Node>| -> f64 { self.nodes.iter().map(|n| net.joules(*n)).sum() };
        let before = joules(&net);
        let packets = object.len().div_ceil(usize::from(self.payload.bytes())) as u32;
        let mut progress = |received, time| observer(received, packets, time);
        let ends = Ends::wait(&mut net, (source, sink), begin, &mut progress)?;
        let last = match ends.complete {
            Some(local) => net.when(sink, local),
            None => ends.last,
        };
        let stats = |net: &Network<Node>, n: usize| *net.engine(n).stats();
        let received = u32::from(stats(&net, sink).received).min(packets);
        let taken = net.engine_mut(sink).store_mut().take(object.len());
        let spent = joules(&net) - before;
        Ok(PipeTrial {
            packets,
            received,
            first_round: ends.first_round.map_or(received, u32::from),
            rounds: u32::from(stats(&net, source).rounds),
            time: last.since(begin),
            verified: ends.complete.is_some() && taken == object,
            source_end: ends.source_end,
            sink_end: ends.sink_end,
            sent: (self.nodes.iter())
                .map(|n| stats(&net, *n).data_sent + stats(&net, *n).forwarded)
                .collect(),
            refused: (self.nodes.iter()).map(|n| stats(&net, *n).refused).sum(),
            joules: spent,
        })
    }

    /// The nodes of `bench`, switched on.
    fn open(bench: &Bench, ids: &[NodeId]) -> Result<Network<Node>> {
        let engines = ids.iter().map(|_| Pipeline::new(Memory::default()));
        let (site, boards) = (&bench.site, std::slice::from_ref(&bench.site.board));
        let (place, engines) = (site.environment.clone(), engines.collect());
        Ok(Network::new(place, boards, engines, bench.seed)?)
    }
}

/// Events of the path's ends.
#[derive(Default)]
struct Ends {
    first_round: Option<u16>,
    complete: Option<Instant>,
    last: SimTime,
    source_end: Option<End>,
    sink_end: Option<End>,
    stopped: bool,
}

impl Ends {
    /// Runs `net` from `begin` until both ends have finished, or the deadline.
    fn wait(
        net: &mut Network<Node>,
        (source, sink): (usize, usize),
        begin: SimTime,
        progress: &mut dyn FnMut(u32, Duration) -> ControlFlow<()>,
    ) -> Result<Self> {
        let mut ends = Self::default();
        let deadline = begin + Duration::from_secs(u64::from(DEADLINE_S) + 10);
        net.run_until(deadline, |at, node, event| {
            ends.note(at, node == source, node == sink, &event);
            let flow = match event {
                Event::Progress { received } if node == sink => {
                    progress(u32::from(received), at.since(begin))
                }
                _ => Continue(()),
            };
            ends.stopped = flow.is_break();
            match ends.stopped || (ends.source_end.is_some() && ends.sink_end.is_some()) {
                true => Break(()),
                false => Continue(()),
            }
        })?;
        match ends.stopped {
            true => Err(ChainError::Stopped),
            false => Ok(ends),
        }
    }

    fn note(&mut self, at: SimTime, source: bool, sink: bool, event: &Event) {
        match event {
            Event::Progress { .. } if sink => self.last = at,
            Event::RoundReported {
                round: 0, received, ..
            } if sink => self.first_round = Some(*received),
            Event::Complete(complete) if sink => self.complete = Some(complete.last_packet),
            Event::Finished(end) => {
                if source {
                    self.source_end = Some(*end);
                }
                if sink {
                    self.sink_end = Some(*end);
                }
            }
            _ => {}
        }
    }
}
