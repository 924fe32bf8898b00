//! Jobs, and the loop that runs them. A job does no I/O: it takes the events of stations and returns the next step, as
//! an engine does.
//!
//! Invariants: a job that is polled comes to [`Step::Wait`] or [`Step::Done`] after a bounded number of
//! steps, and ends by itself within a bounded time; a job that ends without success has its
//! stations stopped. Time base: [`NetworkTime`]. Tests: `tests/all/flaky.rs`.

use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use std::ops::ControlFlow;
use thalweg_units::{BitRate, Duration, NodeId};

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was cancelled.
    #[error("stopped")]
    Cancelled,
    /// A station did not report the end of an order.
    #[error("the sink did not answer within {0} of the network's time")]
    NoEnd(Duration),
    /// The link tables of some nodes did not reach the sink.
    #[error(
        "the link tables of {} of {of} nodes did not reach node {sink} within {within} of the network's time; {}",
        of.saturating_sub(*complete),
        heard_by(*heard, *good)
    )]
    Unreported {
        /// The sink.
        sink: NodeId,
        /// How long it was waited for.
        within: Duration,
        /// Nodes whose tables came in.
        complete: u16,
        /// All nodes.
        of: u16,
        /// Nodes that the sink hears, on any channel.
        heard: usize,
        /// Those of which it gets 0.9 or more.
        good: usize,
    },
    /// The line to a station went down.
    #[error("the line to node {0} is down")]
    Silent(NodeId),
    /// A station restarted.
    #[error("node {0} restarted")]
    Restarted(NodeId),
    /// A station refused an order.
    #[error("the sink refused an order: {0}")]
    Refused(String),
    /// What was asked for cannot be ordered.
    #[error("{0}")]
    Unfit(String),
    /// The network failed.
    #[error(transparent)]
    Network(#[from] NetworkFault),
}

/// What a sink hears of other nodes: how many, and how many well.
fn heard_by(heard: usize, good: usize) -> String {
    match (heard, good) {
        (0, _) => "it hears nobody".to_owned(),
        _ => format!("of {heard} nodes that it hears, {good} come in with a ratio of 0.9 or more"),
    }
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A route is planned.
    Planned {
        /// The node that has it.
        source: NodeId,
        /// The base station.
        sink: NodeId,
        /// Node-distinct paths.
        paths: u32,
        /// Their length.
        hops: u32,
        /// Packets of the object, or of its part.
        packets: u32,
        /// Which part, from 1, of how many.
        part: (u32, u32),
        /// The shortest and the longest time that is likely for that, the same where one is expected; none where it is not
        /// known.
        expected: Option<(Duration, Duration)>,
    },
    /// A node's beacons begin.
    Measuring {
        /// Its turn, from 0.
        turn: u16,
        /// Of how many.
        of: u16,
    },
    /// A sweep begins. It has no events before its reports: how far it is follows from the time.
    Sweeping {
        /// Of how many nodes.
        of: u16,
        /// How long it takes when nothing goes wrong.
        lasts: Duration,
    },
    /// A round of the collection of link tables is over.
    Collecting {
        /// Complete tables.
        complete: u16,
        /// Of how many.
        of: u16,
    },
    /// A survey is over, and the sink still lacks reports.
    Silent {
        /// The nodes that it has heard nothing of.
        nodes: Vec<NodeId>,
        /// Of how many.
        of: usize,
    },
    /// No survey found a route from a node, or none that serves: links are measured again after a pause.
    OutOfReach {
        /// The node.
        node: NodeId,
        /// Until the next survey.
        pause: Duration,
        /// How long links have been measured again for it, of how long at most.
        waited: (Duration, Duration),
    },
    /// The wake-up has begun.
    WakingUp,
    /// Packets arrived at the sink.
    Packets {
        /// Rounds so far, from 1.
        round: u32,
        /// How many packets are there.
        received: u32,
        /// Bits so far per time: of the object, or of streams all that were on the air.
        rate: BitRate,
        /// Since the source began.
        since: Duration,
    },
    /// The same of one of several transfers at once: that from this node.
    Of(NodeId, Box<Progress>),
    /// A wave of transfers begins.
    Wave {
        /// Which, from 0.
        number: usize,
        /// Its transfers.
        transfers: usize,
        /// Sources that have not delivered yet, these included.
        left: usize,
    },
}

impl Progress {
    /// The same where `packets` of the object came before.
    #[must_use]
    pub fn after(mut self, packets: u32) -> Self {
        if let Self::Packets { received, .. } = &mut self {
            *received += packets;
        }
        self
    }
}

/// A wait for people: in seconds, from two minutes on in minutes.
pub fn wait_text(wait: Duration) -> String {
    match wait.as_secs_f64() {
        s if s < 119.5 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// Called with each progress; may break off.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The next step of a job.
#[derive(Debug)]
pub enum Step<O, X> {
    /// Give a station an order.
    Order(NodeId, O),
    /// Read the meters of these nodes, for [`Job::on_meters`].
    Meter(Vec<NodeId>),
    /// Take so many bytes from a station, for [`Job::on_bytes`].
    Take(NodeId, usize),
    /// Report progress.
    Report(Progress),
    /// Wait until this time, or for an event.
    Wait(NetworkTime),
    /// The job is done.
    Done(Result<X, Failure>),
}

/// A survey, a transfer, or many.
pub trait Job {
    /// Its orders.
    type Order;
    /// The events that it takes.
    type Event;
    /// Its result.
    type Output;

    /// Station `by` reported `event` at `at`.
    fn on_event(&mut self, clock: &dyn Clock, at: NetworkTime, by: NodeId, event: Self::Event);
    /// `station` has lost the orders so far, for the reason `why`.
    fn on_loss(&mut self, at: NetworkTime, station: NodeId, why: Failure);
    /// What the nodes of [`Step::Meter`] have spent so far, in joules, in their order.
    fn on_meters(&mut self, _joules: Vec<Option<f64>>) {}
    /// The bytes of [`Step::Take`].
    fn on_bytes(&mut self, _station: NodeId, _bytes: Vec<u8>) {}
    /// The step at `now`.
    fn poll(&mut self, now: NetworkTime) -> Step<Self::Order, Self::Output>;
    /// The orders that free its stations at any time.
    fn stop(&mut self) -> Vec<(NodeId, Self::Order)>;
}

/// Runs `job` over `network` to its end.
///
/// # Errors
/// [`Failure`]; the stations are free again, as far as they can be reached.
pub fn run<F, J>(network: &mut F, job: &mut J, watch: Watch<'_>) -> Result<J::Output, Failure>
where
    F: Network,
    J: Job<Order = F::Order, Event = F::Event>,
{
    let end = drive(network, job, watch);
    if end.is_err() {
        for (station, order) in job.stop() {
            // A station that cannot be reached gives up by itself.
            let _ = network.order(station, order);
        }
    }
    end
}

fn drive<F, J>(network: &mut F, job: &mut J, watch: Watch<'_>) -> Result<J::Output, Failure>
where
    F: Network,
    J: Job<Order = F::Order, Event = F::Event>,
{
    loop {
        match job.poll(network.now()) {
            Step::Order(station, order) => network.order(station, order)?,
            Step::Meter(nodes) => {
                job.on_meters(nodes.into_iter().map(|n| network.joules(n)).collect());
            }
            Step::Take(station, len) => job.on_bytes(station, network.take(station, len)?),
            Step::Report(progress) => {
                if watch(progress).is_break() {
                    return Err(Failure::Cancelled);
                }
            }
            Step::Wait(until) => match network.next(until)? {
                Notice::Event(at, by, event) => job.on_event(&*network, at, by, event),
                Notice::Restarted(by) => job.on_loss(network.now(), by, Failure::Restarted(by)),
                Notice::Silent(by) => job.on_loss(network.now(), by, Failure::Silent(by)),
                Notice::Cancelled => return Err(Failure::Cancelled),
                Notice::Nothing => {}
            },
            Step::Done(end) => return end,
        }
    }
}

/// How often to try something, and how to try it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often in all, at least once.
    pub attempts: u32,
    /// How.
    pub mode: RetryMode,
}

/// How to try again what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryMode {
    /// At once, over the same plan.
    SamePlan,
    /// At once, over a new plan.
    NewPlan,
    /// After all other jobs, over a new plan.
    Later,
}

impl Retry {
    /// Once.
    pub const NEVER: Self = Self {
        attempts: 1,
        mode: RetryMode::SamePlan,
    };
    /// Whether another try follows on the try number `tried`, from 1.
    pub const fn allows(self, tried: u32) -> bool {
        tried < self.attempts
    }
}
