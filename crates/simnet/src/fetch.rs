//! Fetches an object with any protocol for one node: check, survey, plan, transfer, report.

use crate::collect::{self, CollectError, Fetched, Object, ProgressObserver};
use crate::explain::LossMap;
use crate::streams::{self, Carrier, Collected, Onlookers, Recorder, StreamMap};
use serde::Serialize;
use std::sync::Arc;
use thalweg_host::collector::{self, Patience};
use thalweg_host::link_state::{packets, PlanRequest};
use thalweg_host::outcome::Summary;
use thalweg_host::registry::{Family, Pipelined, Protocol};
use thalweg_planner::Plan;
use thalweg_sim::Capture;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, NodeId};
use thalweg_wire::route::PayloadSize;

/// A request to collect one object.
#[derive(Debug, Clone)]
pub struct CollectRequest {
    /// What carries the object.
    pub protocol: &'static Protocol,
    /// The node that has it; without one, a far node.
    pub from: Option<NodeId>,
    /// The base station; without one, the testbed's sink.
    pub to: Option<NodeId>,
    /// The channels to use.
    pub channels: Option<Vec<Channel>>,
    /// Payload of a packet.
    pub payload: PayloadSize,
    /// At most so many node-distinct paths.
    pub paths: Option<u8>,
    /// Exactly so many hops.
    pub hops: Option<u8>,
    /// How long links are measured again where no route serves.
    pub patience: Patience,
    /// The object.
    pub object: Object,
    /// The plan to go by, made for this network; without one, the network's own. Streams have none.
    pub plan: Option<Arc<Plan>>,
}

impl CollectRequest {
    /// The request to a planner of pipelines.
    pub fn plan_request(&self, protocol: Pipelined) -> PlanRequest {
        PlanRequest {
            from: self.from,
            bytes: self.object.bytes(),
            protocol,
            payload: self.payload,
            paths: self.paths,
            hops: self.hops,
        }
    }

    /// The most bytes of one transfer; none without such a limit. Pipelines carry larger objects in segments.
    pub fn segment_bytes(&self) -> Option<u32> {
        match self.protocol.family {
            Family::Pipeline(pipelined) => Some(self.plan_request(pipelined).segment_bytes()),
            _ => None,
        }
    }

    /// What carries the object.
    fn carried_by(&self) -> Result<CarriedBy, CollectError> {
        let family = self.protocol.family;
        match (family, Carrier::of(family)) {
            (_, Some(carrier)) => Ok(CarriedBy::Stream(carrier)),
            (Family::Pipeline(pipelined), None) => Ok(CarriedBy::Pipeline(pipelined)),
            (_, None) => Err(CollectError::Many(self.protocol.name)),
        }
    }

    /// Checks it against `testbed`, before links are measured.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn check(&self, testbed: &Testbed) -> Result<(), CollectError> {
        collect::check(testbed, (self.from, self.to))?;
        match self.carried_by()? {
            CarriedBy::Pipeline(protocol) => self.plan_request(protocol).packets()?,
            CarriedBy::Stream(_) => {
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
        Ok(match self.carried_by()? {
            CarriedBy::Pipeline(protocol) => {
                let (to, channels) = ((self.to, protocol), self.channels.as_deref());
                let network = collect::Surveyed::open(site, to, channels, self.patience, observer)?;
                Surveyed::Pipeline(Box::new(network), protocol)
            }
            CarriedBy::Stream(carrier) => {
                let how = (carrier, self.payload.bytes());
                let network = streams::Surveyed::open(site, self.to, how, observer)?;
                Surveyed::Stream(Box::new(network))
            }
        })
    }
}

/// What carries one object.
enum CarriedBy {
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
    /// Plans for `request`, and fetches its object. Frames go to `capture`. Neither it nor maps change the report.
    ///
    /// # Errors
    /// [`CollectError`] where there is nothing to report; a transfer that fails is a report.
    pub fn fetch(
        &self,
        request: &CollectRequest,
        capture: Option<Box<dyn Capture>>,
        explain: Explain,
        observer: ProgressObserver<'_>,
    ) -> Result<(Report, Option<Maps>), CollectError> {
        match self {
            Self::Pipeline(network, protocol) => {
                let planned = request.plan_request(*protocol);
                let mut maps = (explain == Explain::Maps).then(Vec::new);
                let fetched = Fetched {
                    request: &planned,
                    object: &request.object,
                    plan: request.plan.as_ref(),
                    patience: request.patience,
                };
                let report = network.fetch(fetched, capture, maps.as_mut(), observer)?;
                Ok((Report::Pipeline(report), maps.map(Maps::Pipeline)))
            }
            Self::Stream(network) => {
                let mut onlookers = Onlookers {
                    capture,
                    recorder: (explain == Explain::Maps).then(Recorder::default),
                    ..Onlookers::default()
                };
                let mut watch = |step| observer("", step);
                let (from, object) = (request.from, &request.object);
                let report = network.fetch(from, object, &mut watch, &mut onlookers)?;
                let map = onlookers.recorder.map(Recorder::finish);
                Ok((Report::Stream(report), map.map(Maps::Stream)))
            }
        }
    }
}

/// Whether to explain where packets were lost.
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
    /// The summary that all protocols have.
    pub fn summary(&self) -> &Summary {
        match self {
            Self::Pipeline(report) => &report.outcome.summary,
            Self::Stream(report) => &report.outcome.summary,
        }
    }
    /// That of the baseline it is compared to.
    pub fn baseline(&self) -> Option<&Summary> {
        match self {
            Self::Pipeline(report) => report.baseline.as_ref().map(|baseline| &baseline.summary),
            Self::Stream(_) => None,
        }
    }
    /// The nodes that said nothing in its survey.
    pub fn missing(&self) -> &[u16] {
        match self {
            Self::Pipeline(report) => {
                let survey = report.survey.as_ref();
                survey.map_or(&[], |survey| &survey.missing)
            }
            Self::Stream(_) => &[],
        }
    }
    /// The object, where it is whole.
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
