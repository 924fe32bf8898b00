//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// `at` seconds since 1970, as a date of links. Links are dated by the wall clock, because a network's own time ends
/// when its line is lost.
pub(crate) fn wall_time(at: i64) -> thalweg_host::network::NetworkTime {
    thalweg_host::network::NetworkTime::ZERO
        + thalweg_units::Duration::from_secs(u64::try_from(at).unwrap_or(0))
}
