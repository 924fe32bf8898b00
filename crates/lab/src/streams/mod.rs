//! Streams: bulk data along one path of nodes with two radios, and the protocols with one radio that
//! FastForward is compared to.
//!
//! Flow: testbed -> [`Ground`] (site, what the planner knows of it) -> plans -> [`run`] ->
//! [`Outcome`] per stream. Orders go to the sink's node alone, as a gateway's would. Time base: simulated
//! time. Tests: `crates/lab/tests/streams/`.

mod burst;
mod collect;
mod dual;
mod ground;
mod one_radio;
mod outcome;
mod p3dual;
mod pip;

pub use collect::{collect, Collected, Order};
pub use ground::{Ground, Loss};
pub use outcome::{LinkReport, Outcome};
pub use p3dual::{run_stages, Pace, StagesOutcome};

use crate::forwarding::ChainError;
use crate::transfer::SessionError;
use serde::Deserialize;
use std::ops::ControlFlow;
use thalweg_planner::streams::{StreamError, StreamPlan};
pub use thalweg_protocols::fastforward::Version;

use thalweg_protocols::fastforward::Config;
use thalweg_sim::{Bus, Fault, NetworkError, SimError};
use thalweg_units::Duration;

/// Why there is nothing to say of a stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamFailure {
    /// The testbed cannot carry streams.
    #[error("{testbed}: {why}")]
    Unfit {
        /// The testbed.
        testbed: String,
        /// Why not.
        why: String,
    },
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] StreamError),
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// The simulator could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] NetworkError),
    /// A path is none.
    #[error(transparent)]
    Path(ChainError),
    /// A board's file.
    #[error(transparent)]
    Board(#[from] thalweg_sim::BoardError),
    /// The observer wanted to stop.
    #[error("stopped")]
    Stopped,
}

impl StreamFailure {
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Unfit { .. } | Self::Plan(_) | Self::Path(_) | Self::Board(_)
        )
    }
}

impl From<ChainError> for StreamFailure {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Network(error) => Self::Network(error),
            ChainError::Sim(error) => Self::Sim(error),
            ChainError::Stopped => Self::Stopped,
            error @ ChainError::Hops { .. } => Self::Path(error),
        }
    }
}

impl From<StreamFailure> for SessionError {
    fn from(failure: StreamFailure) -> Self {
        match failure {
            StreamFailure::Sim(error) => Self::Sim(error),
            StreamFailure::Network(error) => Self::Network(error),
            StreamFailure::Stopped => Self::Stopped,
            other => Self::Refused(other.to_string()),
        }
    }
}

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Carrier {
    /// FastForward, in one of its versions.
    FastForward(Version),
    /// Burst forwarding over the first radio (LPHT).
    Burst,
    /// PIP over one radio.
    Pip(PipBoard),
}

/// Where PIP runs. Its slots are the board's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PipBoard {
    /// A CC2420 behind the copying driver of an operating system, as PIP was published: 63 kbit/s.
    Contiki,
    /// The 2.4 GHz radio of an Opal, whose bus is five times as fast.
    Opal,
}

impl PipBoard {
    /// Its board's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contiki => "telosb-contiki",
            Self::Opal => "opal",
        }
    }
}

impl TryFrom<String> for Carrier {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|c| c.name()).collect();
            format!(
                "no stream protocol is called {name:?}; there are {}",
                known.join(", ")
            )
        })
    }
}

impl Carrier {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::FastForward(Version::Full),
        Self::FastForward(Version::Window),
        Self::FastForward(Version::NoBackPressure),
        Self::FastForward(Version::NoAck),
        Self::Burst,
        Self::Pip(PipBoard::Contiki),
        Self::Pip(PipBoard::Opal),
    ];
    /// Its name in files, rows and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastForward(Version::Full) => "fastforward",
            Self::FastForward(Version::Window) => "fastforward-window",
            Self::FastForward(Version::NoBackPressure) => "fastforward-nobp",
            Self::FastForward(Version::NoAck) => "fastforward-noack",
            Self::Burst => "lpht",
            Self::Pip(PipBoard::Contiki) => "pip",
            Self::Pip(PipBoard::Opal) => "pip-opal",
        }
    }
    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// What is sent, and on what terms.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What carries it.
    pub carrier: Carrier,
    /// Payload bytes of a packet.
    pub payload_bytes: u8,
    /// The constants of FastForward's nodes; the others take queue and wake-ups from them.
    pub config: Config,
    /// What the drivers do with the bus while a radio is on the air.
    pub bus: Bus,
    /// How often the application asks for packets that did not arrive.
    pub repairs: u32,
    /// After this the run ends, whatever has arrived.
    pub deadline: Duration,
    /// A node that dies, and when, after the beginning.
    pub death: Option<(usize, Duration, Fault)>,
}

impl Default for Terms {
    /// FastForward with 100 bytes a packet, as the paper's; no repairs; two minutes.
    fn default() -> Self {
        Self {
            carrier: Carrier::FastForward(Version::Full),
            payload_bytes: 100,
            config: Config::default(),
            bus: Bus::Released,
            repairs: 0,
            deadline: Duration::from_secs(120),
            death: None,
        }
    }
}

/// How far a run is: packets at the sinks, of how many, and raw throughput so far in kbit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Packets that have arrived.
    pub received: u32,
    /// Packets that will, at most.
    pub packets: u32,
    /// Kbit/s so far, every byte on the air counted.
    pub kbps: f64,
}

/// Told of progress; may break off.
pub type Observer<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Runs `plans` at the same time over `ground`, each carrying the object beside it, and says what
/// became of each. `seed` draws what differs between runs on the same ground.
///
/// # Errors
/// [`StreamFailure`].
pub fn run(
    ground: &Ground,
    plans: &[(StreamPlan, Vec<u8>)],
    terms: &Terms,
    seed: u64,
    observer: Observer<'_>,
) -> Result<Vec<Outcome>, StreamFailure> {
    match terms.carrier {
        Carrier::FastForward(version) => dual::run(ground, plans, terms, version, seed, observer),
        Carrier::Burst => burst::run(ground, plans, terms, seed, observer),
        Carrier::Pip(board) => pip::run(ground, plans, terms, board, seed, observer),
    }
}
