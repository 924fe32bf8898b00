//! Thalweg: two lean chains of relays, and a node beside each relay that stands by (README.md).
//!
//! The pipeline is [`pipeline`](crate::pipeline)'s. This folder holds what is Thalweg's own: its policy, and those that
//! stand by ([`BackupRelay`]), a probe at the first packets ([`PathProbe`]), and chains that
//! take the place of one that does not bring them ([`AlternateRelay`]).

mod alternate;
mod backup;
mod dual_channel_sink;
mod duration32;
mod followups;
mod pauses;
mod probe;
mod rendezvous;
mod report;
mod stage_role;
#[cfg(test)]
mod testing;

pub use alternate::AlternateRelay;
pub use backup::{BackupRelay, REST};
pub use dual_channel_sink::DualChannelSink;
pub use followups::{follow_ups, Early, FollowUps};
pub use pauses::stretch;
pub use probe::{PathProbe, BAD, WORTH};
pub use rendezvous::Rendezvous;
pub use report::{LONG_PROBE, NOTE_BYTES, PROBE};
pub use stage_role::ChainRole;

use crate::pipeline::{Beat, GiveUp, Lengths, Policy, Retry};
use thalweg_engine::Passing;
use thalweg_units::Duration;

/// Requests without an answer after which the source ends the transfer, to be called anew.
const TRIES: u8 = 3;
/// Packets in vain after which it does the same: more than two probes take, which call alternate relays.
const IN_VAIN: u8 = 2 * PROBE as u8;
/// Rendezvous after a transfer's beginning at which another way may be called for.
pub const EARLY: u64 = 5;
/// How long before one of them a node leaves, to listen there.
const FREE: Duration = Duration::from_millis(3);

/// Thalweg's decisions for a transfer of the schedule `beat`: control as short as can be, and a transfer that breaks is
/// over for all its nodes within some tenths of a second, so that the next wake-up finds them.
pub fn policy(beat: &Beat) -> Policy {
    let inactivity = beat.silence * u64::from(TRIES);
    Policy {
        give_up: GiveUp::AfterTriesOrInVain {
            tries: TRIES,
            packets: IN_VAIN,
        },
        retry: Retry::AcrossGroups,
        lengths: Lengths::AsNeeded,
        passing: Passing::Copied,
        inactivity,
        linger: inactivity,
        deadline: Duration::from_secs(600),
        patience_per_packet: beat.cycle,
    }
}
