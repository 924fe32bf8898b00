//! Variants: what can be run over a route, by the name that an experiment's file gives it: which
//! protocol moves the packets, and how its route is planned. A new one is one more name here.

use crate::transfer::Protocol;
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
    /// P3's engines over a plan made from the measured qualities of all pipeline channels: more
    /// paths, groups, channels and last speakers chosen by predicted delivery.
    P3Planned,
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
        }
    }
    /// What moves the packets.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::P3 | Self::P3Planned => Protocol::P3,
            Self::Pip => Protocol::Pip,
            Self::PipHopping => Protocol::PipHopping,
        }
    }
    /// What its planner has to know.
    pub const fn knowledge(self) -> Knowledge {
        match self {
            Self::P3 | Self::Pip | Self::PipHopping => Knowledge::RoutingChannel,
            Self::P3Planned => Knowledge::PipelineChannels,
        }
    }
    /// What it asks of the planner, given what the published protocols ask.
    pub fn request(self, faithful: &RouteRequest) -> RouteRequest {
        match self {
            Self::P3 | Self::Pip | Self::PipHopping => faithful.clone(),
            Self::P3Planned => RouteRequest {
                channels: faithful.channels.clone(),
                choose_from: faithful.channels.iter().copied().collect(),
                routing_channel: faithful.routing_channel,
                rule: faithful.rule,
                fallback: faithful.fallback.clone(),
                min_paths: faithful.min_paths,
                max_paths: faithful.max_paths,
                max_hops: faithful.max_hops,
                transfer: faithful.transfer,
                ..RouteRequest::improved(faithful.source, faithful.sink)
            },
        }
    }
}
