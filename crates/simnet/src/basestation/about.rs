//! What a simulated base station tells of itself.

use super::{Setup, ORDER};
use thalweg_host::transfer::pipeline::MAX_NODES;
use thalweg_testbeds::Site;
use thalweg_units::NodeId;
use thalweg_wire::host::{About, Carries, LastWords, Limits, Name};

/// Of the base station `node`.
pub(super) fn about(site: &Site, setup: &Setup, node: NodeId) -> About {
    let name: String = site.testbed.board_name.chars().take(<Name>::MAX).collect();
    About {
        boot: setup.boot,
        node,
        carries: match crate::convergecast::stack(&site.board) {
            Ok(_) if setup.keys.is_none() => Carries::PipelinesAndSessions,
            // Sessions behind a line have no seals.
            Ok(_) | Err(_) => Carries::Pipelines,
        },
        board: Name::new(&name).unwrap_or(Name::EMPTY),
        limits: Limits {
            nodes: MAX_NODES as u16,
            order_bytes: ORDER as u16,
            object_bytes: setup.room_bytes,
        },
        last_words: LastWords::EMPTY,
    }
}
