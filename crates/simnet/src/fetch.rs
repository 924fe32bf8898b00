//! One way to fetch an object, whatever carries it: check, survey, plan, transfer, report. Families differ in
//! what they plan and what they tell; who asks need not know which it is.

use crate::collect::{self, CollectError, Object, ProgressObserver};
use crate::explain::LossMap;
use crate::streams::{self, Carrier, Collected, Onlookers, Recorder, StreamMap};
use serde::Serialize;
use thalweg_host::collector;
use thalweg_host::link_state::{packets, PlanRequest};
use thalweg_host::outcome::Summary;
use thalweg_host::registry::{Family, Pipelined, Protocol};
use thalweg_sim::Capture;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::route::PayloadSize;

/// What is asked of a network.
#[derive(Debug, Clone)]
pub struct CollectRequest {
    /// What carries the object.
    pub protocol: &'static Protocol,
    /// The node that has it; a far one where none is named.
    pub from: Option<NodeId>,
    /// The base station; the testbed's where none is named.
    pub to: Option<NodeId>,
    /// The channels to use, where somebody says.
    pub channels: Option<Vec<Channel>>,
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// At most so many node-distinct paths.
    pub paths: Option<u8>,
    /// Exactly so many hops.
    pub hops: Option<u8>,
    /// The object.
    pub object: Object,
}

impl CollectRequest {
    /// What a planner of pipelines is asked.
    pub fn ask(&self, protocol: Pipelined) -> PlanRequest {
        PlanRequest {
            from: self.from,
            bytes: self.object.bytes(),
            protocol,
            payload: self.payload,
            paths: self.paths,
            hops: self.hops,
        }
    }

    /// Bytes of one transfer at most; none where there is no such limit. Pipelines carry larger objects in parts.
    pub fn segment_bytes(&self) -> Option<u32> {
        match self.protocol.family {
            Family::Pipeline(pipelined) => Some(self.ask(pipelined).segment_bytes()),
            _ => None,
        }
    }

    /// How the object travels.
    fn way(&self) -> Result<Way, CollectError> {
        let family = self.protocol.family;
        match (family, Carrier::of(family)) {
            (_, Some(carrier)) => Ok(Way::Stream(carrier)),
            (Family::Pipeline(pipelined), None) => Ok(Way::Pipeline(pipelined)),
            (_, None) => Err(CollectError::Many(self.protocol.name)),
        }
    }

    /// Whether it can be asked of `testbed`: what is known before its links are.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn check(&self, testbed: &Testbed) -> Result<(), CollectError> {
        collect::check(testbed, (self.from, self.to))?;
        match self.way()? {
            Way::Pipeline(protocol) => self.ask(protocol).packets()?,
            Way::Stream(_) => {
                let payload = streams::payload(self.payload.bytes());
                packets(self.object.bytes(), payload, streams::MAX_PACKETS)?
            }
        };
        Ok(())
    }

    /// Switches `site` on and has it measure its links.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn survey(
        &self,
        site: Site,
        observer: ProgressObserver<'_>,
    ) -> Result<Surveyed, CollectError> {
        Ok(match self.way()? {
            Way::Pipeline(protocol) => {
                let (to, channels) = ((self.to, protocol), self.channels.as_deref());
                let network = collect::Surveyed::open(site, to, channels, observer)?;
                Surveyed::Pipeline(Box::new(network), protocol)
            }
            Way::Stream(carrier) => {
                let how = (carrier, self.payload.bytes());
                let network = streams::Surveyed::open(site, self.to, how, observer)?;
                Surveyed::Stream(Box::new(network))
            }
        })
    }
}

/// How one object travels.
enum Way {
    Pipeline(Pipelined),
    Stream(Carrier),
}

/// A network that has measured its links.
pub enum Surveyed {
    /// For pipelines.
    Pipeline(Box<collect::Surveyed>, Pipelined),
    /// For streams.
    Stream(Box<streams::Surveyed>),
}

impl Surveyed {
    /// Plans for `wish`, and fetches its object. What is on the air goes to `capture`; the report is the same
    /// with and without, and whether maps of what was lost are asked for or not.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; one that fails is a report.
    pub fn fetch(
        &self,
        wish: &CollectRequest,
        capture: Option<Box<dyn Capture>>,
        explain: Explain,
        observer: ProgressObserver<'_>,
    ) -> Result<(Report, Option<Maps>), CollectError> {
        match self {
            Self::Pipeline(network, protocol) => {
                let (ask, object) = (wish.ask(*protocol), &wish.object);
                let plan = network.plan(&ask)?;
                let mut maps = (explain == Explain::Maps).then(Vec::new);
                let asked = (&ask, object);
                let report = network.fetch(asked, plan, capture, maps.as_mut(), observer)?;
                Ok((Report::Pipeline(report), maps.map(Maps::Pipeline)))
            }
            Self::Stream(network) => {
                let mut onlookers = Onlookers {
                    capture,
                    recorder: (explain == Explain::Maps).then(Recorder::default),
                    ..Onlookers::default()
                };
                let mut told = |step| observer("", step);
                let report = network.fetch(wish.from, &wish.object, &mut told, &mut onlookers)?;
                let map = onlookers.recorder.map(Recorder::finish);
                Ok((Report::Stream(report), map.map(Maps::Stream)))
            }
        }
    }
}

/// Whether it is to be said where packets were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    /// No.
    Nothing,
    /// By maps.
    Maps,
}

/// What became of an object.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)]
pub enum Report {
    /// Over a pipeline.
    Pipeline(collector::Report),
    /// Over a stream.
    Stream(Collected),
}

impl Report {
    /// What is told of all.
    pub fn summary(&self) -> &Summary {
        match self {
            Self::Pipeline(report) => &report.outcome.summary,
            Self::Stream(report) => &report.outcome.summary,
        }
    }
    /// The same of what it is compared to, if it is.
    pub fn baseline(&self) -> Option<&Summary> {
        match self {
            Self::Pipeline(report) => report.baseline.as_ref().map(|baseline| &baseline.summary),
            Self::Stream(_) => None,
        }
    }
    /// What arrived, where it is whole.
    pub fn object(&self) -> Option<&[u8]> {
        match self {
            Self::Pipeline(report) => report.object.as_deref(),
            Self::Stream(report) => report.outcome.details.stream.object.as_deref(),
        }
    }
}

/// Where packets were lost.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Maps {
    /// The transfer's map, then the baseline's.
    Pipeline(Vec<LossMap>),
    /// Link by link.
    Stream(StreamMap),
}

impl Maps {
    /// All of them as text.
    pub fn to_text(&self) -> Vec<String> {
        match self {
            Self::Pipeline(maps) => maps.iter().map(LossMap::to_text).collect(),
            Self::Stream(map) => vec![map.to_text()],
        }
    }
    /// The first as an SVG document.
    pub fn to_svg(&self) -> Option<String> {
        match self {
            Self::Pipeline(maps) => maps.first().map(LossMap::to_svg),
            Self::Stream(map) => Some(map.to_svg()),
        }
    }
}
