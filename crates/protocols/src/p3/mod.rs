//! P3: what distinguishes it from any other use of the [`pipeline`](crate::pipeline) engine.
//!
//! Two groups of relays at every stage, a packet in every cycle, several synchronous senders, no
//! giving up by count. See README.md for where each section of the paper is.

mod threshold;
mod tuning;

pub use threshold::{Threshold, MIN_SAMPLE};
pub use tuning::{rotations, trial_cycles, Scores, Tuner, MAX_ROTATIONS};

use crate::pipeline::{GiveUp, Policy};
use thalweg_engine::Passing;
use thalweg_units::Duration;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Groups, Hopping};

/// P3's decisions: it goes on as long as anything is heard within three seconds, ten minutes in
/// all; no threshold unless the route says so.
pub const fn policy() -> Policy {
    Policy {
        give_up: GiveUp::OnInactivity,
        threshold: None,
        hopping: Hopping::Fixed,
        passing: Passing::Copied,
        inactivity: Duration::from_secs(3),
        linger: Duration::from_secs(1),
        deadline: Duration::from_secs(600),
        progress_every: 16,
    }
}

/// The group of the first cycle of `round`. Rounds begin with the groups in turn: the only packet
/// of a round would otherwise go to the same group forever, even to one that has lost its way.
pub const fn first_group(groups: Groups, round: u16) -> Group {
    match groups {
        Groups::Two if round % 2 == 1 => Group::Even,
        Groups::Two | Groups::One => Group::Odd,
    }
}

/// The group of the cycle after one of `group` (P3, section IV-B).
pub const fn next_group(groups: Groups, group: Group) -> Group {
    match groups {
        Groups::Two => group.other(),
        Groups::One => group,
    }
}
