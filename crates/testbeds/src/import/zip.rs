//! The parts of a ZIP archive, as a spreadsheet is one: stored or deflated, found by its central directory. Bounded: no
//! part is larger than [`MAX_PART`] once it is inflated. Encrypted and 64-bit archives are not read. Tests: `tests.rs`.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::error::Problem;

/// Most bytes of a part, inflated.
const MAX_PART: u64 = 64 << 20;
/// Most parts.
const MAX_PARTS: usize = 10_000;
/// What the end of the central directory begins with, how long it is, and how long a remark after it may be.
const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const REMARK_BYTES: usize = 1 << 16;

/// An archive's parts by name.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    parts: BTreeMap<String, Part>,
}

struct Part {
    method: u16,
    packed: usize,
    /// Where its own header is.
    at: usize,
}

fn damaged() -> Problem {
    Problem::Foreign("the spreadsheet is damaged or cut short".to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(usize::from(u16::from_le_bytes(two.try_into().ok()?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(four.try_into().ok()?)).ok()
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Problem> {
        let parts = Self::directory(bytes).ok_or_else(damaged)?;
        Ok(Self { bytes, parts })
    }

    fn directory(bytes: &[u8]) -> Option<BTreeMap<String, Part>> {
        let tail = bytes.len().saturating_sub(END_BYTES + REMARK_BYTES);
        let mut ends = bytes.get(tail..)?.windows(END.len());
        let end = tail + ends.rposition(|window| window == END)?;
        let count = u16_at(bytes, end + 10)?.min(MAX_PARTS);
        let mut at = u32_at(bytes, end + 16)?;
        let mut parts = BTreeMap::new();
        for _ in 0..count {
            let entry = bytes.get(at..)?;
            if !entry.starts_with(b"PK\x01\x02") {
                return None;
            }
            let [name, extra, remark] =
                [u16_at(entry, 28)?, u16_at(entry, 30)?, u16_at(entry, 32)?];
            let text = String::from_utf8_lossy(entry.get(46..46 + name)?).into_owned();
            let part = Part {
                method: u16::try_from(u16_at(entry, 10)?).ok()?,
                packed: u32_at(entry, 20)?,
                at: u32_at(entry, 42)?,
            };
            parts.insert(text, part);
            at += 46 + name + extra + remark;
        }
        Some(parts)
    }

    /// The text of the part called `name`, if there is one.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let Some(part) = self.parts.get(name) else {
            return Ok(None);
        };
        let packed = self.packed(part).ok_or_else(damaged)?;
        let mut bytes = Vec::new();
        let read = match part.method {
            0 => packed.take(MAX_PART + 1).read_to_end(&mut bytes),
            8 => {
                let mut inflated = DeflateDecoder::new(packed).take(MAX_PART + 1);
                inflated.read_to_end(&mut bytes)
            }
            _ => return Err(damaged()),
        };
        read.map_err(|_| damaged())?;
        if bytes.len() as u64 > MAX_PART {
            return Err(Problem::TooLarge("bytes in one sheet", MAX_PART));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| damaged())
    }

    fn packed(&self, part: &Part) -> Option<&'a [u8]> {
        let header = self.bytes.get(part.at..)?;
        let begin = 30 + u16_at(header, 26)? + u16_at(header, 28)?;
        header.get(begin..begin.checked_add(part.packed)?)
    }
}
