//! A request to the planner: the pair, how routes are sought, grouped and given channels, and the transfer to
//! predict. Defaults are P3's (sections IV-C and V). The answer is in `plan`. Tests: tests/all/.

use crate::channels::Assignment;
use crate::closed_forms::Cycle;
use crate::link_model::LinkModel;
use crate::paths::{PathSearch, RelayOrder};
use crate::topology::LinkRule;
use thalweg_units::{Channel, ChannelSet, Duration};

/// How the paths are split into the two groups that relay odd and even packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// Random halves of the paths (P3, section IV-C3).
    #[default]
    Random,
    /// The halves, then the swaps within stages, with the best predicted delivery on the channels
    /// assigned: each half's chain of links joins from source to sink if any split allows it.
    Balanced,
}

/// Relays beside the paths' own (P3, section IV-C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diversity {
    /// None.
    #[default]
    PathsOnly,
    /// Stages with fewer relays than this get unused nodes that are linked to the stages before
    /// and after, best linked first.
    FillTo(usize),
}

/// What a route is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Node-distinct paths sought on one channel, then groups and channels (P3, section IV-C).
    #[default]
    Paths,
    /// One relay per stage and group, chosen by the measured links on the channels that they use; relays beside
    /// them only where that is expected to save time. Falls back on
    /// `Paths` where fewer channels were measured than a route needs, or no two such chains exist.
    Chains,
    /// One path of any length over the links that cost the least time, for transfers hop by hop.
    Hops,
}

/// What a plan has ready for links that have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backups {
    /// Nothing.
    #[default]
    None,
    /// Backup relays, alternate relays, and many paths where lean chains fail; one path hop by hop where that is quicker.
    Relays,
}

/// Which relays of the last stage speak to the sink, which has no receiver diversity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastStage {
    /// All of them, less those that silence themselves in the transfer (P3, section IV-E).
    #[default]
    All,
    /// Of each group, the set with the best predicted delivery; the others are left out of the plan.
    Best,
}

/// Which of P3's paths PIP runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipChoice {
    /// Any, by chance (P3, section V).
    #[default]
    Random,
    /// The one with the best predicted delivery.
    Best,
}

/// What a mote draws, for predicted energy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Currents {
    /// Receiving or listening, in milliamperes.
    pub receive_ma: f64,
    /// Sending, in milliamperes.
    pub send_ma: f64,
    /// The microcontroller's, in milliamperes, while it sends a frame or handles one.
    pub code_ma: f64,
    /// Supply voltage.
    pub supply_v: f64,
    /// Power of an idle node that sleeps and samples the channel, in watts.
    pub resting_w: f64,
}

impl Currents {
    /// CC2420 at 0 dBm and 3 V (data sheet: 18.8 mA receiving, 17.4 mA sending) beside an MSP430F1611 (TelosB's data sheet:
    /// 1.8 mA active).
    pub const TELOSB: Self = Self {
        receive_ma: 18.8,
        send_ma: 17.4,
        code_ma: 1.8,
        supply_v: 3.0,
        // 300 ms after 300 ms: 1.4 ms of receiver, and sleep.
        resting_w: 364e-6,
    };

    /// Power of a radio that listens, in watts.
    pub fn listening_w(&self) -> f64 {
        self.receive_ma * 1e-3 * self.supply_v
    }
}

/// The transfer to predict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Packets of the object.
    pub packets: u32,
    /// Packet and cycle, where two chains take turns.
    pub cycle: Cycle,
    /// The gap where no other chain takes turns with a relay, on average of those before and after its frame.
    pub lone_gap: Duration,
    /// The gap of a source that is next to the sink.
    pub direct_gap: Duration,
    /// From the first wake-up packet to the first data packet.
    pub wake_up: Duration,
    /// Timers and turn-round of one control exchange beyond its cycles.
    pub exchange_guard: Duration,
    /// Tries of one control exchange after which PIP gives up.
    pub pip_tries: u32,
    /// What a mote draws.
    pub currents: Currents,
}

impl Default for Transfer {
    /// P3's evaluation: 500 packets of 118 B, with the wake-up that published control takes over some four hops.
    fn default() -> Self {
        let cycle = Cycle::default();
        Self {
            packets: 500,
            cycle,
            lone_gap: cycle.gap,
            direct_gap: cycle.gap,
            wake_up: Duration::from_millis(50),
            exchange_guard: Duration::ZERO,
            pip_tries: 5,
            currents: Currents::TELOSB,
        }
    }
}

/// What may carry an object where chains with backup relays would lose much, or lead nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastResort {
    /// Chains by P3's rounds, or one path hop by hop.
    #[default]
    Any,
    /// One path hop by hop: in a secured network P3's rounds are not sealed.
    Hops,
}

/// A route wanted. [`RouteRequest::new`] gives P3's defaults; change the fields that differ.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteRequest {
    /// The node that has the data.
    pub source: usize,
    /// The node that wants it.
    pub sink: usize,
    /// What the route is made of.
    pub style: Style,
    /// Pipeline channels, counted back from the sink (see [`crate::channels::spread_order`]).
    pub channels: Vec<Channel>,
    /// How stages get their channels.
    pub assignment: Assignment,
    /// Channels that [`Assignment::Best`] may choose among, as far as they were measured. Under Wi-Fi
    /// losses come in bursts that all receivers share, which no reception ratio shows: leave those
    /// channels out where there is much of it.
    pub choose_from: ChannelSet,
    /// The channel on which routes are sought.
    pub routing_channel: Channel,
    /// N: fewer paths than this make the planner try longer ones (and 0 counts as 1).
    pub min_paths: usize,
    /// Use no more paths than this, the best linked ones. [`Style::Chains`] uses two at most.
    pub max_paths: Option<usize>,
    /// Longest H tried, though never less than three above the shortest.
    pub max_hops: usize,
    /// Exactly this H, whatever the number of paths.
    pub hops: Option<usize>,
    /// How paths are sought.
    pub search: PathSearch,
    /// Which relay the search tries first.
    pub order: RelayOrder,
    /// How paths are split.
    pub grouping: Grouping,
    /// Relays beside the paths' own.
    pub diversity: Diversity,
    /// Who speaks to the sink.
    pub last_stage: LastStage,
    /// Which links count.
    pub rule: LinkRule,
    /// Rules tried in turn where `rule` leaves too few paths of every length.
    pub fallback: Vec<LinkRule>,
    /// PIP's path.
    pub pip: PipChoice,
    /// What [`Style::Chains`] has ready for links that have changed.
    pub backups: Backups,
    /// What [`Backups::Relays`] may be given up for.
    pub last_resort: LastResort,
    /// [`Style::Hops`]: channels that a hop may take beside those of the pipeline.
    pub other_channels: Vec<Channel>,
    /// [`Style::Hops`]: the channel on which nodes are called, where it is known: a hop that is no good there is none.
    pub control: Option<Channel>,
    /// The channels that surveys measure, whether or not anything was heard there; none where that is not known.
    pub measured: ChannelSet,
    /// [`Style::Hops`]: a link may cost so many times more, by chance. Another try takes another route so; 0 for the best.
    pub detour: f64,
    /// The transfer to predict.
    pub transfer: Transfer,
    /// What predictions make of measured links.
    pub model: LinkModel,
}

impl RouteRequest {
    /// P3 as published, from `source` to `sink`: channels 26, 20, 25, 15 counted back from the sink,
    /// routes on channel 26, N = 6, random halves.
    pub fn new(source: usize, sink: usize) -> Self {
        let rule = LinkRule::default();
        Self {
            source,
            sink,
            style: Style::default(),
            channels: [15, 9, 14, 4].map(Channel::from_index).to_vec(),
            assignment: Assignment::default(),
            choose_from: ChannelSet::ALL,
            routing_channel: Channel::LAST,
            min_paths: 6,
            max_paths: None,
            max_hops: 10,
            hops: None,
            search: PathSearch::default(),
            order: RelayOrder::default(),
            grouping: Grouping::default(),
            diversity: Diversity::default(),
            last_stage: LastStage::default(),
            rule,
            fallback: rule.weaker(),
            pip: PipChoice::default(),
            backups: Backups::None,
            last_resort: LastResort::Any,
            other_channels: Vec::new(),
            control: None,
            measured: ChannelSet::EMPTY,
            detour: 0.0,
            transfer: Transfer::default(),
            model: LinkModel::default(),
        }
    }
    /// The same with links as `model` has them: routing links are those that it takes for sure.
    #[must_use]
    pub fn trusting(mut self, model: LinkModel) -> Self {
        self.rule = LinkRule {
            floor: model.floor,
            ..self.rule.with_margin(Some(model.sure_margin()))
        };
        self.fallback = self.rule.weaker();
        Self { model, ..self }
    }
    /// The leanest plan, over what was measured on all of P3's channels.
    pub fn planned(source: usize, sink: usize) -> Self {
        Self {
            style: Style::Chains,
            ..Self::improved(source, sink)
        }
    }
    /// The same as [`RouteRequest::new`] with all that paths and groups can do better: larger path sets, stages filled up to N,
    /// groups, channels and last speakers chosen by predicted delivery.
    pub fn improved(source: usize, sink: usize) -> Self {
        Self {
            search: PathSearch::Layered,
            order: RelayOrder::BestLink,
            grouping: Grouping::Balanced,
            assignment: Assignment::Best,
            diversity: Diversity::FillTo(6),
            last_stage: LastStage::Best,
            pip: PipChoice::Best,
            ..Self::new(source, sink)
        }
    }
}
