//! What an image is: a record in flash behind the identity's, which tools read before a chip gets the image.
//!
//! 20 bytes: 16 that name project and chip, the record's version, the program, the version of frames and of the line
//! ([`VERSION`]), a zero. No program reads it.

use core::fmt;
use thalweg_wire::host::{Version, VERSION};

/// Bytes of a record.
pub const MARK_BYTES: usize = 20;
const MAGIC: [u8; 16] = *b"THALWEG nRF52840";
const RECORD: u8 = 1;

/// What a program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A mote, with any application.
    Mote,
    /// A base station.
    BaseStation,
    /// To measure a chip.
    Selftest,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mote => "a mote's image",
            Self::BaseStation => "a base station's image",
            Self::Selftest => "the self-test's image",
        })
    }
}

/// Why a record is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkError {
    /// Something else is there.
    Foreign,
    /// Its program speaks another version, this one.
    Version(Version),
}

/// The record of this version's `program`.
pub const fn mark(program: Program) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    let mut n = 0;
    while n < MAGIC.len() {
        bytes[n] = MAGIC[n];
        n += 1;
    }
    bytes[16] = RECORD;
    bytes[17] = match program {
        Program::Mote => 0,
        Program::BaseStation => 1,
        Program::Selftest => 2,
    };
    bytes[18] = VERSION.0;
    bytes
}

/// Reads a record.
///
/// # Errors
/// [`MarkError`].
pub fn marked(bytes: &[u8; MARK_BYTES]) -> Result<Program, MarkError> {
    let [.., RECORD, program, version, 0] = bytes else {
        return Err(MarkError::Foreign);
    };
    if !bytes.starts_with(&MAGIC) {
        return Err(MarkError::Foreign);
    }
    if *version != VERSION.0 {
        return Err(MarkError::Version(Version(*version)));
    }
    match program {
        0 => Ok(Program::Mote),
        1 => Ok(Program::BaseStation),
        2 => Ok(Program::Selftest),
        _ => Err(MarkError::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_no_other_byte_is_one() {
        for program in [Program::Mote, Program::BaseStation, Program::Selftest] {
            let right = mark(program);
            assert_eq!(marked(&right), Ok(program));
            for n in 0..MARK_BYTES {
                let mut wrong = right;
                wrong[n] ^= 0x40;
                assert!(marked(&wrong).is_err(), "byte {n}");
            }
        }
    }
}
