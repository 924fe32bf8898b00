//! The first byte after the MAC header names the protocol. All values lie in 0x00..=0x3f, which
//! RFC 4944, section 5.1, reserves for "not a LoWPAN frame", so that other stacks ignore ours.

/// A Glossy flood.
pub const FLOOD: u8 = 0x01;
/// A link-probe beacon.
pub const BEACON: u8 = 0x02;
/// Pipelined bulk data (P3, PIP).
pub const PIPE_DATA: u8 = 0x08;
/// A pipeline's request for a NACK.
pub const PIPE_REQUEST: u8 = 0x09;
/// A pipeline's NACK.
pub const PIPE_NACK: u8 = 0x0a;
