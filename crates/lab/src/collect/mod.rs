//! The main job: survey a network, plan a route, fetch an object with P3 or a variant of it, and the
//! same with PIP.
//!
//! A [`Collector`] surveys once and then fetches from any node. Each transfer runs in a network
//! of its own, switched on afresh with a seed derived from (seed, source), so that a campaign over
//! all nodes gives the same results however often it is interrupted.

use crate::explain::{self, LossMap};
use crate::field::{copying, Motes, Repairs, RunError};
use crate::forwarding::ChainError;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_gateway::carry::pipeline::{settling, Terms, SETTLING};
use thalweg_gateway::job::{Again, Failure, Progress, Retry};
use thalweg_gateway::known::{Ask, AskError, Known, Place, CLEAN_CHANNELS};
use thalweg_gateway::outcome::Outcome;
use thalweg_gateway::parts::{self, Assembly, Turn};
use thalweg_gateway::registry::Pipelined;
use thalweg_gateway::survey::{SurveyCost, Surveyed};
use thalweg_medium::random::{derive, stream};
use thalweg_planner::streams::StreamError;
use thalweg_planner::{LinkQualities, Plan, Prediction, RelayOrder};
use thalweg_sim::{BoardError, Capture};
use thalweg_testbeds::{Physics, Places, Site, SiteError, Testbed};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration, NodeId};
use thalweg_wire::route::ObjectRange;

/// A plan, and what goes over it.
type Over = (Plan, Pipelined);

/// A transfer that breaks off is begun again over another plan.
pub(crate) const RETRY: Retry = Retry {
    attempts: 3,
    again: Again::NewPlan,
};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// What was asked for cannot be planned.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The testbed cannot carry it.
    #[error("{testbed}: {why}")]
    Unfit {
        /// The testbed.
        testbed: String,
        /// Why not.
        why: String,
    },
    /// A testbed cannot be such a site.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// One object of one node is asked of a protocol for many.
    #[error("{0} brings objects of many nodes at once: ask `gather`")]
    Many(&'static str),
    /// There is no plan for a stream.
    #[error(transparent)]
    Plan(#[from] StreamError),
    /// A path is none, or could not be run.
    #[error(transparent)]
    Chain(ChainError),
    /// A board's file.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The network did not do what it should.
    #[error(transparent)]
    Run(RunError),
    /// The capture file failed.
    #[error("capture: {0}")]
    Capture(#[from] thalweg_sim::CaptureError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl CollectError {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        match self {
            Self::Run(why) => why.is_input(),
            Self::Chain(why) => matches!(why, ChainError::Hops { .. }),
            Self::Capture(_) | Self::Stopped => false,
            _ => true,
        }
    }
}

impl From<RunError> for CollectError {
    fn from(error: RunError) -> Self {
        match error {
            error if error.is_stop() => Self::Stopped,
            error => Self::Run(error),
        }
    }
}

impl From<Failure> for CollectError {
    fn from(error: Failure) -> Self {
        RunError::from(error).into()
    }
}

impl From<ChainError> for CollectError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Stopped => Self::Stopped,
            error => Self::Chain(error),
        }
    }
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

/// Told of a band or protocol, and how far it is; may break off.
pub type ProgressObserver<'a> = &'a mut dyn FnMut(&str, Progress) -> ControlFlow<()>;

/// One finished job.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The transfer.
    #[serde(flatten)]
    pub outcome: Outcome<Repairs>,
    /// What the planner had expected of the first plan.
    pub predicted: Prediction,
    /// Of that, the goodput, in kbit/s.
    pub predicted_goodput_kbps: f64,
    /// PIP over one of the same paths, on the same channels.
    pub baseline: Option<Outcome<Repairs>>,
    /// Reception channels of stages 0 to H.
    pub channels: Vec<u8>,
    /// The sink's for the even group, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_even: Option<u8>,
    /// What it took to know the links.
    pub survey: SurveyCost,
    /// How long before the transfer they had been measured, in seconds.
    pub links_age_s: f64,
    /// Transfers that the object took, each of a part; told where it is more than one.
    #[serde(skip_serializing_if = "is_one")]
    pub parts: usize,
    /// Where the first plan's transfer broke off: every protocol that was tried, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<&'static str>,
    /// The object as it arrived, where it did.
    #[serde(skip)]
    pub object: Option<Vec<u8>>,
}

const fn is_one(parts: &usize) -> bool {
    *parts == 1
}

/// A testbed's nodes as a planner is to know them.
pub fn place(testbed: &Testbed) -> Place {
    let board = &testbed.board;
    Place {
        name: testbed.name.clone(),
        ids: testbed.nodes.iter().map(|n| n.id).collect(),
        channels: testbed.channels,
        order: match testbed.places {
            Places::Unknown => RelayOrder::Random,
            Places::Known => RelayOrder::NearestLine,
        },
        floor: board.chip.noise_floor,
        timing: copying(board),
    }
}

/// A testbed of measured links as its file tells them, without a survey, with node `to` to bring data to, or the
/// testbed's sink; `None` for other testbeds.
///
/// # Errors
/// [`AskError`] for nodes and channels that the testbed does not have.
pub fn measured(
    testbed: &Testbed,
    to: Option<NodeId>,
    channels: Option<&[Channel]>,
    seed: u64,
) -> Result<Option<Known>, AskError> {
    let Physics::Measured(measured) = &testbed.physics else {
        return Ok(None);
    };
    let place = place(testbed);
    place.check_channels(channels)?;
    let mut links = LinkQualities::new(testbed.len());
    for link in &measured.links {
        let (from, to) = (usize::from(link.from), usize::from(link.to));
        // The testbed's reader has checked nodes and ratios.
        let _ = links.record_prr(from, to, link.channel, link.prr, link.rssi_dbm.map(Dbm));
    }
    let sink = to.map_or(Ok(testbed.sink_index()), |node| place.index_of(node))?;
    let channels = channels.map(<[Channel]>::to_vec);
    let known = Known::new(place, links, sink, channels, (stream, seed));
    Ok(Some(known))
}

/// Whether an object can go from node `from` to node `to` of `testbed`, or to its sink; what carries it knows
/// how large it may be.
///
/// # Errors
/// [`AskError`].
pub fn check(
    testbed: &Testbed,
    (from, to): (Option<NodeId>, Option<NodeId>),
) -> Result<(), AskError> {
    let (place, sink) = (place(testbed), to.unwrap_or(testbed.sink));
    place.index_of(sink)?;
    from.map(|from| place.index_of(from)).transpose()?;
    match from == Some(sink) {
        true => Err(AskError::SourceIsSink(sink)),
        false => Ok(()),
    }
}

/// P3's channels, where a site that is not measured has them all.
pub(crate) fn clean_channels(testbed: &Testbed) -> Option<Vec<Channel>> {
    let clean = CLEAN_CHANNELS.iter().filter_map(|c| Channel::new(*c).ok());
    let clean: Vec<Channel> = clean.collect();
    let all = clean.iter().all(|c| testbed.channels.contains(*c));
    (all && !matches!(testbed.physics, Physics::Measured(_))).then_some(clean)
}

/// A site that has surveyed itself.
pub struct Collector {
    /// As transfers find it: with its losses, which came after the survey.
    site: Site,
    known: Known,
    /// How old what is known is when a transfer begins.
    age: Duration,
    surveyed: Surveyed,
}

impl Collector {
    /// Switches `site` on and has node `to` survey it for `protocol`, or the testbed's sink.
    /// `channels` are those of the pipeline; where none are named, the four that Wi-Fi leaves
    /// alone, or on measured links the four that link the network best. The site's losses
    /// befall its transfers, and not the survey.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn open(
        site: Site,
        (to, protocol): (Option<NodeId>, Pipelined),
        channels: Option<&[Channel]>,
        observer: ProgressObserver<'_>,
    ) -> Result<Self, CollectError> {
        let (testbed, seed) = (&site.testbed, site.seed);
        let place = place(testbed);
        place.check_channels(channels)?;
        let sink = to.map_or(Ok(testbed.sink_index()), |node| place.index_of(node))?;
        let wanted = channels.map(<[Channel]>::to_vec);
        let wanted = wanted.or_else(|| clean_channels(testbed));
        let channels: ChannelSet = match &wanted {
            Some(list) => list.iter().copied().collect(),
            None => testbed.channels,
        };
        let mut motes = Motes::open(&site.undisturbed(), derive(seed, "survey", &[]))?;
        let mut watch = |progress| observer("", progress);
        let surveyed = motes.survey(sink, protocol.survey(channels), &mut watch)?;
        let links = surveyed.links.clone();
        let known = Known::new(place, links, sink, wanted, (stream, seed));
        let took = motes.network().now();
        let surveying = Duration::from_nanos(took.as_nanos());
        let age = site.age();
        let site = site.aged(surveying + age)?;
        // Its transfers begin then.
        let known = known.measured_at(took).viewed_at(took + age);
        Ok(Self {
            known,
            age,
            site,
            surveyed,
        })
    }

    /// Plans the route of `ask` by what the survey brought.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn plan(&self, ask: &Ask) -> Result<Plan, AskError> {
        self.known.plan(ask)
    }

    /// The network and its links.
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
    /// What it took to know the links.
    pub fn survey_cost(&self) -> SurveyCost {
        self.surveyed.cost(self.known.routing_channel())
    }

    /// Fetches `object` over `plan`, in parts where it is larger than a transfer (where that transfer breaks off, over other plans as P3, three times
    /// in all), and again with PIP where `ask` is for P3. What is on the air goes to `capture`; where
    /// `maps` are asked for, each transfer leaves one that says where its packets were lost. The report is
    /// the same with and without.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; a transfer that fails is a
    /// report.
    pub fn fetch(
        &self,
        (ask, object): (&Ask, &Object),
        plan: &Plan,
        capture: Option<Box<dyn Capture>>,
        mut maps: Option<&mut Vec<LossMap>>,
        observer: ProgressObserver<'_>,
    ) -> Result<Report, CollectError> {
        let protocol = ask.protocol;
        let faithful = Terms {
            payload: ask.payload,
            retry: Retry::NEVER,
            ..Terms::default()
        };
        ask.packets()?;
        let from = self.testbed().nodes[plan.source].id;
        let payload = protocol.terms(faithful).payload;
        let sink = self.testbed().nodes[plan.sink].id;
        let seed = derive(self.site.seed, "transfer", &[u64::from(from.get())]);
        let mut motes = Motes::open(&self.site, seed)?;
        let whole = object.of(self.site.seed, from);
        motes.offer(plan.source, whole);
        if capture.is_some() {
            motes.network().capture(capture)?;
        }
        let mut run =
            |motes: &mut Motes, plan: &Plan, of: Pipelined, range, tell: ProgressObserver<'_>| {
                let terms = of.terms(Terms { range, ..faithful });
                let label = thalweg_gateway::registry::name_of(of.scheme);
                let mut told = |progress| tell(label, progress);
                let (mut outcome, part) = match &mut maps {
                    None => motes.fetch(plan, of.scheme, &terms, &mut told)?,
                    Some(maps) => {
                        let (transfer, map) =
                            explain::fetch(motes, plan, of.scheme, &terms, &mut told)?;
                        maps.push(map);
                        transfer
                    }
                };
                outcome.core.seed = self.site.seed;
                of.name.clone_into(&mut outcome.core.protocol);
                Ok::<_, CollectError>((outcome, part))
            };
        // P3 as published, over as many paths as there are, halves drawn anew, since some node of the plan
        // before may be gone.
        let again = Ask {
            from: Some(from),
            protocol: Pipelined::P3,
            ..*ask
        };
        let next = |_: &Over, tried: u32| {
            let next = || self.known.plan_attempt(&again, u64::from(tried)).ok();
            let plan = protocol.has_paths().then(next).flatten();
            plan.map(|plan| (plan, Pipelined::P3))
        };
        let rest = |(_, of): &Over| settling(of.scheme);
        let mut before = None;
        let attempt = |way: &Over, turn: Turn| {
            let pause = match turn.tried {
                0 => before.map_or(Duration::ZERO, settling),
                _ => SETTLING,
            };
            motes.wait(pause)?;
            let (plan, of) = way;
            before = Some(of.scheme);
            if turn.tried == 0 {
                let planned = turn.planned((from, sink), plan, payload);
                if observer("", planned).is_break() {
                    return Err(CollectError::Stopped);
                }
            }
            run(&mut motes, plan, *of, turn.range, &mut *observer)
        };
        let terms = parts::Terms {
            part_bytes: ask.part_bytes(),
            expected: ask.bytes,
            retry: RETRY,
            pause: SETTLING,
        };
        let (mut there, begin) = (Assembly::default(), (plan.clone(), protocol));
        let fetched = parts::fetch(&mut there, terms, begin, rest, attempt, next)?;
        let (mut outcome, attempts) = (fetched.outcome, fetched.plans);
        let mut baseline = None;
        if protocol.has_paths() && fetched.parts == 1 {
            motes.wait(SETTLING)?;
            baseline = Some(run(&mut motes, plan, Pipelined::PIP, ObjectRange::ALL, observer)?.0);
        }
        let survey = self.survey_cost();
        for outcome in [&mut outcome].into_iter().chain(&mut baseline) {
            outcome
                .core
                .after(survey.seconds(), survey.network_energy_j);
        }
        motes.network().capture(None)?;
        let tried = match attempts {
            1 => Vec::new(),
            _ => [protocol.name]
                .into_iter()
                .chain((1..attempts).map(|_| Pipelined::P3.name))
                .collect(),
        };
        let predicted = match protocol.has_paths() {
            true => plan.prediction.clone(),
            false => plan.pip.prediction.clone(),
        };
        Ok(Report {
            outcome,
            predicted_goodput_kbps: predicted.goodput_kbps,
            predicted,
            baseline,
            channels: plan.channels.iter().map(|c| c.number()).collect(),
            last_even: plan.last_even.map(Channel::number),
            survey,
            links_age_s: self.age.as_secs_f64(),
            parts: fetched.parts as usize,
            tried,
            object: fetched.object,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow::Continue;
    use thalweg_wire::route::PayloadSize;

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
        let mut quiet = |_: &str, _: Progress| Continue(());
        let protocol = Pipelined::named("p3-planned").unwrap();
        let collector = Collector::open(site, (None, protocol), None, &mut quiet).unwrap();
        let ask = Ask {
            from: None,
            bytes: 1_000,
            protocol,
            payload: PayloadSize::MAX,
            paths: None,
            hops: None,
        };
        let known = collector.known();
        let first = known.plan(&ask).unwrap();
        let again = Ask {
            from: Some(collector.testbed().nodes[first.source].id),
            protocol: Pipelined::P3,
            ..ask
        };
        let second = known.plan_attempt(&again, 1).unwrap();
        let third = known.plan_attempt(&again, 2).unwrap();
        assert_eq!((second.source, second.sink), (first.source, first.sink));
        assert!(second.active_nodes().len() > first.active_nodes().len());
        assert_ne!(second.stages, third.stages, "halves are drawn anew");
    }
}
