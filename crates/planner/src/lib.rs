//! From link qualities to routes, groups, channels and predictions.
//!
//! Owns: what the gateway computes before a bulk transfer (P3, sections IV-C and IV-D): the table of
//! measured links, node-distinct paths, groups, channels, and what to expect of them. Nodes are
//! indices 0..n of that table. Nothing here reads a clock or draws from a hidden source: the same
//! links, request and generator give the same plan.

mod ageing;
mod backups;
pub mod beating;
mod bisect;
mod calibration;
mod chain_plan;
mod chains;
pub mod channels;
mod cheapest;
pub mod closed_forms;
pub mod concurrent;
mod doubt;
mod evidence;
pub mod groups;
mod hop_route;
mod hop_time;
mod interference;
mod likely;
mod link_fusion;
pub mod link_model;
mod links;
mod own_paths;
pub mod pairs;
pub mod paths;
pub mod placement;
pub mod plan;
pub mod predict;
pub mod protocol_constants;
pub mod request;
pub mod rounds;
mod route;
pub mod streams;
pub mod topology;

pub use channels::Assignment;
pub use evidence::Evidence;
pub use groups::{Group, Member};
pub use link_fusion::{Dated, FusedLinks, Sighting, MOST_READINGS};
pub use link_model::LinkModel;
pub use links::{ChannelSummary, Hop, LinkError, LinkQualities, LinkQuality, Place};
pub use pairs::{
    best_channels, channel_support, suggest_pairs, ChannelSupport, Floors, Pair, PairOrder,
    PairRequest,
};
pub use paths::{node_distinct_paths, PathSearch, PathSet, RelayOrder};
pub use plan::{reach, PathFault, PipPlan, Plan, PlanError, Warning};
pub use predict::{Feed, Likely, Prediction, Steady};
pub use request::{
    Backups, Currents, Diversity, Grouping, LastResort, LastStage, PipChoice, RouteRequest, Style,
    Transfer,
};
pub use route::{count_paths, plan};
pub use topology::{LinkRule, Topology};
