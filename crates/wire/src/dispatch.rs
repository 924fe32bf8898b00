//! The first byte after the MAC header names the protocol. All values lie in 0x10..=0x3f: RFC 4944,
//! section 5.1, reserves 0x00..=0x3f for "not a LoWPAN frame", so that other stacks ignore ours, and
//! below 0x10 decoders that guess take a frame for one of Atmel's Lightweight Mesh.

/// A Glossy flood.
pub const FLOOD: u8 = 0x11;
/// A link-probe beacon.
pub const BEACON: u8 = 0x12;
/// A beacon of a sweep.
pub const SWEEP: u8 = 0x13;
/// A frame that rouses nodes which sleep.
pub const ROUSE: u8 = 0x14;
/// Pipelined bulk data (P3, PIP).
pub const PIPE_DATA: u8 = 0x18;
/// A pipeline's request for a NACK.
pub const PIPE_REQUEST: u8 = 0x19;
/// A pipeline's NACK.
pub const PIPE_NACK: u8 = 0x1a;
/// A packet that is forwarded hop by hop (CIT).
pub const FORWARD: u8 = 0x28;
/// A packet on its way up a collection tree.
pub const TREE_DATA: u8 = 0x20;
/// A tree's routing beacon.
pub const TREE_BEACON: u8 = 0x21;
/// A packet on its way down a collection tree.
pub const TREE_DOWN: u8 = 0x22;
/// A routing beacon of MultiHopLQI.
pub const TREE_LQI_BEACON: u8 = 0x23;
/// A frame to all that says what every frame of its sender says, and nothing else.
pub const TREE_NOTICE: u8 = 0x24;
/// A packet of a stream (FastForward).
pub const STREAM_DATA: u8 = 0x2a;
/// The end of a stream.
pub const STREAM_END: u8 = 0x2b;
/// The call that sets a stream up.
pub const STREAM_CALL: u8 = 0x2c;
/// A packet of a burst (LPHT).
pub const BURST: u8 = 0x2d;
/// A call along a route that carries blocks hop by hop.
pub const HOP_CALL: u8 = 0x30;
/// The answer to a call.
pub const HOP_CALLED: u8 = 0x31;
/// A packet of a block.
pub const HOP_DATA: u8 = 0x32;
/// The question which packets of a block are there.
pub const HOP_POLL: u8 = 0x33;
/// Its answer.
pub const HOP_ACK: u8 = 0x34;
