//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}
