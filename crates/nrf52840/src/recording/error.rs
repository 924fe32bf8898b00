//! Why something is not recorded.

use crate::flash::FlashError;
use core::fmt;

/// Why something is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// RAM is full, since flash could not be written for a while.
    BufferFull,
    /// A recording has half of the ring at most, so that the one before it stays.
    TooLong,
    /// It is being sealed: its last word is filled up already.
    Sealing,
    /// It waits until the radio sleeps, so that a page can be erased.
    WaitsForSleep,
    /// Flash.
    Flash(FlashError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferFull => f.write_str("the buffer of the recording is full"),
            Self::TooLong => f.write_str("a recording takes half of its flash at most"),
            Self::Sealing => f.write_str("the recording is being sealed"),
            Self::WaitsForSleep => f.write_str("a page is erased only while the radio sleeps"),
            Self::Flash(error) => error.fmt(f),
        }
    }
}
impl core::error::Error for RecordError {}
