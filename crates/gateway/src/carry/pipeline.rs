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
use thalweg_engine::{BoardTiming, Passing};
use thalweg_planner::closed_forms::Cycle;
use thalweg_planner::{Group as PlanGroup, Plan};
use thalweg_protocols::mote::{self, Command, Mote};
use thalweg_protocols::pipeline::Complete;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::pipeline::{Format, Group};
use thalweg_wire::route::{
    Channels, Hopping, Member, PayloadSize, Percent, Route, Scheme, TrialRun,
};

/// The most nodes that a sink's orders can name.
pub const MAX_NODES: usize = 256;
/// Longer than any relay waits for a pipeline that has fallen silent (3 s).
pub const SETTLING: Duration = Duration::from_secs(4);
/// Beyond a transfer's own deadline, how long its end is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);

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
        Scheme::P3 | Scheme::Pip(Hopping::EveryCyclePair) => {
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

/// Everyone who takes part, source and sink included, by index.
pub fn active_nodes(plan: &Plan, scheme: Scheme) -> Vec<usize> {
    match scheme {
        Scheme::P3 => (plan.active_nodes().into_iter())
            .map(|(node, _)| node)
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
                let stages = plan.stages.iter().enumerate();
                let group = |of: PlanGroup| match of {
                    PlanGroup::Odd => Group::Odd,
                    PlanGroup::Even => Group::Even,
                };
                stages
                    .flat_map(|(at, stage)| {
                        stage.iter().map(move |m| (m.node, at + 1, group(m.group)))
                    })
                    .collect()
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
    /// Of the last attempt: from the first wake-up packet to the source's first.
    pub wake_up: Duration,
    /// The round that was under way, from 1.
    pub round: u32,
    /// Packets that the first round brought.
    pub first_round: Option<u16>,
    /// How often it was begun.
    pub attempts: u32,
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

/// What nodes have spent so far, in joules; none where the field does not tell.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    active: Option<f64>,
    all: Option<f64>,
}

/// Fetches the object that a route's source offers.
#[derive(Debug)]
pub struct Fetch {
    route: Route,
    /// All nodes of the network, first those that take part.
    nodes: Vec<NodeId>,
    active: usize,
    retry: Retry,
    patience: Duration,
    state: State,
    /// Of the state: it ends by then.
    until: FieldTime,
    attempt: u32,
    log: Log,
    /// What those that take part, and all, had spent when floods began and at the end, in joules.
    energy: [Spent; 2],
    says: VecDeque<Progress>,
    failed: Option<Failure>,
}

impl Fetch {
    /// A fetch over `route`, of which `active` are all who take part, in a network of the nodes `ids`.
    pub fn new(route: Route, active: Vec<NodeId>, ids: &[NodeId], terms: &Terms) -> Self {
        let retry = match (route.scheme, terms.retry.again) {
            (Scheme::P3, Again::SamePlan) => terms.retry,
            _ => Retry::NEVER,
        };
        let (taking_part, mut nodes) = (active.len(), active);
        let others = ids.iter().filter(|id| !nodes.contains(id)).copied();
        let others: Vec<NodeId> = others.collect();
        nodes.extend(others);
        Self {
            patience: Duration::from_secs(u64::from(route.deadline_s)) + PATIENCE,
            log: Log::new(route.payload.bytes()),
            route,
            nodes,
            active: taking_part,
            retry,
            state: State::Resting,
            until: FieldTime::ZERO,
            attempt: 0,
            energy: [Spent::default(); 2],
            says: VecDeque::new(),
            failed: None,
        }
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
            let rest = match self.log.received {
                0 => Duration::ZERO,
                // Relays of the broken transfer are deaf to a wake-up until they give it up.
                _ => SETTLING,
            };
            self.route.transfer = self.route.transfer.wrapping_add(1);
            (self.state, self.until) = (State::Resting, now + rest);
        } else {
            self.state = State::Over;
        }
    }

    fn brings(&mut self) -> Fetched {
        let [before, after] = self.energy;
        let spent = |of: fn(Spent) -> Option<f64>| of(after).zip(of(before)).map(|(a, b)| a - b);
        let log = &mut self.log;
        let verified = log.is_verified();
        Fetched {
            object: log.bytes.take().filter(|_| verified),
            complete: log.complete,
            duration: log.duration(),
            wake_up: log.wake_up,
            round: log.round,
            first_round: log
                .complete
                .map_or(log.first_round, |c| Some(c.first_round)),
            attempts: self.attempt,
            joules: spent(|spent| spent.active),
            network_joules: spent(|spent| spent.all),
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
        let sum = |of: &[Option<f64>]| of.iter().copied().sum();
        let spent = Spent {
            active: joules.get(..self.active).and_then(sum),
            all: sum(&joules),
        };
        match self.state {
            State::Awake => {
                self.energy[0] = spent;
                self.state = State::Following;
            }
            _ => {
                self.energy[1] = spent;
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
                self.log.begin();
                self.attempt += 1;
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
