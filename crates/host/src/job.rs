//! Jobs, and the loop that runs them. A job does no I/O: it is told what stations tell, and asked what is to
//! be done next, as an engine is.
//!
//! Invariants: a job that is polled comes to [`Step::Wait`] or [`Step::Done`] after a bounded number of
//! steps, and ends by itself within a bound that it knows; a job that ends without success has its
//! stations stopped. Time base: [`NetworkTime`]. Tests: `tests/all/flaky.rs`.

use crate::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use std::ops::ControlFlow;
use thalweg_units::{BitRate, Duration, NodeId};

/// Why a job brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Somebody asked to stop.
    #[error("stopped")]
    Cancelled,
    /// A station did not say how an order ended.
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
    /// A station started anew.
    #[error("node {0} started anew")]
    Restarted(NodeId),
    /// A station refused an order.
    #[error("the sink refused an order: {0}")]
    Refused(String),
    /// What was asked for cannot be ordered.
    #[error("{0}")]
    Unfit(String),
    /// The field failed.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// It is known where an object is to go.
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
    },
    /// A node's beacons begin.
    Measuring {
        /// Its turn, from 0.
        turn: u16,
        /// Of how many.
        of: u16,
    },
    /// A round of the collection of link tables is over.
    Collecting {
        /// Complete tables.
        complete: u16,
        /// Of how many.
        of: u16,
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
    },
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

/// Told of progress; may break off.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// What is to be done next.
#[derive(Debug)]
pub enum Step<O, X> {
    /// Give a station an order.
    Order(NodeId, O),
    /// Read the meters of these nodes; [`Job::on_meters`] is told.
    Meter(Vec<NodeId>),
    /// Take so many bytes from a station; [`Job::on_bytes`] is given them.
    Take(NodeId, usize),
    /// Tell who watches.
    Report(Progress),
    /// Nothing before this time, unless something is told.
    Wait(NetworkTime),
    /// It is over.
    Done(Result<X, Failure>),
}

/// A survey, a transfer, or many.
pub trait Job {
    /// What it orders.
    type Order;
    /// What it is told.
    type Event;
    /// What it brings.
    type Output;

    /// Station `by` told `event` at `at`.
    fn on_event(&mut self, clock: &dyn Clock, at: NetworkTime, by: NodeId, event: Self::Event);
    /// `station` is lost to orders given so far, for the reason `why`.
    fn on_loss(&mut self, at: NetworkTime, station: NodeId, why: Failure);
    /// What the nodes of [`Step::Meter`] have spent so far, in joules, in their order.
    fn on_meters(&mut self, _joules: Vec<Option<f64>>) {}
    /// The bytes of [`Step::Take`].
    fn on_bytes(&mut self, _station: NodeId, _bytes: Vec<u8>) {}
    /// What is to be done at `now`.
    fn poll(&mut self, now: NetworkTime) -> Step<Self::Order, Self::Output>;
    /// The orders that free its stations at any time.
    fn stop(&mut self) -> Vec<(NodeId, Self::Order)>;
}

/// Runs `job` over `field` to its end.
///
/// # Errors
/// [`Failure`]; the stations are free again, as far as they can be reached.
pub fn run<F, J>(field: &mut F, job: &mut J, watch: Watch<'_>) -> Result<J::Output, Failure>
where
    F: Network,
    J: Job<Order = F::Order, Event = F::Event>,
{
    let end = drive(field, job, watch);
    if end.is_err() {
        for (station, order) in job.stop() {
            // Whoever cannot be reached gives up by itself.
            let _ = field.order(station, order);
        }
    }
    end
}

fn drive<F, J>(field: &mut F, job: &mut J, watch: Watch<'_>) -> Result<J::Output, Failure>
where
    F: Network,
    J: Job<Order = F::Order, Event = F::Event>,
{
    loop {
        match job.poll(field.now()) {
            Step::Order(station, order) => field.order(station, order)?,
            Step::Meter(nodes) => {
                job.on_meters(nodes.into_iter().map(|n| field.joules(n)).collect())
            }
            Step::Take(station, len) => job.on_bytes(station, field.take(station, len)?),
            Step::Report(progress) => {
                if watch(progress).is_break() {
                    return Err(Failure::Cancelled);
                }
            }
            Step::Wait(until) => match field.next(until)? {
                Notice::Event(at, by, event) => job.on_event(&*field, at, by, event),
                Notice::Restarted(by) => job.on_loss(field.now(), by, Failure::Restarted(by)),
                Notice::Silent(by) => job.on_loss(field.now(), by, Failure::Silent(by)),
                Notice::Cancelled => return Err(Failure::Cancelled),
                Notice::Nothing => {}
            },
            Step::Done(end) => return end,
        }
    }
}

/// How often something is tried, and how again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often in all, at least once.
    pub attempts: u32,
    /// How.
    pub mode: RetryMode,
}

/// How something that failed is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryMode {
    /// At once, over the same plan.
    SamePlan,
    /// Over a plan drawn anew.
    NewPlan,
    /// After all others, over a plan drawn anew.
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
