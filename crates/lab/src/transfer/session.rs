//! A network under the command of its sink: link survey (`survey.rs`), then transfers one after the
//! other (`fetch.rs`).
//!
//! Owns the simulated network and talks to it only as a gateway would: orders to the sink's node,
//! events from it. What it sees besides (energy, the engines' counts) goes into reports only.
//! Tests: `crates/lab/tests/robustness/`.

use super::object::Memory;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use thalweg_medium::chip::CC2420;
use thalweg_planner::Place as PlanPlace;
use thalweg_protocols::floodnet;
use thalweg_protocols::mote::{self, Mote};
use thalweg_protocols::object::ObjectStore;
use thalweg_sim::{Board, Network, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{BitRate, Duration, NodeId, SimTime};

/// The most nodes that a sink's orders can name.
pub const MAX_NODES: usize = 256;

/// The engine of every node.
pub type Node = Mote<Memory, 160, MAX_NODES>;

/// What is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A node's beacons begin.
    Measuring {
        /// Its turn, from 0.
        turn: u16,
        /// Of how many.
        of: u16,
    },
    /// A round of the collection is over.
    Collecting {
        /// Complete tables.
        complete: u16,
        /// Of how many.
        of: u16,
    },
    /// The wake-up floods have begun.
    WakingUp,
    /// Packets arrived at the sink.
    Packets {
        /// Rounds so far, from 1.
        round: u32,
        /// How many packets are there.
        received: u32,
        /// Object bits so far per time from the first wake-up packet.
        goodput: BitRate,
    },
}

/// Why a session could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The testbed has more nodes than a sink can order about.
    #[error("{nodes} nodes: link measurement and transfers take at most {MAX_NODES}")]
    TooManyNodes {
        /// How many it has.
        nodes: usize,
    },
    /// Nodes of another kind have no engine that does all of it.
    #[error("board {0}: P3 and PIP fetch over one CC2420 radio (boards telosb and telosb-contiki); the Opal's two radios carry streams (--protocol fastforward, p3-dual)")]
    Board(String),
    /// The route does not fit into what a wake-up message can say.
    #[error("a route of {hops} hops and {relays} relays does not fit a wake-up message")]
    Route {
        /// Its hops.
        hops: usize,
        /// Its relays.
        relays: usize,
    },
    /// The survey's terms are out of range.
    #[error("link measurement: {0}")]
    Measure(#[from] thalweg_protocols::linkprobe::MeasureError),
    /// The sink's node refused an order.
    #[error("the sink refused an order: {0}")]
    Refused(String),
    /// The sink's node did not say how an order ended.
    #[error("the sink did not answer within {patience}")]
    NoEnd {
        /// For how long it was waited.
        patience: Duration,
    },
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// The simulator could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] thalweg_sim::NetworkError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

/// Whether transfers run over nodes that are such boards.
pub(crate) fn carries_transfers(board: &Board) -> bool {
    *board.chip == CC2420
}

/// A network and its gateway.
pub struct Session {
    pub(super) name: String,
    pub(super) ids: Vec<NodeId>,
    pub(super) places: Option<Vec<PlanPlace>>,
    pub(super) net: Network<Node>,
    pub(super) board: Board,
    pub(super) seed: u64,
    pub(super) transfers: u16,
}

/// An observer of progress; it may break off.
pub type Observer<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;

impl Session {
    /// Longer than any relay waits for a pipeline that has fallen silent (3 s).
    pub const SETTLING: Duration = Duration::from_secs(4);

    /// The nodes of `site`, switched on; `seed` draws what differs between runs on the same site.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(site: &Site, seed: u64) -> Result<Self, SessionError> {
        let nodes = site.testbed.len();
        if nodes > MAX_NODES {
            return Err(SessionError::TooManyNodes { nodes });
        }
        if !carries_transfers(&site.board) {
            return Err(SessionError::Board(site.testbed.board_name.clone()));
        }
        let config = floodnet::Config::default().on(&site.board.timing);
        Self::open_with(site, config, seed)
    }

    /// The same with floods as `config` has them. Transfers run on boards with a CC2420; any board's
    /// radio can survey its links.
    pub(crate) fn open_with(
        site: &Site,
        config: floodnet::Config,
        seed: u64,
    ) -> Result<Self, SessionError> {
        let (testbed, board) = (&site.testbed, &site.board);
        let ids: Vec<NodeId> = testbed.nodes.iter().map(|n| n.id).collect();
        if ids.len() > MAX_NODES {
            return Err(SessionError::TooManyNodes { nodes: ids.len() });
        }
        let places = (site.environment)
            .ears
            .iter()
            .map(|ear| {
                ear.placement.map(|p| PlanPlace {
                    x_m: p.position.x_m,
                    y_m: p.position.y_m,
                    z_m: p.position.z_m,
                    floor: p.floor,
                })
            })
            .collect();
        let engines = ids
            .iter()
            .map(|id| Node::new(*id, config, board.timing, Memory::default()))
            .collect();
        let environment = site.environment.clone();
        let net = Network::new(environment, std::slice::from_ref(board), engines, seed)?;
        let name = testbed.name.clone();
        Ok(Self {
            name,
            ids,
            places,
            net,
            board: board.clone(),
            seed,
            transfers: 0,
        })
    }

    /// The simulated network, for captures, faults and traces.
    pub fn network(&mut self) -> &mut Network<Node> {
        &mut self.net
    }
    /// The nodes' names, by index.
    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }
    /// The board of the nodes.
    pub fn board(&self) -> &Board {
        &self.board
    }
    /// Where the nodes are, if known.
    pub fn places(&self) -> Option<&[PlanPlace]> {
        self.places.as_deref()
    }

    /// Gives the sink's node an order and hands its events to `handler` until that breaks.
    pub(super) fn order(
        &mut self,
        sink: usize,
        command: mote::Command<MAX_NODES>,
        patience: Duration,
        mut handler: impl FnMut(SimTime, mote::Event) -> ControlFlow<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        self.net.command(sink, command);
        self.follow(sink, patience, |at, event| match event {
            mote::Event::Refused(why) => Break(Err(SessionError::Refused(format!("{why:?}")))),
            mote::Event::Floods(floodnet::Event::Refused(why)) => {
                Break(Err(SessionError::Refused(format!("{why:?}"))))
            }
            event => handler(at, event),
        })
    }

    /// Offers `object` at node `source`.
    pub fn offer(&mut self, source: usize, object: Arc<[u8]>) {
        self.net.engine_mut(source).store_mut().offer(object);
    }

    /// Packets of the object that node `source` offers, on `terms`.
    pub fn packets(&self, source: usize, terms: &super::Terms) -> u32 {
        let info = self.net.engine(source).pipeline().store().info();
        info.len.div_ceil(u32::from(terms.payload.bytes()))
    }

    /// Leaves the network alone until every relay of the last transfer has left its pipeline:
    /// one that missed the end stays for the inactivity time and hears no wake-up meanwhile.
    ///
    /// # Errors
    /// [`SessionError::Sim`].
    pub fn settle(&mut self) -> Result<(), SessionError> {
        let deadline = self.net.now() + Self::SETTLING;
        self.net.run_until(deadline, |_, _, _| Continue(()))?;
        Ok(())
    }

    /// Hands the sink's events to `handler` until that breaks.
    pub(super) fn follow(
        &mut self,
        sink: usize,
        patience: Duration,
        mut handler: impl FnMut(SimTime, mote::Event) -> ControlFlow<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        let deadline = self.net.now() + patience;
        let mut outcome = Err(SessionError::NoEnd { patience });
        self.net.run_until(deadline, |at, node, event| {
            if node != sink {
                return Continue(());
            }
            match handler(at, event) {
                Continue(()) => Continue(()),
                Break(end) => {
                    outcome = end;
                    Break(())
                }
            }
        })?;
        if let Err(SessionError::Stopped | SessionError::NoEnd { .. }) = outcome {
            // The sink is free for its next order at once; whoever else takes part leaves when it
            // hears nothing any more.
            self.net.command(sink, mote::Command::Stop);
        }
        outcome
    }
}

pub(super) fn told(flow: ControlFlow<()>) -> ControlFlow<Result<(), SessionError>> {
    match flow {
        Continue(()) => Continue(()),
        Break(()) => Break(Err(SessionError::Stopped)),
    }
}
