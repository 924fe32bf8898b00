//! Variants: what can be run over a route, by the name that an experiment's file gives it: which
//! protocol moves the packets, and how its route is planned. A new one is one more name here.

use crate::transfer::{Protocol, Terms};
use serde::{Deserialize, Serialize};
use thalweg_planner::RouteRequest;

/// A protocol with its way of planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// P3 as published: routes sought on the routing channel, random halves, channels in turn.
    P3,
    /// PIP as published, over one of P3's paths.
    Pip,
    /// PIP over the same path, its channels changing every two cycles.
    PipHopping,
    /// P3's engines over a plan made from the measured qualities of all pipeline channels: two lean
    /// chains of relays whose links have power to spare on their own channels.
    P3Planned,
    /// P3's routes; the transfer learns which relays are to speak to the sink.
    P3Adaptive,
    /// P3's routes; no rounds but a fountain code.
    P3Fountain,
    /// P3's routes; headers of four bytes, payloads three bytes larger.
    P3Slim,
    /// What is best together: the plan of `p3-planned` and the frames of `p3-slim`, without rounds.
    P3Best,
}

/// What a variant's planner has to know of the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// The routing channel's.
    RoutingChannel,
    /// Those of all channels that the pipeline may use.
    PipelineChannels,
}

impl Variant {
    /// Its name in files, rows and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P3 => "p3",
            Self::Pip => "pip",
            Self::PipHopping => "pip-hopping",
            Self::P3Planned => "p3-planned",
            Self::P3Adaptive => "p3-adaptive",
            Self::P3Fountain => "p3-fountain",
            Self::P3Slim => "p3-slim",
            Self::P3Best => "p3-best",
        }
    }
    /// What moves the packets.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::P3
            | Self::P3Planned
            | Self::P3Adaptive
            | Self::P3Fountain
            | Self::P3Slim
            | Self::P3Best => Protocol::P3,
            Self::Pip => Protocol::Pip,
            Self::PipHopping => Protocol::PipHopping,
        }
    }
    /// What its planner has to know.
    pub const fn knowledge(self) -> Knowledge {
        match self {
            Self::P3Planned | Self::P3Best => Knowledge::PipelineChannels,
            _ => Knowledge::RoutingChannel,
        }
    }
    /// What it asks of the planner, given what the published protocols ask.
    pub fn request(self, faithful: &RouteRequest) -> RouteRequest {
        match self {
            Self::P3Planned | Self::P3Best => RouteRequest {
                channels: faithful.channels.clone(),
                choose_from: faithful.channels.iter().copied().collect(),
                routing_channel: faithful.routing_channel,
                rule: faithful.rule,
                fallback: faithful.fallback.clone(),
                min_paths: faithful.min_paths,
                max_paths: faithful.max_paths,
                max_hops: faithful.max_hops,
                transfer: faithful.transfer,
                ..RouteRequest::planned(faithful.source, faithful.sink)
            },
            _ => faithful.clone(),
        }
    }
    /// On what terms it transfers, given those of the published protocols.
    pub fn terms(self, faithful: Terms) -> Terms {
        match self {
            Self::P3Adaptive => faithful.learning(),
            Self::P3Fountain => faithful.fountain(),
            Self::P3Slim => faithful.slim(),
            Self::P3Best => faithful.slim().fountain(),
            Self::P3 | Self::Pip | Self::PipHopping | Self::P3Planned => faithful,
        }
    }
}
