//! Packet pipelines over one radio (P3, PIP and what was made of them): the node, the terms, the route as a
//! wake-up tells it, and the job that fetches an object.
//!
//! Time base: the sink's clock for what it measured, field time for how long it may take. Invariants: orders
//! go to the sink alone; an object is handed out only where length and digest are the source's.

use super::log::Log;
use crate::field::{Clock, FieldTime};
use crate::job::{Again, Failure, Job, Progress, Retry, Step};
use crate::object::{Holds, Memory};
use std::collections::VecDeque;
use std::num::NonZeroU16;
use thalweg_engine::{BoardTiming, Passing};
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::{Group as PlanGroup, Plan};
use thalweg_protocols::mote::rest::PERIOD;
use thalweg_protocols::mote::{self, Command, Mote};
use thalweg_protocols::pipeline::{Complete, End};
use thalweg_units::{Duration, NodeId};
use thalweg_wire::pipeline::{Format, Group, MAX_PACKETS};
use thalweg_wire::route::{
    Channels, Groups, Hopping, Look, Member, PayloadSize, Percent, Progress::Kept, Route, Scheme,
    TrialRun,
};

/// The most nodes that a sink's orders can name.
pub const MAX_NODES: usize = 1024;
/// Longer than any relay of P3 waits for a pipeline that has fallen silent (3 s): one that missed the end stays until then,
/// and hears no wake-up.
pub const SETTLING: Duration = Duration::from_secs(4);
/// What is waited between two transfers of `scheme`. Who missed the end of one of Thalweg's is soon back, and has
/// others that stand by.
pub const fn settling(scheme: Scheme) -> Duration {
    match scheme {
        Scheme::Thalweg => Duration::ZERO,
        _ => SETTLING,
    }
}

/// Beyond a transfer's own deadline, how long its end is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// For each attempt of another protocol, so many of one that keeps what is there: its source may be at a round that
/// nobody hears, and is then back within seconds.
const RESUMED: u32 = 4;

/// The engine of every node.
pub type Node = Mote<Memory, 160, MAX_NODES>;
/// What its sink is ordered.
pub type Order = Command<MAX_NODES>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// Between two frames of a relay that receives and sends by turns, on average, where frames have
/// `mpdu_bytes`: half of what the scheme's period is longer than two frames on the air.
pub fn mean_pause(scheme: Scheme, mpdu_bytes: usize, timing: &BoardTiming) -> Duration {
    let passing = match scheme {
        // Slots that are alike.
        Scheme::P3 | Scheme::Thalweg | Scheme::Pip(Hopping::EveryCyclePair) => {
            return timing.relaying(mpdu_bytes, Passing::Copied).forth
        }
        Scheme::Pip(Hopping::Fixed) => Passing::Copied,
        Scheme::PipCit => Passing::Conditional,
    };
    let pauses = timing.relaying(mpdu_bytes, passing);
    Duration::from_nanos((pauses.forth + pauses.back).as_nanos() / 2)
}

/// Terms of a transfer besides its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// Reception ratio below which relays of the last but one stage keep silent.
    pub threshold: Option<Percent>,
    /// After how many seconds a transfer is given up.
    pub deadline_s: u16,
    /// How often the sink begins a transfer over several paths that breaks off. PIP, which gives up
    /// by design, has one attempt.
    pub retry: Retry,
    /// How frames begin. This and the next are for [`Scheme::P3`] alone.
    pub format: Format,
    /// Cycles of each rotation of the channels in a trial; `None` for channels as planned.
    pub tuning: Option<TrialRun>,
}

impl Default for Terms {
    /// Packets of the largest size, a threshold of 50 %, ten minutes, three attempts.
    fn default() -> Self {
        Self {
            payload: PayloadSize::MAX,
            threshold: Percent::new(50),
            deadline_s: 600,
            retry: Retry {
                attempts: 3,
                again: Again::SamePlan,
            },
            format: Format::Full,
            tuning: None,
        }
    }
}

impl Terms {
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

/// Everyone who takes part, source, sink and those that stand by included, by index.
pub fn active_nodes(plan: &Plan, scheme: Scheme) -> Vec<usize> {
    let reserves = plan.standing_by.iter().chain(&plan.spares).flatten();
    let reserves = reserves.map(|member| member.node);
    match scheme {
        Scheme::P3 | Scheme::Thalweg => (plan.active_nodes().into_iter())
            .map(|(node, _)| node)
            .chain(reserves)
            .collect(),
        Scheme::Pip(_) | Scheme::PipCit => plan.pip.path.clone(),
    }
}

/// `plan` as the wake-up of transfer number `transfer` tells it to the nodes called `ids`.
///
/// # Errors
/// [`Failure::Unfit`] where it does not fit.
pub fn route(
    plan: &Plan,
    scheme: Scheme,
    terms: &Terms,
    ids: &[NodeId],
    transfer: u16,
) -> Result<Route, Failure> {
    let of = |node: usize| ids.get(node).copied();
    let made = || {
        let channels = Channels::new(&plan.channels)?;
        let (source, sink) = (of(plan.source)?, of(plan.sink)?);
        let mut route = Route::new(transfer, source, sink, scheme, channels);
        (route.payload, route.deadline_s) = (terms.payload, terms.deadline_s);
        let relays: Vec<(usize, usize, Group)> = match scheme {
            Scheme::P3 => {
                route.threshold = terms.threshold;
                (route.format, route.tuning) = (terms.format, terms.tuning);
                by_stage(&plan.stages).collect()
            }
            Scheme::Thalweg => {
                (route.format, route.expected) = (terms.format, expected(plan.packets));
                by_stage(&plan.stages).collect()
            }
            Scheme::Pip(_) | Scheme::PipCit => {
                let path = &plan.pip.path;
                let relays = path.get(1..path.len().checked_sub(1)?)?.iter().enumerate();
                relays.map(|(at, n)| (*n, at + 1, Group::Odd)).collect()
            }
        };
        for (node, stage, group) in relays {
            let (node, stage) = (of(node)?, stage as u8);
            route.add(Member { node, stage, group }).ok()?;
        }
        for (node, stage, group) in by_stage(&plan.standing_by) {
            let (node, stage) = (of(node)?, stage as u8);
            route.stand_by(Member { node, stage, group }).ok()?;
        }
        for (node, stage, group) in by_stage(&plan.spares) {
            let (node, stage) = (of(node)?, stage as u8);
            route.add_spare(Member { node, stage, group }).ok()?;
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

/// Packets that a wake-up may tell to be expected: none where there are none, or more than a transfer has.
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

/// A route, and all who take part in it.
#[derive(Debug, Clone)]
pub struct Way {
    /// What its wake-up tells.
    pub route: Route,
    /// Source, sink, relays and those that stand by.
    pub nodes: Vec<NodeId>,
}

impl Way {
    /// `plan` for nodes called `ids`; its transfers are numbered by who orders them.
    ///
    /// # Errors
    /// [`Failure::Unfit`], as [`route`].
    pub fn of(plan: &Plan, scheme: Scheme, terms: &Terms, ids: &[NodeId]) -> Result<Self, Failure> {
        let nodes = active_nodes(plan, scheme);
        Ok(Self {
            route: route(plan, scheme, terms, ids, 0)?,
            nodes: nodes.iter().filter_map(|n| ids.get(*n).copied()).collect(),
        })
    }
}

/// Which way an attempt takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Turn {
    /// One of the ways, all of them over and over.
    way: usize,
    /// An attempt on it was silent: its source may still have been at another.
    was_silent: bool,
}

/// What a fetch brought.
#[derive(Debug)]
pub struct Fetched {
    /// The object, where it is whole.
    pub object: Option<Vec<u8>>,
    /// What the sink told when it had all of it.
    pub complete: Option<Complete>,
    /// From the first wake-up packet to the last data packet; to the end of the last attempt where the
    /// object did not arrive.
    pub duration: Duration,
    /// Before that, from the order to the first wake-up packet.
    pub waited: Duration,
    /// Of the last attempt: from the first wake-up packet to the source's first.
    pub wake_up: Duration,
    /// The round that was under way, from 1.
    pub round: u32,
    /// Packets that the first round brought.
    pub first_round: Option<u16>,
    /// How often it was begun.
    pub attempts: u32,
    /// Chains that brought too little of what was looked at, over all attempts.
    pub lame_chains: u32,
    /// How many nodes took part.
    pub active: u32,
    /// Energy of all who took part, in joules.
    pub joules: Option<f64>,
    /// The same of all nodes of the network.
    pub network_joules: Option<f64>,
    /// How it ended, where it failed.
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Until the relays of a broken attempt have given it up.
    Resting,
    /// Ordered: the sink begins at the next meeting of its network.
    Waking,
    /// The floods have begun. Energy spent up to then is not the transfer's.
    Awake,
    Following,
    /// All is there, or the attempt is over: what was spent up to now is the transfer's.
    Metering,
    /// The object is there; the sink's node lingers until the source knows.
    Lingering,
    Taking,
    Over,
}

/// Fetches the object that a route's source offers.
#[derive(Debug)]
pub struct Fetch {
    /// Of the attempt under way, or of the next.
    route: Route,
    /// Ways to try in turn.
    ways: Vec<Way>,
    turn: Turn,
    /// The number of the first attempt's transfer.
    first: u16,
    /// All nodes of the network.
    nodes: Vec<NodeId>,
    /// Those that took part in any attempt.
    active: Vec<NodeId>,
    retry: Retry,
    patience: Duration,
    state: State,
    /// Of the state: it ends by then.
    until: FieldTime,
    attempt: u32,
    /// Packets that the sink was known to have at the end of an attempt.
    held: u32,
    log: Log,
    /// What nodes had spent when floods began and at the end, in joules; none where the field does not tell.
    energy: [Vec<Option<f64>>; 2],
    says: VecDeque<Progress>,
    failed: Option<Failure>,
}

impl Fetch {
    /// A fetch over `way`, and over the `others` in turn where it breaks off, in a network of the nodes `ids`. Transfers
    /// are numbered from `first` on.
    pub fn new(way: Way, others: Vec<Way>, first: u16, ids: &[NodeId], terms: &Terms) -> Self {
        let mut route = way.route;
        route.transfer = first;
        let retry = match (route.scheme, terms.retry.again) {
            (Scheme::P3, Again::SamePlan) => terms.retry,
            (Scheme::Thalweg, Again::SamePlan) => Retry {
                attempts: terms.retry.attempts * RESUMED,
                ..terms.retry
            },
            _ => Retry::NEVER,
        };
        let mut fetch = Self {
            patience: Duration::from_secs(u64::from(route.deadline_s)) + PATIENCE,
            log: Log::new(route.payload.bytes()),
            route,
            ways: [way].into_iter().chain(others).collect(),
            turn: Turn::default(),
            first,
            nodes: ids.to_vec(),
            active: Vec::new(),
            retry,
            state: State::Resting,
            until: FieldTime::ZERO,
            attempt: 0,
            held: 0,
            energy: [Vec::new(), Vec::new()],
            says: VecDeque::new(),
            failed: None,
        };
        fetch.look();
        fetch
    }

    /// How often it was begun so far: each time the transfer has the next number.
    pub const fn attempts(&self) -> u32 {
        self.attempt
    }

    /// An attempt is over.
    fn ended(&mut self, now: FieldTime) {
        if self.log.complete.is_some() {
            self.state = State::Taking;
        } else if self.log.is_broken() && self.retry.follows(self.attempt) {
            self.held = self.held.max(self.log.received);
            let is_silent_again = self.turn.was_silent && !self.log.heard;
            let rest = match self.log.received {
                // Its source may be at a round that nobody hears: close meetings would use up all attempts meanwhile.
                0 if is_silent_again && self.route.scheme == Scheme::Thalweg => PERIOD,
                0 => Duration::ZERO,
                // Relays of the broken transfer are deaf to a wake-up until they give it up.
                _ => settling(self.route.scheme),
            };
            self.turn = self.next_turn();
            self.next_way();
            (self.state, self.until) = (State::Resting, now + rest);
        } else {
            self.state = State::Over;
        }
    }

    /// The route of the next attempt. Thalweg's takes another way, and goes on with what is there.
    fn next_way(&mut self) {
        let transfer = self.first.wrapping_add(self.attempt as u16);
        if self.route.scheme == Scheme::Thalweg {
            if let Some(way) = self.way() {
                self.route = way.route;
            }
            self.route.progress = Kept;
            // Where more came than was expected, nobody knows how much is left.
            let all = self.route.expected.map_or(0, NonZeroU16::get);
            self.route.expected = expected(u32::from(all).saturating_sub(self.held));
            self.look();
        }
        self.route.transfer = transfer;
    }

    /// Has an attempt over lean chains look at them, and end where one is lame, as long as there is another way.
    fn look(&mut self) {
        let route = &mut self.route;
        let is_lean = !route.spares().is_empty() || !route.standing_by().is_empty();
        let is_last = self.turn.way + 1 >= self.ways.len();
        if is_lean && route.groups() == Groups::Two && !is_last {
            route.look = Look::First;
        }
    }

    /// After an attempt that broke off: the next way, or the same once more where nothing was heard. Where packets came
    /// until nothing came any more, the sink's channel may have gone bad: the next way that ends on another.
    fn next_turn(&self) -> Turn {
        let Turn { way, was_silent } = self.turn;
        if !self.log.heard && !was_silent {
            return Turn {
                was_silent: true,
                ..self.turn
            };
        }
        let fell_silent = self.log.heard && self.log.end == Some(End::TimedOut);
        let last = |route: &Route| route.channels.of(route.channels.hops());
        let ends_elsewhere = |at: &usize| {
            let other = &self.ways[(way + at) % self.ways.len()].route;
            last(other) != last(&self.route)
        };
        let elsewhere = (1..self.ways.len()).find(ends_elsewhere);
        Turn {
            way: way + elsewhere.filter(|_| fell_silent).unwrap_or(1),
            was_silent: false,
        }
    }

    fn way(&self) -> Option<&Way> {
        self.ways.get(self.turn.way % self.ways.len().max(1))
    }

    /// Counts those of the way that is being ordered among the active.
    fn takes_part(&mut self) {
        let nodes = self.way().map(|way| way.nodes.clone());
        for node in nodes.into_iter().flatten() {
            if !self.active.contains(&node) {
                self.active.push(node);
            }
        }
    }

    /// What the nodes that `of` says have spent since the floods began, in joules.
    fn spent(&self, of: impl Fn(&NodeId) -> bool) -> Option<f64> {
        let [before, after] = &self.energy;
        let each = self.nodes.iter().zip(before.iter().zip(after));
        let each = each.filter(|(node, _)| of(node));
        each.map(|(_, (before, after))| after.zip(*before).map(|(a, b)| a - b))
            .sum()
    }

    fn brings(&mut self) -> Fetched {
        let active = |node: &NodeId| self.active.contains(node);
        let (joules, network_joules) = match self.energy[1].is_empty() {
            true => (None, None),
            false => (self.spent(active), self.spent(|_| true)),
        };
        let log = &mut self.log;
        let verified = log.is_verified();
        Fetched {
            object: log.bytes.take().filter(|_| verified),
            complete: log.complete,
            duration: log.duration(),
            waited: log.waited(),
            wake_up: log.wake_up,
            round: log.round,
            first_round: log
                .complete
                .map_or(log.first_round, |c| Some(c.first_round)),
            attempts: self.attempt,
            lame_chains: log.lame,
            joules,
            network_joules,
            active: self.active.len() as u32,
            failure: (!verified).then(|| log.failure()),
        }
    }
}

impl Job for Fetch {
    type Order = Order;
    type Event = mote::Event;
    type Brings = Fetched;

    fn told(&mut self, clock: &dyn Clock, at: FieldTime, by: NodeId, event: mote::Event) {
        if by != self.route.sink {
            return;
        }
        match (self.state, event) {
            (State::Waking, mote::Event::WakeUp { .. }) => {
                self.log.note(clock, at, by, event);
                self.says.push_back(Progress::WakingUp);
                (self.state, self.until) = (State::Awake, at + self.patience);
            }
            (State::Waking, _) => self.failed = refused(&event),
            _ => self.says.extend(self.log.note(clock, at, by, event)),
        }
    }
    fn lost(&mut self, _at: FieldTime, station: NodeId, why: Failure) {
        if station == self.route.sink {
            self.failed = Some(why);
        }
    }
    fn metered(&mut self, joules: Vec<Option<f64>>) {
        match self.state {
            State::Awake => {
                self.energy[0] = joules;
                self.state = State::Following;
            }
            _ => {
                self.energy[1] = joules;
                self.state = State::Lingering;
            }
        }
    }
    fn taken(&mut self, _station: NodeId, bytes: Vec<u8>) {
        self.log.bytes = Some(bytes);
        self.state = State::Over;
    }

    fn poll(&mut self, now: FieldTime) -> Step<Order, Fetched> {
        if let Some(why) = self.failed.take() {
            return Step::Done(Err(why));
        }
        if let Some(progress) = self.says.pop_front() {
            return Step::Say(progress);
        }
        let (is_over, is_whole) = (self.log.end.is_some(), self.log.complete.is_some());
        match self.state {
            State::Resting if now >= self.until => {
                self.log.begin(now);
                self.attempt += 1;
                self.takes_part();
                (self.state, self.until) = (State::Waking, now + self.patience);
                Step::Order(self.route.sink, Command::Fetch(self.route))
            }
            State::Awake if self.attempt == 1 => Step::Meter(self.nodes.clone()),
            State::Awake => {
                self.state = State::Following;
                self.poll(now)
            }
            State::Following if is_over || is_whole => {
                (self.state, self.until) = (State::Metering, now + self.patience);
                Step::Meter(self.nodes.clone())
            }
            State::Lingering if is_over => {
                self.ended(now);
                self.poll(now)
            }
            State::Taking => {
                let len = self.log.complete.map_or(0, |c| c.len as usize);
                Step::Take(self.route.sink, len)
            }
            State::Over => Step::Done(Ok(self.brings())),
            _ if now < self.until => Step::Wait(self.until),
            _ => Step::Done(Err(Failure::NoEnd(self.patience))),
        }
    }

    fn stop(&mut self) -> Vec<(NodeId, Order)> {
        // The sink is free for its next order at once; whoever else takes part leaves when it
        // hears nothing any more.
        vec![(self.route.sink, Command::Stop)]
    }
}

/// The refusal that `event` is, of any order.
pub(crate) fn refused(event: &mote::Event) -> Option<Failure> {
    let why = match event {
        mote::Event::Refused(why) => format!("{why:?}"),
        mote::Event::Floods(thalweg_protocols::floodnet::Event::Refused(why)) => {
            format!("{why:?}")
        }
        _ => return None,
    };
    Some(Failure::Refused(why))
}
