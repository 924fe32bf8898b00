//! Names of the operations that a MAC asks for.

use thalweg_engine::OpId;

/// A frame.
pub const DATA: OpId = OpId(0x100);
/// An acknowledgement.
pub const ACK: OpId = OpId(0x101);
/// Carrier sense.
pub const SENSE: OpId = OpId(0x102);
/// A sample of the idle channel.
pub const FLOOR: OpId = OpId(0x103);
/// Copying a frame.
pub const LOAD: OpId = OpId(0x104);
/// Switching the receiver on, under low-power listening.
pub const WAKE: OpId = OpId(0x105);
/// Switching it off.
pub const SLEEP: OpId = OpId(0x106);
/// A sample of the channel before sleeping on.
pub const LPL_SAMPLE: OpId = OpId(0x107);
/// The preamble's length.
pub const PREAMBLE: OpId = OpId(0x108);
/// Copying an acknowledgement that software sends.
pub const ACK_LOAD: OpId = OpId(0x109);
