//! Rules of Thalweg's transfers and of sweeps that a plan counts with. They are the protocols' (`thalweg_protocols::thalweg`, `sweep`), which a planner
//! does not know; a test of `thalweg_gateway::carry`, which knows both, holds one against the other.

/// Transfers of fewer packets do not look at them.
pub const LOOKED_AT: u32 = 64;
/// Packets of a look.
pub const LOOK: u32 = 16;
/// The same of a longer one, which follows where any of the first were lost.
pub const LONG_LOOK: u32 = 32;
/// Cycles that pass while a transfer ends and begins anew over another way.
pub const TO_BEGIN_ANEW: u32 = 96;
/// Cycles between two windows of a node that stands by.
pub const REST: u32 = 100;
/// Cycles of a window in which it is awake.
pub(crate) const WINDOW: f64 = 17.0;
/// Listening at the meetings that follow a look, in seconds: two of 62 ms.
pub(crate) const EARLY_S: f64 = 0.124;
/// Share of the time that a node without part in a transfer is awake: 62 ms at each of two meetings a second.
pub(crate) const RESTING_AWAKE: f64 = 0.124;
/// Bytes of a sweep's beacon.
pub const SWEPT_BYTES: usize = 32;
/// So many times as long as such a beacon's is a long frame's exposure to others: its time on the air and that of a frame of theirs,
/// about a millisecond (Wi-Fi's, RADIO_MODEL).
pub(crate) const EXPOSED: f64 = (133.0 * 0.032 + 1.0) / ((SWEPT_BYTES + 6) as f64 * 0.032 + 1.0);
