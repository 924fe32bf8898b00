//! Files of many nodes at once over RCRT in a simulated network: what is asked, the run, what is told of it.
//!
//! The job is the gateway's ([`thalweg_host::carry::rcrt`]), the network that of [`rcrt`](crate::rcrt). Nodes run
//! TinyOS' CSMA and MultiHopLQI at their board's power. Not modelled: how sources learn that they are to begin.
//! Tests: `tests.rs`.

mod report;
mod scenario;
#[cfg(test)]
mod tests;

pub use report::{Flowed, Node, Report};
pub use scenario::{Scenario, ScenarioError};

use crate::collect::{check, CollectError, Object};
use crate::convergecast;
use crate::rcrt::{drive, Flow, Incident, Outcome, Settle, Setup, Stage, Transport, Tree, Upper};
use report::Asked;
use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;
use thalweg_host::carry::rcrt::{self, AskError, Gather, Standing, Stored, Terms, Wanted};
use thalweg_host::object::digest;
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::derive;
use thalweg_protocols::csma;
use thalweg_protocols::object::ObjectInfo;
use thalweg_protocols::rcrt::sink::Sink;
use thalweg_protocols::rcrt::source;
use thalweg_protocols::rcrt::Send;
use thalweg_protocols::stack::{Open, Queue, MAX_QUEUE};
use thalweg_protocols::tree::Routing;
use thalweg_sim::Capture;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Duration, Instant, NodeId};
use thalweg_wire::{phy, rcrt as wire, tree};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The sources; all nodes but the base station where none is named.
    pub from: Vec<NodeId>,
    /// The base station; the testbed's where none is named.
    pub to: Option<NodeId>,
    /// On what terms.
    pub terms: Terms,
    /// What each source has.
    pub object: Object,
    /// What happens to nodes.
    pub scenario: Scenario,
}

/// What cannot be asked, or went wrong.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// On these terms.
    #[error(transparent)]
    Terms(#[from] AskError),
    /// Of this network.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// A source is named twice.
    #[error("node {0} is named twice; a source has one object")]
    Twice(NodeId),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] convergecast::RunError),
}

impl GatherError {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Terms(_) | Self::Twice(_) => true,
            Self::Collect(error) => error.is_input(),
            Self::Run(_) => false,
        }
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Routes settle.
    Routes {
        /// Sources that have a way to the base station.
        found: usize,
        /// Sources.
        of: usize,
    },
    /// Packets come.
    Packets {
        /// How far the job is.
        standing: Standing,
        /// Time since routes have settled, in seconds.
        at_s: f64,
    },
}

/// Is shown how far it is, once a second of the network's; may break off.
pub type Observer<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Time for routes at most: what the experiments give them.
const SETTLE: Duration = Duration::from_secs(600);
/// No run takes so long; a job ends by itself.
const LIMIT: Duration = Duration::from_secs(10_000_000);

/// Bytes of the frame, check sum included, in which a packet of `payload` object bytes crosses a link.
pub const fn psdu_bytes(payload: u8) -> usize {
    tree::DATA_HEADER_BYTES + wire::DATA_HEADER_BYTES + payload as usize + phy::FCS_BYTES
}

impl Wish {
    fn sink(&self, testbed: &Testbed) -> NodeId {
        self.to.unwrap_or(testbed.sink)
    }
    fn sources(&self, testbed: &Testbed) -> Vec<NodeId> {
        let sink = self.sink(testbed);
        let others = testbed.nodes.iter().map(|n| n.id).filter(|n| *n != sink);
        match &self.from[..] {
            [] => others.collect(),
            named => named.to_vec(),
        }
    }

    /// Whether it can be asked of `testbed`.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn check(&self, testbed: &Testbed) -> Result<(), GatherError> {
        self.terms.check()?;
        check(testbed, (None, self.to)).map_err(CollectError::from)?;
        for (k, node) in self.from.iter().enumerate() {
            check(testbed, (Some(*node), self.to)).map_err(CollectError::from)?;
            if self.from.iter().take(k).any(|before| before == node) {
                return Err(GatherError::Twice(*node));
            }
        }
        let happens_to = |node: &NodeId| check(testbed, (Some(*node), None));
        for node in self.scenario.nodes().filter(|node| *node != testbed.sink) {
            happens_to(&node).map_err(CollectError::from)?;
        }
        Ok(())
    }

    /// Gathers at `site`; what is on the air goes to `capture`. Where the observer breaks off, what came until then is
    /// reported. Objects that do not arrive are told in the report.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn gather(
        &self,
        site: &Site,
        capture: Option<Box<dyn Capture>>,
        observer: Observer<'_>,
    ) -> Result<Report, GatherError> {
        let testbed = &site.testbed;
        self.check(testbed)?;
        if *site.board.chip != CC2420 {
            let why = format!("rcrt needs a CC2420, not the {}", site.board.chip.name);
            let testbed = testbed.name.clone();
            return Err(CollectError::Unfit { testbed, why }.into());
        }
        let sources = self.sources(testbed);
        let object = |id: NodeId| self.object.of(site.seed, id);
        let wanted = sources
            .iter()
            .map(|source| wanted(*source, &object(*source)));
        let setup = self.setup(testbed, &sources);
        let mut beside = Beside {
            gather: Gather::new(Instant::ZERO, &self.terms, wanted)?,
            base: setup.bases.first().copied().unwrap_or_default(),
            begins: Instant::ZERO,
            observer,
        };
        let supply = |_, id: NodeId| {
            let has_it = sources.contains(&id);
            let object = if has_it { object(id) } else { Arc::from([]) };
            Stored::new(object, self.terms.payload)
        };
        let nodes = (|_| Open, supply);
        let seed = derive(site.seed, "rcrt run", &[]);
        let outcome = drive::<_, _, MAX_QUEUE>(site, &setup, nodes, &mut beside, seed, capture)?;
        let asked = Asked {
            testbed: &testbed.name,
            sink: self.sink(testbed),
            terms: &self.terms,
            seed: site.seed,
            begins: beside.begins,
        };
        let gathered = beside.gather.finish();
        Ok(Report::new(&asked, &setup.bases, gathered, &outcome))
    }

    fn setup(&self, testbed: &Testbed, sources: &[NodeId]) -> Setup {
        let packets = self.object.bytes().div_ceil(u64::from(self.terms.payload));
        let index = |id: NodeId| testbed.index_of(id);
        let flow = |source: &NodeId| {
            Some(Flow {
                node: index(*source)?,
                sink: rcrt::FLOW.sink,
                demand: self.terms.demand,
                packets: u32::try_from(packets).unwrap_or(u32::MAX),
                at: self.scenario.joins(*source).unwrap_or(Duration::ZERO),
            })
        };
        let incident =
            |(at, node, what): (Duration, NodeId, Incident)| Some((at, index(node)?, what));
        Setup {
            mac: csma::Config::TINYOS_CC2420,
            base_mac: csma::Config::TINYOS_CC2420,
            routing: Routing::MULTI_HOP_LQI,
            source: source::Config::PAPER,
            tree: Tree::Dynamic,
            queue: Queue {
                packets: 10,
                own: 1,
            },
            power: None,
            channel: testbed.channels.iter().last().unwrap_or(Channel::LAST),
            bases: index(self.sink(testbed)).into_iter().collect(),
            transport: Transport::Rcrt(Vec::new()),
            flows: sources.iter().filter_map(flow).collect(),
            payload_bytes: self.terms.payload,
            buffer: thalweg_protocols::rcrt::sink::Config::PAPER.window,
            settle: Settle::UntilRoutes(SETTLE),
            limit: LIMIT,
            incidents: self.scenario.incidents().filter_map(incident).collect(),
        }
    }
}

fn wanted(source: NodeId, object: &[u8]) -> Wanted {
    let len = u32::try_from(object.len()).unwrap_or(u32::MAX);
    let digest = digest(object);
    let info = ObjectInfo { len, digest };
    Wanted { source, info }
}

/// The job beside the base station, and who is shown how far it is.
struct Beside<'a> {
    gather: Gather,
    base: usize,
    begins: Instant,
    observer: Observer<'a>,
}

impl Upper for Beside<'_> {
    fn sinks(&self) -> &[Sink] {
        slice::from_ref(self.gather.sink())
    }
    fn begin(&mut self, now: Instant) {
        self.begins = now;
        self.gather.begin(now);
    }
    fn receive(&mut self, now: Instant, _base: usize, origin: NodeId, message: &[u8]) {
        self.gather.handle_packet(now, origin, message);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.gather.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.gather.handle_timeout(now);
    }
    fn poll_message(&mut self, now: Instant) -> Option<(usize, Send)> {
        Some((self.base, self.gather.poll_message(now)?))
    }
    fn tell(&mut self, now: Instant, outcome: &mut Outcome) {
        while let Some(event) = self.gather.poll_event(now) {
            // Whether bytes are right is said by the whole object's digest.
            outcome.note(now, &event, |_, _, _, _| true);
        }
    }
    fn is_over(&self, now: Instant, _outcome: &Outcome) -> bool {
        self.gather.is_over(now)
    }
    fn look(&mut self, now: Instant, stage: Stage) -> ControlFlow<()> {
        (self.observer)(match stage {
            Stage::Settling { routed, of } => Progress::Routes { found: routed, of },
            Stage::Running => Progress::Packets {
                standing: self.gather.standing(),
                at_s: now.since(self.begins).as_secs_f64(),
            },
        })
    }
}
