//! From link qualities to routes, groups, channels and predictions.
//!
//! Owns: what the gateway computes before a bulk transfer (P3, sections IV-C and IV-D): the table of
//! measured links, node-distinct paths, groups, channels, and what to expect of them. Nodes are
//! indices 0..n of that table. Nothing here reads a clock or draws from a hidden source: the same
//! links, request and generator give the same plan.

mod ageing;
mod assess;
pub mod beats;
mod chains;
pub mod channels;
pub mod closed_forms;
pub mod concurrent;
pub mod expect;
mod graphml;
pub mod groups;
mod learned;
mod links;
pub mod pairs;
pub mod paths;
mod picture;
pub mod plan;
pub mod predict;
pub mod request;
mod reserves;
mod root;
mod route;
pub mod rules;
mod seen;
pub mod streams;
pub mod topology;

pub use channels::Assignment;
pub use expect::LinkModel;
pub use groups::{Group, Member};
pub use links::{ChannelSummary, Hop, LinkError, LinkQualities, LinkQuality, Place};
pub use pairs::{
    best_channels, channel_support, suggest_pairs, ChannelSupport, Floors, Pair, PairOrder,
    PairRequest,
};
pub use paths::{node_distinct_paths, PathSearch, PathSet, RelayOrder};
pub use picture::{Dated, Picture, Sighting, MOST as MOST_READINGS};
pub use plan::{PipPlan, Plan, PlanError, Warning};
pub use predict::{Feed, Prediction};
pub use request::{
    Currents, Diversity, Grouping, LastStage, PipChoice, Reserves, RouteRequest, Style, Transfer,
};
pub use route::plan;
pub use seen::Seen;
pub use topology::{LinkRule, Topology};
