//! The terms of a pipeline transfer, and its route as in a wake-up. Tests: `tests/all/flaky.rs`.

use crate::job::{Failure, Retry, RetryMode};
use std::num::NonZeroU16;
use thalweg_engine::{BoardTiming, Passing};
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::{Group as PlanGroup, Plan, Transfer};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::hop;
use thalweg_wire::pipeline::{Format, Group, MAX_PACKETS};
use thalweg_wire::route::{
    Channels, Hopping, Member, ObjectRange, PayloadSize, Percent, Route, Scheme,
};
use thalweg_wire::seal::frame::Sealing;

/// `published`, but of so many packets of `payload`, sent by boards of `timing`; with P3's own gap without a timing.
pub fn transfer(
    published: Transfer,
    scheme: Scheme,
    (packets, payload): (u32, PayloadSize),
    timing: Option<&BoardTiming>,
) -> Transfer {
    let payload_bytes = usize::from(payload.bytes());
    let sized = Transfer {
        packets,
        cycle: Cycle {
            payload_bytes,
            ..published.cycle
        },
        ..published
    };
    let Some(timing) = timing else { return sized };
    let bytes = published.cycle.header_bytes + payload_bytes;
    let passing = match scheme {
        Scheme::PipCit => Passing::Conditional,
        _ => Passing::Copied,
    };
    let pauses = timing.relaying(bytes, passing);
    let mean = Duration::from_nanos((pauses.forth + pauses.back).as_nanos() / 2);
    let (gap, lone_gap, direct_gap) = match scheme {
        // Slots that are alike.
        Scheme::Pip(Hopping::EveryCyclePair) => (pauses.forth, pauses.forth, pauses.forth),
        // A packet waits at each relay for the next.
        Scheme::PipCit => (mean, mean, pauses.alone),
        Scheme::Pip(Hopping::Fixed) => (pauses.forth, mean, pauses.alone),
        Scheme::HopByHop => (pauses.alone, pauses.alone, pauses.alone),
        // Without relays both groups are the source's.
        Scheme::P3 | Scheme::Thalweg => (pauses.forth, mean, pauses.forth),
    };
    Transfer {
        cycle: Cycle { gap, ..sized.cycle },
        lone_gap,
        direct_gap,
        ..sized
    }
}

/// Over links that lose much, a path hop by hop takes about this many times the predicted time: each hop waits until its link
/// is back, while one of two chains goes on. On grids of .65, .85 and .5 to 1 it was 1.5 to 1.9.
const UNSTEADY: f64 = 1.7;
/// Terms of a transfer besides its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTerms {
    /// Which bytes of the object.
    pub range: ObjectRange,
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// Reception ratio below which relays of the last but one stage keep silent.
    pub threshold: Option<Percent>,
    /// After how many seconds a transfer is given up.
    pub deadline_s: u16,
    /// How often the sink begins a transfer over several paths that breaks off. PIP, which gives up
    /// by design, has one attempt.
    pub retry: Retry,
    /// How frames begin, for [`Scheme::P3`] alone.
    pub format: Format,
    /// Whether its network is secured. [`Scheme::Thalweg`] and [`Scheme::HopByHop`] are sealed.
    pub sealing: Sealing,
    /// After how long no further attempt is made, as the caller has another way; none to go on. An attempt that begins
    /// before has as long again.
    pub limit: Option<Duration>,
    /// What another way takes, as far as is known. [`Scheme::P3`] is left for it after a first round that brought so little
    /// that the others would take longer; none to go on.
    pub other_way: Option<Duration>,
}

impl Default for TransferTerms {
    /// The whole object, packets of the largest size, a threshold of 50 %, ten minutes, three attempts.
    fn default() -> Self {
        Self {
            range: ObjectRange::ALL,
            payload: PayloadSize::MAX,
            threshold: Percent::new(50),
            deadline_s: 600,
            retry: Retry {
                attempts: 3,
                mode: RetryMode::SamePlan,
            },
            format: Format::Full,
            sealing: Sealing::Open,
            limit: None,
            other_way: None,
        }
    }
}

impl TransferTerms {
    /// The same in slim frames; packets of the largest size grow by what the headers lose.
    #[must_use]
    pub fn slim(self) -> Self {
        let payload = if self.payload == PayloadSize::MAX {
            PayloadSize::max_of(Format::Slim)
        } else {
            self.payload
        };
        Self {
            payload,
            format: Format::Slim,
            ..self
        }
    }
    /// The same for a transfer hop by hop, whose packets hold a little less.
    #[must_use]
    pub fn in_blocks(self) -> Self {
        let most = hop::MAX_PAYLOAD - self.sealing.mic_bytes();
        let most = PayloadSize::new(most).unwrap_or(PayloadSize::MAX);
        let payload = if self.payload.bytes() > most.bytes() {
            most
        } else {
            self.payload
        };
        Self { payload, ..self }
    }
    /// The same for Thalweg over `plan` where a path hop by hop may follow. It is taken after three times what was foreseen, and
    /// no sooner than after six seconds. Where `plan` expects losses, what is foreseen of it says little, so `hops`, the plan
    /// of the other way, decides: after the first round, and after five times its time.
    #[must_use]
    pub fn with_last_resort(self, plan: &Plan, hops: Option<&Plan>) -> Self {
        let hops = hops.filter(|_| plan.expects_losses());
        let likely = hops.and_then(Plan::steady_s);
        Self {
            limit: Some(Duration::from_secs_f64(plan.left_after_s(hops))),
            other_way: likely.map(|time_s| Duration::from_secs_f64(time_s * UNSTEADY)),
            ..self
        }
    }
    /// The packets to expect of an object of `packets` packets: those in the range.
    fn expected_of(&self, packets: u32) -> Option<NonZeroU16> {
        let payload = u32::from(self.payload.bytes()).max(1);
        let left = packets.saturating_sub(self.range.offset / payload);
        expected(left.min(self.range.len.div_ceil(payload)))
    }
    /// The source's cycle on boards of `timing`, whose rate is the effective physical one.
    pub fn cycle(&self, timing: &BoardTiming) -> Cycle {
        let (payload_bytes, header_bytes) = (self.payload.bytes(), self.format.header_bytes());
        let payload_bytes = usize::from(payload_bytes);
        let pauses = timing.relaying(header_bytes + payload_bytes, Passing::Copied);
        Cycle {
            payload_bytes,
            header_bytes,
            gap: pauses.alone.min(pauses.forth),
        }
    }
}

/// All nodes that take part, by index: source, sink, relays and backups.
pub fn active_nodes(plan: &Plan, scheme: Scheme) -> Vec<usize> {
    let backups = plan.backup_relays.iter().chain(&plan.alternates).flatten();
    let backups = backups.map(|member| member.node);
    match scheme {
        Scheme::P3 | Scheme::Thalweg => (plan.active_nodes().into_iter())
            .map(|(node, _)| node)
            .chain(backups)
            .collect(),
        Scheme::Pip(_) | Scheme::PipCit | Scheme::HopByHop => plan.pip.path.clone(),
    }
}

/// The route of `plan` in the wake-up of transfer number `transfer`, for nodes called `ids`.
///
/// # Errors
/// [`Failure::Unfit`] where it does not fit.
pub fn route(
    plan: &Plan,
    scheme: Scheme,
    terms: &TransferTerms,
    ids: &[NodeId],
    transfer: u16,
) -> Result<Route, Failure> {
    let of = |node: usize| ids.get(node).copied();
    let made = || {
        let channels = Channels::new(&plan.channels)?;
        let (source, sink) = (of(plan.source)?, of(plan.sink)?);
        let mut route = Route::new(transfer, source, sink, scheme, channels);
        (route.payload, route.deadline_s) = (terms.payload, terms.deadline_s);
        (route.range, route.sealing) = (terms.range, terms.sealing);
        let relays: Vec<(usize, usize, Group)> = match scheme {
            Scheme::P3 => {
                route.threshold = terms.threshold;
                route.format = terms.format;
                by_stage(&plan.stages).collect()
            }
            Scheme::Thalweg => {
                (route.format, route.expected) = (terms.format, terms.expected_of(plan.packets));
                route.last_even = plan.last_even;
                by_stage(&plan.stages).collect()
            }
            Scheme::Pip(_) | Scheme::PipCit | Scheme::HopByHop => {
                let path = &plan.pip.path;
                let relays = path.get(1..path.len().checked_sub(1)?)?.iter().enumerate();
                relays.map(|(at, n)| (*n, at + 1, Group::Odd)).collect()
            }
        };
        for (node, stage, group) in relays {
            let (node, stage) = (of(node)?, stage as u8);
            route.add(Member { node, stage, group }).ok()?;
        }
        for (node, stage, group) in by_stage(&plan.backup_relays) {
            let (node, stage) = (of(node)?, stage as u8);
            route.add_backup(Member { node, stage, group }).ok()?;
        }
        for (node, stage, group) in by_stage(&plan.alternates) {
            let (node, stage) = (of(node)?, stage as u8);
            route.add_alternate(Member { node, stage, group }).ok()?;
        }
        Some(route)
    };
    made().ok_or_else(|| {
        let relays: usize = plan.stages.iter().map(Vec::len).sum();
        let hops = plan.hops;
        Failure::Unfit(format!(
            "a route of {hops} hops and {relays} relays does not fit a wake-up message"
        ))
    })
}

/// The number of expected packets in a wake-up; none where it is 0, or more than a transfer has.
pub(crate) fn expected(packets: u32) -> Option<NonZeroU16> {
    let packets = u16::try_from(packets).ok().and_then(NonZeroU16::new);
    packets.filter(|packets| packets.get() <= MAX_PACKETS)
}

/// Nodes of stages 1..H, each with its stage and group.
fn by_stage(
    stages: &[Vec<thalweg_planner::Member>],
) -> impl Iterator<Item = (usize, usize, Group)> + '_ {
    let group = |of: PlanGroup| match of {
        PlanGroup::Odd => Group::Odd,
        PlanGroup::Even => Group::Even,
    };
    let stages = stages.iter().enumerate();
    stages.flat_map(move |(at, stage)| stage.iter().map(move |m| (m.node, at + 1, group(m.group))))
}

/// A route, and the nodes that take part in it.
#[derive(Debug, Clone)]
pub struct RoutePlan {
    /// Its wake-up.
    pub route: Route,
    /// Source, sink, relays and backup relays.
    pub nodes: Vec<NodeId>,
}

impl RoutePlan {
    /// `plan` for nodes called `ids`; the caller numbers its transfers.
    ///
    /// # Errors
    /// [`Failure::Unfit`], as [`route`].
    pub fn of(
        plan: &Plan,
        scheme: Scheme,
        terms: &TransferTerms,
        ids: &[NodeId],
    ) -> Result<Self, Failure> {
        let nodes = active_nodes(plan, scheme);
        Ok(Self {
            route: route(plan, scheme, terms, ids, 0)?,
            nodes: nodes.iter().filter_map(|n| ids.get(*n).copied()).collect(),
        })
    }
}
