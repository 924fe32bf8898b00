//! Which sources are fetched from in the next wave, over which plans, and how often each is tried.
//!
//! Invariants: a source that failed is tried [`RETRY`] times: after all others, or with Thalweg as soon as its nodes are free;
//! with one sink it continues at once from what has arrived. One that still failed is left over, and gets the network to
//! itself. Time base: none. Tests: `crates/simnet/src/campaign/tests.rs`, `crates/daemon/tests/all/waves.rs`.

use super::Start;
use crate::job::{Retry, RetryMode};
use crate::link_state::last_resort;
use crate::registry::Pipelined;
use crate::transfer::pipeline::{active_nodes, TransferTerms};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_planner::concurrent::{Obstacle, Reuse, WaveRequest, Waves};
use thalweg_planner::{Backups, LinkModel, LinkQualities, Plan, PlanError, RouteRequest};
use thalweg_units::{Channel, ChannelSet, Dbm, Duration};
use thalweg_wire::route::{PayloadSize, Scheme};
use thalweg_wire::seal::frame::Sealing;

/// The least share of a transfer's predicted goodput alone that it must keep beside others.
const LEAST_SHARE: f64 = 0.6;
/// How many sources of each distance are tried for a place in a wave.
const CANDIDATES: usize = 12;
/// How often a source is tried.
const RETRY: Retry = Retry {
    attempts: 3,
    mode: RetryMode::Later,
};

/// After this, a node that missed the end of its transfer by `scheme` has left it: a little more than
/// [`thalweg_protocols::p3::policy`]'s linger, or than [`thalweg_protocols::thalweg::policy`]'s over ten hops.
pub const fn linger(scheme: Scheme) -> Duration {
    match scheme {
        Scheme::Thalweg => Duration::from_millis(300),
        _ => Duration::from_millis(1_100),
    }
}

/// What waves need to know of a network before its links are measured.
#[derive(Debug, Clone, Copy)]
pub struct Air {
    /// The noise floor of its radios.
    pub floor: Dbm,
    /// The channel of floods.
    pub control: Channel,
    /// The channels that it has.
    pub there: ChannelSet,
    /// Of these, those that transfers take.
    pub channels: ChannelSet,
}

/// How transfers that go at once are sought and carried.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What moves the packets of every transfer.
    pub scheme: Scheme,
    /// Of every transfer.
    pub transfer: TransferTerms,
    /// How each route is sought; source, sink and channels are set for every transfer.
    pub route: RouteRequest,
    /// The channels for pipelines, best first; where none are named, all that were measured, ranked by
    /// what was measured.
    pub channels: Option<Vec<Channel>>,
    /// Whether transfers that run at once may share a channel.
    pub reuse: Reuse,
}

impl Terms {
    /// Of objects of `bytes` bytes in packets of `payload`, which `variant` brings into so many `radios`. Where there are
    /// several, transfers at once share those channels that link the network well; none is used twice at a time.
    pub fn new(
        variant: Pipelined,
        air: Air,
        (bytes, payload): (u64, PayloadSize),
        radios: usize,
    ) -> Self {
        let Air {
            control, channels, ..
        } = air;
        let mut route = RouteRequest::new(0, 0);
        route.rule.floor = air.floor;
        route.control = Some(control);
        // As in P3, where that is measured; else floods reach most nodes on the control channel.
        let routing = [Channel::LAST, control].into_iter();
        let routing = routing
            .chain(channels.iter())
            .find(|c| channels.contains(*c));
        route.routing_channel = routing.unwrap_or(Channel::LAST);
        route.transfer.cycle.payload_bytes = usize::from(payload.bytes());
        let mut route = variant.request(&route);
        let cycle = route.transfer.cycle;
        let packets = bytes.div_ceil(cycle.payload_bytes.max(1) as u64) as u32;
        route.transfer.packets = packets;
        let has_faithful = (route.channels.iter()).all(|on| air.there.contains(*on));
        let alone = radios == 1;
        let named = (alone && has_faithful).then(|| route.channels.clone());
        // A transfer that takes four times as long as a good one is better started again with other
        // groups: the rest of its wave waits for it.
        let good_s = (route.transfer.cycle.period() * u64::from(packets)).as_secs_f64();
        let patience = (good_s * 4.0).ceil().clamp(2.0, 600.0) as u16;
        // A retry of what fails costs less than a probe of every route.
        route.backups = Backups::None;
        if !alone {
            // So many relays fit into one flood, and leave some for the others. What runs over one
            // path takes no more than that.
            route.max_paths = match variant.scheme {
                Scheme::P3 | Scheme::Thalweg => Some(route.min_paths),
                _ => Some(1),
            };
        }
        Self {
            scheme: variant.scheme,
            transfer: variant.terms(TransferTerms {
                payload,
                deadline_s: patience,
                ..TransferTerms::default()
            }),
            route,
            channels: named,
            reuse: Reuse::Never,
        }
    }

    /// The same in a network that is secured, or open, as `sealing` says: plans are made of what is sealed alone.
    #[must_use]
    pub const fn sealed(mut self, sealing: Sealing) -> Self {
        self.route.last_resort = last_resort(sealing);
        self
    }
    /// The planner of waves into `sinks`, on surveyed `links`.
    pub fn planner(&self, links: &LinkQualities, sinks: &[usize]) -> Waves {
        let model = LinkModel::learned(links, self.route.rule.floor);
        let route = self.route.clone().trusting(model);
        let mut request = WaveRequest::new(links, route, sinks.to_vec());
        if let Some(channels) = &self.channels {
            request.channels.clone_from(channels);
        }
        (request.reuse, request.least_share) = (self.reuse, LEAST_SHARE);
        request.tries = CANDIDATES;
        Waves::new(links, request)
    }
    /// Whether it is to bring everything, and not as published.
    pub const fn is_ours(&self) -> bool {
        matches!(self.scheme, Scheme::Thalweg | Scheme::HopByHop)
    }
}

/// The next wave.
#[derive(Debug, Default)]
pub struct Planned {
    /// Its transfers, each into another sink, and how each starts. None where all sources that were tried are left over.
    pub transfers: Vec<(Plan, Start)>,
    /// Sources that no route leads away from, which no protocol brings.
    pub lost: Vec<(usize, PlanError)>,
    /// Sinks that have nothing to do, and why.
    pub idle: Vec<(usize, Obstacle)>,
}

/// What became of a source whose transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// Its object is there.
    Whole,
    /// It is tried again in a later wave.
    Again,
    /// It has been tried often enough, and is left over.
    LeftOver,
    /// It has been tried often enough, and nothing else is tried.
    Failed,
}

/// The sources that are still to come, and the planner of their waves.
#[derive(Debug)]
pub struct Schedule {
    /// The planner, on the links that were measured last.
    pub planner: Waves,
    /// Draws what routes draw.
    pub rng: Pcg64Mcg,
    scheme: Scheme,
    sinks: usize,
    /// Attempts so far of each source that is still to come in waves.
    attempts: BTreeMap<usize, u32>,
    /// Nodes of the wave before.
    active: Vec<usize>,
    /// With one sink: the source whose transfer broke off, and how many packets arrived. It continues at once.
    partial: Option<(usize, u32)>,
    /// Sources whose attempts are used up, and how many those were.
    leftover: Vec<(usize, u32)>,
}

impl Schedule {
    /// Of `sources`, as `planner` leads them by `scheme`.
    pub fn new(
        planner: Waves,
        scheme: Scheme,
        sources: impl IntoIterator<Item = usize>,
        rng: Pcg64Mcg,
    ) -> Self {
        let fresh = sources.into_iter().map(|source| (source, 0));
        // Transfers hop by hop have the network to themselves.
        let (attempts, leftover) = match scheme {
            Scheme::HopByHop => (BTreeMap::new(), fresh.collect()),
            _ => (fresh.collect(), Vec::new()),
        };
        Self {
            sinks: planner.request().sinks.len(),
            planner,
            rng,
            scheme,
            attempts,
            active: Vec::new(),
            partial: None,
            leftover,
        }
    }
    /// The sources that are left over, each with its attempts.
    pub fn take_leftover(&mut self) -> Vec<(usize, u32)> {
        std::mem::take(&mut self.leftover)
    }
    /// Sources that are still to come in waves.
    pub fn left(&self) -> usize {
        self.attempts.len()
    }
    /// Attempts at `source` so far.
    pub fn attempts(&self, source: usize) -> u32 {
        self.attempts.get(&source).copied().unwrap_or(0)
    }
    /// From now on `sources` alone are to come; those that came before keep their attempts.
    pub fn keep_only(&mut self, sources: &BTreeSet<usize>) {
        self.attempts.retain(|source, _| sources.contains(source));
        for source in sources {
            self.attempts.entry(*source).or_insert(0);
        }
        self.partial = (self.partial).filter(|(source, _)| sources.contains(source));
    }

    /// The next wave; none where no source is left. `rest` leaves the network alone for a while.
    ///
    /// # Errors
    /// Those of `rest`.
    pub fn next<E>(
        &mut self,
        rest: impl FnOnce(Duration) -> Result<(), E>,
    ) -> Result<Option<Planned>, E> {
        let Some(&least) = self.attempts.values().min() else {
            return Ok(None);
        };
        let partial = self.partial.take();
        let ready = self.ready(least, partial, rest)?;
        let mut wave = self.planner.next(&ready, &mut self.rng);
        // From which no pipeline leads, links may offer a path hop by hop later.
        if self.is_ours() {
            for (source, _) in wave.lost.drain(..) {
                self.leave(source);
            }
        }
        for (source, _) in &wave.lost {
            self.attempts.remove(source);
        }
        wave.plans.retain(|plan| !self.is_better_alone(plan));
        let nodes = wave.plans.iter();
        let nodes = nodes.flat_map(|plan| active_nodes(plan, self.scheme));
        if !wave.plans.is_empty() {
            self.active = nodes.collect();
        }
        let several = wave.plans.len() > 1;
        let begins = |source: usize| match partial {
            Some((_, received)) => Start::Resuming(received),
            // A chain that others of the wave disturb would hold them all up. The last time it takes what there is.
            None if several && RETRY.allows(self.attempts(source) + 1) => Start::Probing,
            None => Start::Fresh,
        };
        let transfers = wave.plans.into_iter();
        let transfers = transfers.map(|plan| (begins(plan.source), plan));
        Ok(Some(Planned {
            transfers: transfers.map(|(start, plan)| (plan, start)).collect(),
            lost: wave.lost,
            idle: wave.idle,
        }))
    }

    /// Notes that the transfer from `source`, which began as `start` says, brought its object, or so many packets of it.
    pub fn land(&mut self, source: usize, start: Start, is_whole: bool, received: u32) -> Landing {
        let attempts = self.attempts(source) + 1;
        if is_whole || !RETRY.allows(attempts) {
            self.attempts.remove(&source);
            // No other protocol reroutes.
            return match (is_whole, self.is_thalweg()) {
                (true, _) => Landing::Whole,
                (false, true) => {
                    self.leftover.push((source, attempts));
                    Landing::LeftOver
                }
                (false, false) => Landing::Failed,
            };
        }
        self.attempts.insert(source, attempts);
        let continues = matches!(start, Start::Resuming(_));
        if self.is_thalweg() && self.sinks == 1 && received > 0 && !continues {
            self.partial = Some((source, received));
        }
        Landing::Again
    }

    fn is_thalweg(&self) -> bool {
        self.scheme == Scheme::Thalweg
    }
    fn is_ours(&self) -> bool {
        matches!(self.scheme, Scheme::Thalweg | Scheme::HopByHop)
    }
    /// Leaves `source` until the waves are over.
    fn leave(&mut self, source: usize) {
        let attempts = self.attempts.remove(&source).unwrap_or(0);
        self.leftover.push((source, attempts));
    }
    /// Whether the source of `plan` is left for a path hop by hop, which is quicker.
    fn is_better_alone(&mut self, plan: &Plan) -> bool {
        let may_be = self.is_thalweg() && plan.may_be_quicker_by_hops();
        if !may_be {
            return false;
        }
        let alone = (self.planner).hop_plans_of(plan.source, 0, &mut self.rng);
        let goodput = plan.prediction.goodput_kbps * plan.prediction.completion;
        let is_better = alone
            .first()
            .is_some_and(|hops| hops.steady_kbps() > goodput);
        if is_better {
            self.leave(plan.source);
        }
        is_better
    }

    /// The sources that the next wave may fetch from, where `least` is the fewest attempts of any.
    fn ready<E>(
        &self,
        least: u32,
        partial: Option<(usize, u32)>,
        rest: impl FnOnce(Duration) -> Result<(), E>,
    ) -> Result<Vec<usize>, E> {
        if let Some((source, _)) = partial {
            return Ok(vec![source]);
        }
        // A source that failed a probe comes back while there are others to fill its wave.
        let is_next = |attempts: u32| self.is_thalweg() || attempts == least;
        let pending = (self.attempts.iter()).filter(|(_, attempts)| is_next(**attempts));
        let pending: Vec<usize> = pending.map(|(n, _)| *n).collect();
        // A node that missed the end of its last transfer would miss this one's wake-up.
        let is_rested = |n: &usize| !self.active.contains(n);
        let rested: Vec<usize> = pending.iter().copied().filter(is_rested).collect();
        if !rested.is_empty() {
            return Ok(rested);
        }
        rest(linger(self.scheme))?;
        Ok(pending)
    }
}
