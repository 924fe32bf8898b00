//! The one list of protocols. The command line's values and help, names in experiments' files, plans and
//! `thalweg protocols` are fed from it. A protocol of a known family is one line of [`PROTOCOLS`].
//! Tests: `registry_tests.rs`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use thalweg_planner::{Backups, Plan, RouteRequest, Style};
use thalweg_protocols::fastforward::Version;
use thalweg_protocols::rcrt::sink::Config;
use thalweg_units::ChannelSet;
use thalweg_wire::pipeline::Format;
use thalweg_wire::route::{Hopping, Scheme};

use crate::survey::Survey;
use crate::transfer::pipeline::TransferTerms;

/// What a protocol takes beside an object, a source and a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionName {
    /// The most node-distinct paths.
    Paths,
    /// The number of hops.
    Hops,
    /// The channels.
    Channels,
    /// Links that lose packets.
    Loss,
    /// Time between the survey and the transfer, and when the survey is.
    Age,
    /// For how long the network has idled.
    Idle,
    /// How long links are measured again.
    Patience,
    /// A file for what is on the air.
    Pcap,
    /// The question why packets were lost.
    Explain,
    /// All nodes, one after the other.
    AllNodes,
    /// Several base stations, into which transfers run at once.
    Sinks,
    /// A plan alone.
    Plan,
    /// A time line of its nodes.
    Timeline,
    /// Several sources, whose objects come at once.
    Sources,
    /// Who gets how much, and what sources want.
    Policy,
    /// Whether nodes fail during a transfer.
    Scenario,
    /// Whether nodes have keys.
    Secure,
}

/// Whose idea it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// As published.
    Published,
    /// Made here from what was published.
    Ours,
}

/// What its nodes' boards must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hardware {
    /// A CC2420, whose frames can be made to begin within a microsecond of each other.
    Synchronous,
    /// A radio at 2.4 GHz and one at 900 MHz.
    TwoRadios,
    /// A CC2420, under carrier sense and a tree.
    Tree,
}

impl Hardware {
    /// In words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Synchronous => "one radio",
            Self::Tree => "a CC2420",
            Self::TwoRadios => "two radios",
        }
    }
}

/// How RCRT's sink lowers rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// By the loss of the flow that revealed it, as published.
    Published,
    /// To what arrives.
    Steady,
}

impl Rates {
    /// The sink's constants.
    pub const fn config(self) -> Config {
        match self {
            Self::Published => Config::PAPER,
            Self::Steady => Config::STEADY,
        }
    }
}

/// How objects travel, and what the ways have of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Packet pipelines over one radio.
    Pipeline(Pipelined),
    /// FastForward's streams over two radios.
    Stream(Version),
    /// Bursts over the first of two radios.
    Burst,
    /// RCRT's flows of many sources at once, over carrier sense and a tree.
    Rcrt(Rates),
}

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// Its name everywhere.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whose idea it is.
    pub origin: Origin,
    /// How objects travel.
    pub family: Family,
}

const P: Scheme = Scheme::P3;
const PIP: Scheme = Scheme::Pip(Hopping::Fixed);
const HOPPING: Scheme = Scheme::Pip(Hopping::EveryCyclePair);
const FULL: Format = Format::Full;
const OWN: Scheme = Scheme::Thalweg;
const SLIM: Format = Format::Slim;

/// All protocols, those of one radio first.
#[rustfmt::skip]
pub static PROTOCOLS: &[Protocol] = &[
    pipeline("p3", Origin::Published, P, Style::Paths, FULL, "Packet pipeline over node-distinct paths, with PIP beside it for comparison"),
    pipeline("pip", Origin::Published, PIP, Style::Paths, FULL, "Packet pipeline over one path"),
    pipeline("pip-hopping", Origin::Published, HOPPING, Style::Paths, FULL, "PIP whose channels change every two cycles"),
    pipeline("pip-cit", Origin::Ours, Scheme::PipCit, Style::Paths, FULL, "PIP whose relays hold each packet in the radio until the next comes in; not as published"),
    pipeline("p3-planned", Origin::Ours, P, Style::Chains, FULL, "P3 over two lean chains of relays, planned on all its channels"),
    pipeline("p3-slim", Origin::Ours, P, Style::Paths, SLIM, "P3 with headers of four bytes and short control frames"),
    pipeline("p3-best", Origin::Ours, P, Style::Chains, SLIM, "The fastest where links stand still: lean chains and small headers"),
    pipeline("thalweg", Origin::Ours, OWN, Style::Chains, SLIM, "Lean chains with backup relays; a broken transfer continues where it stopped"),
    pipeline("hop-by-hop", Origin::Ours, Scheme::HopByHop, Style::Hops, FULL, "One path whose relays store blocks and repeat what is lost, for links that lose much; up to 60 hops"),
    of("fastforward", Origin::Published, Family::Stream(Version::Full), "FastForward: a stream over nodes with two radios (testbeds whose board is `opal`)"),
    of("fastforward-nobp", Origin::Published, Family::Stream(Version::NoBackPressure), "FastForward without back-pressure"),
    of("fastforward-noack", Origin::Published, Family::Stream(Version::NoAck), "FastForward without acknowledgements"),
    of("lpht", Origin::Published, Family::Burst, "Burst forwarding over the first of two radios"),
    of("rcrt", Origin::Ours, Family::Rcrt(Rates::Steady), "Objects of many nodes at once, at rates that the sink decides: short for rcrt-steady"),
    of("rcrt-steady", Origin::Ours, Family::Rcrt(Rates::Steady), "RCRT whose sink lowers rates to what arrives, and lowers none when a relay is out"),
    of("rcrt-published", Origin::Published, Family::Rcrt(Rates::Published), "RCRT as published: rates fall by the loss of the congested flow"),
];

const fn pipeline(
    name: &'static str,
    origin: Origin,
    scheme: Scheme,
    style: Style,
    format: Format,
    about: &'static str,
) -> Protocol {
    let family = Family::Pipeline(Pipelined {
        name,
        scheme,
        style,
        format,
    });
    of(name, origin, family, about)
}

const fn of(name: &'static str, origin: Origin, family: Family, about: &'static str) -> Protocol {
    Protocol {
        name,
        about,
        origin,
        family,
    }
}

/// The protocol of that name.
pub fn named(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().find(|p| p.name == name)
}

/// The default protocol.
pub fn default() -> &'static Protocol {
    // The registry has it (`names_are_their_own` below).
    named("thalweg").unwrap_or(&PROTOCOLS[0])
}

impl Protocol {
    /// What it takes.
    pub const fn takes(&self) -> &'static [OptionName] {
        use OptionName::{
            Age, AllNodes, Channels, Explain, Hops, Idle, Loss, Paths, Patience, Pcap, Plan,
            Policy, Scenario, Secure, Sinks, Sources, Timeline,
        };
        match self.family {
            Family::Pipeline(of) => match of.measures_again() {
                true => &[
                    Paths, Hops, Channels, Loss, Age, Idle, Patience, Pcap, Explain, AllNodes,
                    Sinks, Plan, Secure,
                ],
                false => &[
                    Paths, Hops, Channels, Loss, Age, Idle, Pcap, Explain, AllNodes, Sinks, Plan,
                ],
            },
            Family::Stream(Version::Full) => &[Loss, Age, Pcap, Explain, AllNodes, Timeline],
            Family::Stream(_) | Family::Burst => &[Loss, Age, Pcap, Explain, AllNodes],
            Family::Rcrt(Rates::Steady) => {
                &[Sources, AllNodes, Policy, Scenario, Loss, Pcap, Secure]
            }
            Family::Rcrt(Rates::Published) => &[Sources, AllNodes, Policy, Scenario, Loss, Pcap],
        }
    }
    /// What boards need for it.
    pub const fn hardware(&self) -> Hardware {
        match self.family {
            Family::Pipeline(_) => Hardware::Synchronous,
            Family::Stream(_) | Family::Burst => Hardware::TwoRadios,
            Family::Rcrt(_) => Hardware::Tree,
        }
    }
}

/// A member of the pipelines' family: which engine moves the packets, how its route is planned, on what terms
/// it transfers. What each part brings: experiment `p3.variants`, docs/variants.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipelined {
    /// Its name.
    pub name: &'static str,
    /// Who takes part, and when packets are sent.
    pub scheme: Scheme,
    /// What its route is made of.
    pub style: Style,
    /// How frames begin.
    pub format: Format,
}

impl<'de> Deserialize<'de> for Pipelined {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::named(&name).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(|p| p.name).collect();
            let names = names.join(", ");
            D::Error::custom(format!("unknown variant `{name}`, expected one of {names}"))
        })
    }
}

impl Pipelined {
    /// Whether links are measured again where no route leads to a node, or none that serves.
    pub const fn measures_again(self) -> bool {
        matches!(self.scheme, Scheme::Thalweg | Scheme::HopByHop)
    }
    /// Whether a secured network carries it: frames of papers have nothing sealed.
    pub const fn is_sealed(self) -> bool {
        matches!(self.scheme, Scheme::Thalweg | Scheme::HopByHop)
    }
    /// P3 as published: what a broken transfer is tried again as.
    pub const P3: Self = Self::plain(P);
    /// PIP as published: what stands beside P3 for comparison.
    pub const PIP: Self = Self::plain(PIP);
    /// What arrives where pipelines do not.
    pub const HOP_BY_HOP: Self = Self {
        style: Style::Hops,
        ..Self::plain(Scheme::HopByHop)
    };

    /// The plain pipeline that runs by `scheme`, over paths and with full headers.
    pub const fn plain(scheme: Scheme) -> Self {
        Self {
            name: name_of(scheme),
            scheme,
            style: Style::Paths,
            format: FULL,
        }
    }
    /// All of them, the published ones first.
    pub fn all() -> impl Iterator<Item = Self> {
        PROTOCOLS.iter().filter_map(|p| match p.family {
            Family::Pipeline(pipelined) => Some(pipelined),
            _ => None,
        })
    }
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|p| p.name == name)
    }
    /// Whether it goes over several paths.
    pub fn has_paths(&self) -> bool {
        self.scheme.has_groups()
    }
    /// How links on `channels` are surveyed for it by default: protocols that plan chains need less.
    pub fn survey(&self, channels: ChannelSet) -> Survey {
        match self.style {
            Style::Chains | Style::Hops => Survey::short(channels),
            Style::Paths => Survey::of(channels),
        }
    }
    /// Lean chains by P3's rounds: what carries Thalweg's objects where losses are foreseen.
    pub const P3_BEST: Self = Self {
        name: "p3-best",
        scheme: P,
        style: Style::Chains,
        format: SLIM,
    };
    /// What carries an object over `plan`, which was made for it: where that is a path hop by hop, that does, and where
    /// Thalweg's chains are foreseen to lose much, `p3-best`.
    #[must_use]
    pub fn over(self, plan: &Plan) -> Self {
        match plan.style {
            Style::Hops => Self::HOP_BY_HOP,
            Style::Paths | Style::Chains => match self.scheme == Scheme::Thalweg {
                true if plan.expects_losses() => Self::P3_BEST,
                _ => self,
            },
        }
    }
    /// What it asks of the planner, given what the published protocols ask.
    pub fn request(&self, faithful: &RouteRequest) -> RouteRequest {
        let mut request = match self.style {
            Style::Chains => RouteRequest {
                channels: faithful.channels.clone(),
                choose_from: faithful.channels.iter().copied().collect(),
                routing_channel: faithful.routing_channel,
                rule: faithful.rule,
                fallback: faithful.fallback.clone(),
                min_paths: faithful.min_paths,
                max_paths: faithful.max_paths,
                max_hops: faithful.max_hops,
                control: faithful.control,
                measured: faithful.measured,
                other_channels: faithful.other_channels.clone(),
                hops: faithful.hops,
                transfer: faithful.transfer,
                model: faithful.model,
                last_resort: faithful.last_resort,
                ..RouteRequest::planned(faithful.source, faithful.sink)
            },
            Style::Hops => RouteRequest {
                style: Style::Hops,
                ..faithful.clone()
            },
            Style::Paths => faithful.clone(),
        };
        // What is predicted is what will be sent.
        let published = TransferTerms::default();
        let terms = self.terms(published);
        let cycle = &mut request.transfer.cycle;
        if cycle.payload_bytes == usize::from(published.payload.bytes()) {
            let bytes = request.transfer.packets * u32::from(published.payload.bytes());
            request.transfer.packets = bytes.div_ceil(u32::from(terms.payload.bytes()));
            cycle.payload_bytes = usize::from(terms.payload.bytes());
        }
        cycle.header_bytes = terms.format.header_bytes();
        if self.scheme == Scheme::Thalweg {
            request.backups = Backups::Relays;
        }
        request
    }
    /// On what terms it transfers, given those of the published protocols.
    pub fn terms(&self, faithful: TransferTerms) -> TransferTerms {
        match (self.format, self.scheme) {
            (_, Scheme::HopByHop) => faithful.in_blocks(),
            (Format::Slim, _) => faithful.slim(),
            (Format::Full, _) => faithful,
        }
    }
}

/// The plain pipeline's name that runs by `scheme`.
pub const fn name_of(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::P3 => "p3",
        Scheme::Pip(Hopping::Fixed) => "pip",
        Scheme::Pip(Hopping::EveryCyclePair) => "pip-hopping",
        Scheme::PipCit => "pip-cit",
        Scheme::HopByHop => "hop-by-hop",
        Scheme::Thalweg => "thalweg",
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
