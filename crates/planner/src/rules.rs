//! Rules of Thalweg's transfers and of sweeps that a plan counts with. They are the protocols' (`thalweg_protocols::thalweg`, `sweep`), which a planner
//! does not know; a test of `thalweg_gateway::carry`, which knows both, holds one against the other.

use thalweg_units::Duration;

/// Transfers of fewer packets do not look at them.
pub const LOOKED_AT: u32 = 64;
/// Packets of a look.
pub const LOOK: u32 = 16;
/// The same of a longer one, which follows where any of the first were lost.
pub const LONG_LOOK: u32 = 32;
/// A chain that loses so many of so many, in a longer look, is lame where another is at hand.
pub const BAD: (u32, u32) = (3, 16);
/// Cycles that pass while a transfer ends and begins anew over another way.
pub const TO_BEGIN_ANEW: u32 = 96;
/// Cycles between two windows of a node that stands by.
pub const REST: u32 = 100;
/// Cycles of a window in which it is awake: three packets, and until the first.
pub(crate) const WINDOW: f64 = 7.0;
/// Packets of a window that a relay must send on to be left alone, or miss to be helped.
pub const IN_WINDOW: u32 = 3;
/// Meetings at which another way may be called for, as far apart as a look and its exchange take.
pub const EARLY: u32 = 5;
/// Slots of a wake-up's flood beyond its hops.
pub const LATE_SLOTS: u64 = 3;
/// All of them, at least.
pub const LEAST_SLOTS: u64 = 6;
/// From its last slot to the first packet, half of the millisecond included to which that is told.
pub const HANDOVER: Duration = Duration::from_micros(2_500);
/// One regular meeting in so many is for any sink.
pub const WHOLE: u64 = 4;
/// Listening at such a meeting, in seconds, guards included.
const WHOLE_S: f64 = 0.064;
/// The same for one that is known: guards, and slots of so many seconds, of which three are to spare.
const GUARDS_S: f64 = 0.004;
const SLOT_S: f64 = 0.004_4;
const MARGIN: f64 = 3.0;

/// Share of the time that a spare relay of a chain of `hops` is awake without a part: at two meetings a second, of which one in
/// four is for any sink. Half of the hops lie between it and the sink.
pub(crate) fn resting_awake(hops: u64) -> f64 {
    let near_s = GUARDS_S + SLOT_S * (hops as f64 / 2.0 + MARGIN);
    let whole = 1.0 / WHOLE as f64;
    2.0 * (whole * WHOLE_S + (1.0 - whole) * near_s.min(WHOLE_S))
}
/// How long a burst of foreign frames is taken to last, on average, in seconds. With half of it or five times as much, predicted
/// goodput is .2 % and energy 1 % another (bursts for .04 of the time, four hops), and needs foreseen by beacons 5 %. Those of
/// simulated buildings last a second, too.
pub(crate) const BURST_S: f64 = 1.0;
/// From a node's beacon to its next where nodes beacon in turns, as gateways order it on fast boards.
pub const BEACONS_APART: Duration = Duration::from_millis(10);
/// From a node's beacon to the next node's in a sweep, as gateways order it on fast boards.
pub const SWEPT_APART: Duration = Duration::from_millis(2);
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
/// So many times as long as such a beacon is a long frame exposed.
const EXPOSED: f64 = exposed_ms(127) / exposed_ms(SWEPT_BYTES);
/// The share of long frames that others take who take such a share of a sweep's beacons, at any moment as likely.
pub(crate) fn of_long_frames(hit: f64) -> f64 {
    1.0 - libm::pow(1.0 - hit, EXPOSED)
}
