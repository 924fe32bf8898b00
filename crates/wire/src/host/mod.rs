//! The line between a host and a base station's node: frames over a stream of bytes, and messages in them.
//!
//! A frame ([`Frame`]) is stuffed ([`cobs`]) and ends with a zero byte; its last four bytes are a CRC-32
//! ([`crc`]). Greetings make a session of two epochs; data frames are numbered, acknowledged and sent again
//! (`thalweg_protocols::line`); beats and notes are not. What data frames and notes carry is a [`Message`].
//! All fields are little-endian. `docs/line.md` has the whole protocol. Tests: beside the modules.

pub mod cobs;
pub mod crc;
mod frame;
mod message;

pub use frame::{
    About, Carries, End, Frame, Hello, LastWords, Limits, Name, Version, DATA_HEADER_BYTES,
    MAX_FRAME, MAX_MESSAGE, MAX_STUFFED, NOTE_HEADER_BYTES, VERSION,
};
pub use message::{Message, OrderPart, Unread, MAX_OBJECT_BYTES, MAX_ORDER_PART};
