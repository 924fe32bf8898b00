//! Thalweg: two chains of single relays, and a backup relay beside each relay (README.md).
//!
//! The pipeline itself is [`pipeline`](crate::pipeline)'s. This folder holds what only Thalweg has: its policy, backup
//! relays ([`BackupRelay`]), a probe of both chains with the first packets ([`PathProbe`]), and alternate relays that
//! take over from a degraded chain ([`AlternateRelay`]).

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

/// The source ends the transfer after so many requests without an answer, to be called again.
const TRIES: u8 = 3;
/// Or after so many packets in vain: more than the two probes take that call alternate relays.
const IN_VAIN: u8 = 2 * PROBE as u8;
/// Rendezvous after a transfer's start at which another path may be called.
pub const EARLY: u64 = 5;
/// A node leaves so long before one of them, to listen there.
const FREE: Duration = Duration::from_millis(3);

/// Thalweg's policy for a transfer on the schedule `beat`: control frames as short as can be, and a broken transfer
/// ends at all its nodes within some tenths of a second, so that the next wake-up reaches them.
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
