//! Constants of Thalweg's transfers and of sweeps that predictions need. The protocols own them (`thalweg_protocols::thalweg`, `sweep`),
//! and the planner does not depend on these; a test of `thalweg_host::transfer`, which depends on both, compares them.

use thalweg_units::Duration;

/// Transfers of fewer packets have no probe.
pub const PROBED_FROM: u32 = 64;
/// Packets of a probe.
pub const PROBE: u32 = 16;
/// Packets of a group in a probe, and how many of them must arrive.
pub const FIRST_PROBE: (u32, u32) = (PROBE / 2, 5);
/// A chain that loses so many of so many, in a longer probe, is degraded where another is at hand.
pub const BAD: (u32, u32) = (3, 16);
/// Cycles between two windows of a backup relay.
pub const REST: u32 = 100;
/// Cycles of a window in which it is awake: three packets, and until the first.
pub(crate) const WINDOW: f64 = 7.0;
/// Slots of a wake-up's flood beyond its hops.
pub const LATE_SLOTS: u64 = 3;
/// All of them, at least.
pub const LEAST_SLOTS: u64 = 6;
/// From its last slot to the first packet, with half of the millisecond to which the wake-up announces that.
pub const HANDOVER: Duration = Duration::from_micros(2_500);
/// One regular rendezvous in so many is for any sink.
pub const WHOLE: u64 = 4;
/// Listening at such a rendezvous, in seconds, guards included.
const WHOLE_S: f64 = 0.064;
/// The same at a rendezvous for a known sink: guards, and slots of so many seconds, three more than the hops.
const GUARDS_S: f64 = 0.004;
const SLOT_S: f64 = 0.004_4;
const MARGIN: f64 = 3.0;

/// Share of the time that an alternate relay of a chain of `hops` is awake while it does not relay: at two rendezvous a second, of which one in
/// four is for any sink. Half of the hops lie between it and the sink.
pub(crate) fn resting_awake(hops: u64) -> f64 {
    let near_s = GUARDS_S + SLOT_S * (hops as f64 / 2.0 + MARGIN);
    let whole = 1.0 / WHOLE as f64;
    2.0 * (whole * WHOLE_S + (1.0 - whole) * near_s.min(WHOLE_S))
}
/// Bytes of a sweep's beacon.
pub const SWEPT_BYTES: usize = 32;
/// What a foreign frame takes in milliseconds where there is no Wi-Fi. A Bluetooth packet of one slot takes up to .37 (Core
/// Specification, DH1), and those of simulated buildings half a millisecond on average, which no result here tests.
const FOREIGN_MS: f64 = 0.5;
/// Milliseconds in which others can take a frame of so many bytes: its own with its preamble, which a receiver misses beside
/// something as loud, and those of a frame of theirs.
const fn exposed_ms(bytes: usize) -> f64 {
    (bytes + 6) as f64 * 0.032 + FOREIGN_MS
}
/// How many times longer than such a beacon a long frame is exposed.
const EXPOSED: f64 = exposed_ms(127) / exposed_ms(SWEPT_BYTES);
/// The share of a sweep's beacons that arrive over a link that brings the share `delivery` of long frames, with no one else on
/// the air: every symbol has to arrive.
pub(crate) fn beacon_delivery(delivery: f64) -> f64 {
    libm::pow(delivery, (SWEPT_BYTES + 6) as f64 / 133.0)
}
/// The share of long frames lost to foreign frames, where these take the share `lost` of a sweep's beacons.
pub(crate) fn of_long_frames(lost: f64) -> f64 {
    1.0 - libm::pow(1.0 - lost, EXPOSED)
}
/// The share of a sweep's beacons lost to foreign frames, where these take the share `lost` of long frames.
pub(crate) fn of_beacons(lost: f64) -> f64 {
    1.0 - libm::pow(1.0 - lost, 1.0 / EXPOSED)
}
