//! The main job: survey a network, plan a route, fetch an object with P3 or a variant of it, and the
//! same with PIP.
//!
//! A [`Collector`] surveys once and then fetches from any node. Each transfer runs in a network
//! of its own, switched on afresh with a seed derived from (seed, source), so that a campaign over
//! all nodes gives the same results however often it is interrupted.

mod error;
mod known;

pub use error::CollectError;
pub use known::{Known, CLEAN_CHANNELS};

use crate::explain::{self, LossMap};
use crate::transfer::{Outcome, Protocol, Session, Step, Survey, Surveyed, Terms};
use crate::variant::Variant;
use known::{check_channels, clean_channels, Ends};
use serde::Serialize;
use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::{Plan, Prediction};
use thalweg_sim::Capture;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, ChannelSet, NodeId};
use thalweg_wire::route::PayloadSize;

/// The longest route that is planned for an object, in hops: beyond, a wake-up's floods, which are
/// relayed a few times, no longer reach the source as a rule. A pipeline itself could be longer.
const LONGEST: usize = 10;
/// How often an object is asked for, each time over another plan.
const ATTEMPTS: u64 = 3;

/// What is to be fetched, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// From which node; the planner picks a far one where none is named.
    pub from: Option<NodeId>,
    /// To which node; the testbed's sink where none is named.
    pub to: Option<NodeId>,
    /// The object.
    pub object: Object,
    /// What moves it, and over what plan.
    pub protocol: Variant,
    /// Payload of each packet.
    pub payload: PayloadSize,
    /// At most this many paths.
    pub paths: Option<u8>,
    /// Exactly this many hops.
    pub hops: Option<u8>,
}

/// What the source has.
#[derive(Debug, Clone)]
pub enum Object {
    /// So many bytes, drawn from (seed, source).
    Random {
        /// How many.
        bytes: u32,
    },
    /// These.
    Bytes(Arc<[u8]>),
}

impl Object {
    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Random { bytes } => u64::from(*bytes),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
    /// What node `source` has under `seed`, whatever protocol is to move it.
    pub fn of(&self, seed: u64, source: NodeId) -> Arc<[u8]> {
        match self {
            Self::Random { bytes } => random_object(seed, source, *bytes as usize),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// What is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Links are measured: turns done, of all nodes.
    Measuring {
        /// Turns begun.
        done: u64,
        /// Nodes.
        total: u64,
    },
    /// Link tables are collected.
    Collecting {
        /// Complete tables.
        done: u64,
        /// Nodes.
        total: u64,
    },
    /// A route was found.
    Planned {
        /// From which node.
        from: NodeId,
        /// To which node.
        to: NodeId,
        /// H.
        hops: usize,
        /// M.
        paths: usize,
    },
    /// A transfer's wake-up has begun.
    WakingUp {
        /// Whose.
        protocol: Protocol,
    },
    /// Packets arrive.
    Packets {
        /// By which protocol.
        protocol: Protocol,
        /// Round, from 1.
        round: u32,
        /// Packets at the sink.
        received: u64,
        /// Packets of the object.
        total: u64,
        /// Goodput so far.
        goodput_kbps: f64,
    },
}

/// Told of progress; may break off.
pub type ProgressObserver<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// One finished job.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The transfer.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the planner had expected of it.
    pub predicted: Prediction,
    /// PIP over one of the same paths, on the same channels.
    pub baseline: Option<Outcome>,
    /// Reception channels of stages 0 to H.
    pub channels: Vec<u8>,
    /// What it took to know the links.
    pub survey: SurveyCost,
    /// The object as it arrived, where it did.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
}

/// The cost of a survey.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SurveyCost {
    /// Measuring links (P3, equation 1), in seconds.
    pub measuring_s: f64,
    /// Collecting what was measured, in seconds.
    pub collecting_s: f64,
    /// Directed links on the routing channel that were heard.
    pub links: usize,
    /// Nodes whose tables did not come in.
    pub missing: Vec<u16>,
}

/// A site that has surveyed itself.
pub struct Collector {
    /// As transfers find it: with its losses, which came after the survey.
    site: Site,
    known: Known,
    surveyed: Surveyed,
}

impl Collector {
    /// Switches `site` on and has node `to` survey it.
    /// `channels` are those of the pipeline; where none are named, the four that Wi-Fi leaves
    /// alone, or on measured links the four that link the network best. Where neither `from` nor
    /// `to` is named, measured links also decide which pair of nodes is taken. The site's losses
    /// befall its transfers, and not the survey.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn open(
        site: Site,
        from: Option<NodeId>,
        to: Option<NodeId>,
        channels: Option<&[Channel]>,
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let (testbed, seed) = (&site.testbed, site.seed);
        check_channels(testbed, channels)?;
        let ends = match Known::of_measured(testbed, from, to, channels, seed)? {
            Some(measured) => measured.ends(),
            None => Ends {
                sink: to.map_or(Ok(testbed.sink_index()), |node| index_of(testbed, node))?,
                source: None,
            },
        };
        let wanted = channels
            .map(<[Channel]>::to_vec)
            .or_else(|| clean_channels(testbed));
        let surveyed_channels: ChannelSet = match &wanted {
            Some(list) => list.iter().copied().collect(),
            None => testbed.channels,
        };
        let mut session = Session::open(&site.undisturbed(), derive(seed, "survey", &[]))?;
        let mut steps = |step: Step| match step {
            Step::Measuring { turn, of } => observer(Progress::Measuring {
                done: u64::from(turn),
                total: u64::from(of),
            }),
            Step::Collecting { complete, of } => observer(Progress::Collecting {
                done: u64::from(complete),
                total: u64::from(of),
            }),
            Step::WakingUp | Step::Packets { .. } => Continue(()),
        };
        let surveyed = session.survey(ends.sink, Survey::of(surveyed_channels), &mut steps)?;
        let known = Known::new(testbed.clone(), surveyed.links.clone(), ends, wanted, seed);
        Ok(Self {
            site,
            known,
            surveyed,
        })
    }

    /// The testbed and its links.
    pub fn known(&self) -> &Known {
        &self.known
    }
    /// The testbed.
    pub fn testbed(&self) -> &Testbed {
        &self.site.testbed
    }
    /// What the survey brought.
    pub fn surveyed(&self) -> &Surveyed {
        &self.surveyed
    }
    /// The node that data goes to.
    pub fn sink(&self) -> NodeId {
        self.known.sink()
    }
    /// Plans the route of `request`.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn plan(&self, request: &Request) -> Result<Plan, CollectError> {
        self.known.plan(request)
    }

    /// Fetches the object over `plan` (where that transfer breaks off, over other plans, three times
    /// in all), and again with PIP where `request` is for P3. What is on
    /// the air goes to `capture`.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; a transfer that fails is a
    /// report.
    pub fn fetch(
        &self,
        request: &Request,
        plan: &Plan,
        capture: Option<Box<dyn Capture>>,
        observer: ProgressObserver<'_>,
    ) -> Result<Report, CollectError> {
        self.transfers(request, plan, capture, observer, None)
    }

    /// [`Collector::fetch`], and where the transfer's packets were lost, then PIP's where it is
    /// part of the report. The report is the same as without.
    ///
    /// # Errors
    /// As [`Collector::fetch`].
    pub fn fetch_explained(
        &self,
        request: &Request,
        plan: &Plan,
        capture: Option<Box<dyn Capture>>,
        observer: ProgressObserver<'_>,
    ) -> Result<(Report, Vec<LossMap>), CollectError> {
        let mut maps = Vec::new();
        let report = self.transfers(request, plan, capture, observer, Some(&mut maps))?;
        Ok((report, maps))
    }

    fn transfers(
        &self,
        request: &Request,
        plan: &Plan,
        capture: Option<Box<dyn Capture>>,
        observer: ProgressObserver<'_>,
        mut maps: Option<&mut Vec<LossMap>>,
    ) -> Result<Report, CollectError> {
        let variant = request.protocol;
        // A transfer that breaks off is tried again, but over another plan.
        let faithful = Terms {
            payload: request.payload,
            attempts: 1,
            ..Terms::default()
        };
        let terms = variant.terms(faithful);
        packets_of(request)?;
        let total = request
            .object
            .bytes()
            .div_ceil(u64::from(terms.payload.bytes()));
        let (from, to) = (self.testbed().nodes[plan.source].id, self.sink());
        let (hops, paths) = (plan.hops, plan.path_count());
        if observer(Progress::Planned {
            from,
            to,
            hops,
            paths,
        })
        .is_break()
        {
            return Err(CollectError::Stopped);
        }
        let seed = derive(self.site.seed, "transfer", &[u64::from(from.get())]);
        let mut session = Session::open(&self.site, seed)?;
        session.offer(plan.source, request.object.of(self.site.seed, from));
        if capture.is_some() {
            session.network().capture(capture)?;
        }
        let mut run = |session: &mut Session, plan: &Plan, protocol: Protocol, terms: &Terms| {
            let mut steps = |step: Step| match step {
                Step::WakingUp => observer(Progress::WakingUp { protocol }),
                Step::Packets {
                    round,
                    received,
                    goodput,
                } => observer(Progress::Packets {
                    protocol,
                    round,
                    received: u64::from(received),
                    total,
                    goodput_kbps: goodput.kbps(),
                }),
                Step::Measuring { .. } | Step::Collecting { .. } => Continue(()),
            };
            let Some(maps) = &mut maps else {
                return session.fetch(plan, protocol, terms, &mut steps);
            };
            let (outcome, object, map) =
                explain::fetch(session, plan, protocol, terms, &mut steps)?;
            maps.push(map);
            Ok((outcome, object))
        };
        let (mut outcome, mut object) = run(&mut session, plan, variant.protocol(), &terms)?;
        for attempt in 1..ATTEMPTS {
            if outcome.verified || variant.protocol() != Protocol::P3 {
                break;
            }
            let Ok(again) = self.plan_again(request, from, attempt) else {
                break;
            };
            session.settle()?;
            let (mut next, arrived) = run(&mut session, &again, Protocol::P3, &faithful)?;
            next.follows(&outcome, Session::SETTLING.as_secs_f64());
            (outcome, object) = (next, arrived);
        }
        outcome.seed = self.site.seed;
        variant.name().clone_into(&mut outcome.protocol);
        let baseline = match variant.protocol() {
            Protocol::P3 => {
                session.settle()?;
                let (mut baseline, _) = run(&mut session, plan, Protocol::Pip, &faithful)?;
                baseline.seed = self.site.seed;
                Some(baseline)
            }
            Protocol::Pip | Protocol::PipHopping | Protocol::PipCit => None,
        };
        session.network().capture(None)?;
        let predicted = match variant.protocol() {
            Protocol::P3 => plan.prediction.clone(),
            Protocol::Pip | Protocol::PipHopping | Protocol::PipCit => plan.pip.prediction.clone(),
        };
        Ok(Report {
            outcome,
            predicted,
            baseline,
            channels: plan.channels.iter().map(|c| c.number()).collect(),
            survey: self.survey_cost(),
            object,
        })
    }

    /// The plan of another attempt: P3 as published, over as many paths as there are, halves drawn
    /// anew, since some node of the plan before may be gone.
    fn plan_again(
        &self,
        request: &Request,
        from: NodeId,
        attempt: u64,
    ) -> Result<Plan, CollectError> {
        let request = Request {
            from: Some(from),
            protocol: Variant::P3,
            ..request.clone()
        };
        self.known.plan_attempt(&request, attempt)
    }

    /// What it took to know the links.
    pub fn survey_cost(&self) -> SurveyCost {
        SurveyCost {
            measuring_s: self.surveyed.measuring.as_secs_f64(),
            collecting_s: self.surveyed.collecting.as_secs_f64(),
            links: self
                .surveyed
                .links
                .summary(self.known.routing_channel())
                .heard_pairs,
            missing: self.surveyed.missing.iter().map(|n| n.get()).collect(),
        }
    }
}

/// Whether `request` can be asked of `testbed` at all: what is known before its links are.
///
/// # Errors
/// [`CollectError`] of bad input.
pub fn check(testbed: &Testbed, request: &Request) -> Result<(), CollectError> {
    let sink = request.to.unwrap_or(testbed.sink);
    index_of(testbed, sink)?;
    if let Some(from) = request.from {
        index_of(testbed, from)?;
        if from == sink {
            return Err(CollectError::SourceIsSink(sink));
        }
    }
    packets_of(request).map(|_| ())
}

/// The first `bytes` bytes of the stream of (`seed`, `source`): one seed gives a node one object, in every
/// command and experiment.
pub fn random_object(seed: u64, source: NodeId, bytes: usize) -> Arc<[u8]> {
    let drawn = derive(seed, "object", &[u64::from(source.get())]);
    let mut rng = stream(drawn, "object bytes", &[]);
    let mut object = vec![0; bytes];
    rand::RngCore::fill_bytes(&mut rng, &mut object);
    object.into()
}

fn packets_of(request: &Request) -> Result<u32, CollectError> {
    let bytes = request.object.bytes();
    // Never above what the baseline's frames hold.
    let payload = request.payload.bytes();
    let packets = bytes.div_ceil(u64::from(payload));
    let max = thalweg_wire::pipeline::MAX_PACKETS;
    match u32::try_from(packets) {
        Ok(0) => Err(CollectError::Empty),
        Ok(n) if n <= u32::from(max) => Ok(n),
        _ => Err(CollectError::TooLarge {
            bytes,
            packets,
            payload,
            max,
        }),
    }
}

fn index_of(testbed: &Testbed, node: NodeId) -> Result<usize, CollectError> {
    let ids = || testbed.nodes.iter().map(|n| n.id);
    testbed
        .index_of(node)
        .ok_or_else(|| CollectError::UnknownNode {
            testbed: testbed.name.clone(),
            node,
            first: ids().min().unwrap_or(node),
            last: ids().max().unwrap_or(node),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_one_object_for_one_seed() {
        let [one, other] = [1, 2].map(|id| NodeId::new(id).unwrap());
        let object = |seed, source, bytes| Object::Random { bytes }.of(seed, source);
        let long = object(1, one, 2_000);
        assert_eq!(object(1, one, 700)[..], long[..700]);
        assert!(object(2, one, 700)[..] != long[..700]);
        assert!(object(1, other, 700)[..] != long[..700]);
    }

    #[test]
    fn another_attempt_goes_over_another_plan() {
        let site = Site::new(Testbed::load("building100").unwrap(), 1);
        let mut quiet = |_: Progress| Continue(());
        let collector = Collector::open(site, None, None, None, &mut quiet).unwrap();
        let request = Request {
            from: None,
            to: None,
            object: Object::Random { bytes: 1_000 },
            protocol: Variant::P3Planned,
            payload: PayloadSize::MAX,
            paths: None,
            hops: None,
        };
        let first = collector.plan(&request).unwrap();
        let from = collector.testbed().nodes[first.source].id;
        let second = collector.plan_again(&request, from, 1).unwrap();
        let third = collector.plan_again(&request, from, 2).unwrap();
        assert_eq!((second.source, second.sink), (first.source, first.sink));
        assert!(second.active_nodes().len() > first.active_nodes().len());
        assert_ne!(second.stages, third.stages, "halves are drawn anew");
    }
}
