//! Streams: bulk data along one path of nodes with two radios, and the protocols with one radio that
//! FastForward is compared to.
//!
//! Flow: site -> [`Ground`] (with surveyed links) -> plans -> [`run`] -> [`Carried`], an outcome
//! for each stream. The job is the host's ([`thalweg_host::transfer::stream`]). Time base: simulated
//! time. Tests: `crates/simnet/tests/all/streams/`.

mod carry;
mod collect;
mod explain;
mod ground;
mod pip;
mod survey;
mod timeline;

pub use carry::{Carried, Load, Streamed};
pub use collect::{payload, psdu_bytes, Collected, Surveyed, MAX_PACKETS};
pub use explain::{LinkMap, Recorder, StreamMap, Why};
pub use ground::Ground;
pub use survey::{DualLinks, DualSurveyCost};
pub use thalweg_host::transfer::stream::{LinkReport, Stream};
pub use timeline::timeline;

use crate::collect::CollectError;
use crate::forwarding::SpanLog;
use serde::Deserialize;
use thalweg_engine::Engine;
use thalweg_host::job::Watch;
use thalweg_host::registry::{Family, Pipelined, PROTOCOLS};
use thalweg_host::transfer::stream;
use thalweg_planner::streams::{Radios, StreamPlan};
pub use thalweg_protocols::fastforward::Version;
use thalweg_sim::{Bus, Capture, Fault, Network};
use thalweg_units::Duration;
use thalweg_wire::stream::Packet;

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
        Self::all().find(|c| c.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            format!(
                "no stream protocol is called {name:?}; there are {}",
                names.join(", ")
            )
        })
    }
}

impl Carrier {
    /// What carries the packets of `family`; none of one whose packets are no stream's.
    pub const fn of(family: Family) -> Option<Self> {
        match family {
            Family::Stream(version) => Some(Self::FastForward(version)),
            Family::Burst => Some(Self::Burst),
            Family::Pipeline(_) | Family::Rcrt(_) => None,
        }
    }
    /// All of them, those of the registry first.
    pub fn all() -> impl Iterator<Item = Self> {
        let dual = PROTOCOLS.iter().filter_map(|p| Self::of(p.family));
        dual.chain([PipBoard::Contiki, PipBoard::Opal].map(Self::Pip))
    }
    /// What radios it uses.
    const fn radios(self) -> Radios {
        match self {
            Self::Burst | Self::Pip(_) => Radios::First,
            Self::FastForward(_) => Radios::Alternating,
        }
    }
    /// Its name in files, rows and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pip(PipBoard::Contiki) => Pipelined::PIP.name,
            Self::Pip(PipBoard::Opal) => "pip-opal",
            _ => {
                let protocol = PROTOCOLS.iter().find(|p| Self::of(p.family) == Some(self));
                protocol.map_or("", |p| p.name)
            }
        }
    }
}

/// How streams are carried.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What carries it.
    pub carrier: Carrier,
    /// The terms that all carriers share.
    pub stream: stream::StreamTerms,
    /// What the drivers do with the bus while a radio is on the air.
    pub bus: Bus,
    /// A node that dies, and when, after the first call.
    pub death: Option<(usize, Duration, Fault)>,
}

impl Default for Terms {
    /// FastForward with 100 bytes a packet, as the paper's; no repairs; two minutes.
    fn default() -> Self {
        Self {
            carrier: Carrier::FastForward(Version::Full),
            stream: stream::StreamTerms::default(),
            bus: Bus::Released,
            death: None,
        }
    }
}

/// Recorders of a run; they change nothing of it.
#[derive(Default)]
pub struct Onlookers {
    /// What the air of the first plan is written to. Each run begins at zero.
    pub capture: Option<Box<dyn Capture>>,
    /// Records the links of the first plan.
    pub recorder: Option<Recorder>,
    /// Records what its nodes' radios and microcontrollers do.
    pub spans: Option<SpanLog>,
}

impl Onlookers {
    /// Lets them look at `net`, which carries `plan`.
    fn attach<E: Engine>(
        &mut self,
        net: &mut Network<E>,
        ground: &Ground,
        protocol: &str,
        plan: &StreamPlan,
    ) -> Result<(), CollectError> {
        if let Some(recorder) = &mut self.recorder {
            recorder.attach(net, ground, protocol, (&plan.nodes, &plan.links));
        }
        if let Some(spans) = &self.spans {
            spans.watch(net, &plan.nodes, |mpdu| {
                Packet::parse(mpdu).ok().map(|packet| packet.number)
            });
        }
        if self.capture.is_some() {
            net.capture(self.capture.take())?;
        }
        Ok(())
    }
}

/// Carries `loads` over `ground`, at the same time where what carries them can, and says what became of
/// each. `seed` draws what differs between runs on the same ground.
///
/// # Errors
/// [`CollectError`].
pub fn run(
    ground: &Ground,
    loads: &[Load],
    terms: &Terms,
    seed: u64,
    observer: Watch<'_>,
    onlookers: &mut Onlookers,
) -> Result<Vec<Carried>, CollectError> {
    let run = carry::Run {
        ground,
        terms,
        seed,
    };
    run.go(loads, observer, onlookers)
}
