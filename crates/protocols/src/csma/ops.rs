//! Names of the operations that a MAC asks for: none of a mote's, whose radio a session borrows.

use thalweg_engine::OpId;

/// A frame.
pub const DATA: OpId = OpId(0x0400);
/// An acknowledgement.
pub const ACK: OpId = OpId(0x0401);
/// Carrier sense.
pub const SENSE: OpId = OpId(0x0402);
/// A sample of the idle channel.
pub const FLOOR: OpId = OpId(0x0403);
/// Copying a frame.
pub const LOAD: OpId = OpId(0x0404);
/// Switching the receiver on, under low-power listening.
pub const WAKE: OpId = OpId(0x0405);
/// Switching it off.
pub const SLEEP: OpId = OpId(0x0406);
/// A sample of the channel before sleeping on.
pub const LPL_SAMPLE: OpId = OpId(0x0407);
/// The preamble's length.
pub const PREAMBLE: OpId = OpId(0x0408);
/// Copying an acknowledgement that software sends.
pub const ACK_LOAD: OpId = OpId(0x0409);
