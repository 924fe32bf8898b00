//! A node's report of a sweep: for each neighbour its address and, channel by channel, a level in steps of 3 dB and how
//! many beacons came through, packed bit by bit into one frame.
//!
//! How many bits a field takes follows from the sweep's parameters, which reporter and sink both know. The reporting
//! node is the flood's initiator. Tests: `levels_tests.rs`.

use crate::buf::{Reader, WireError, Writer};
use crate::flood::{Campaign, Kind};
use crate::report::Health;
use crate::sweep::Parameters;
use thalweg_units::{BatteryLevel, Channel, NodeId, Restarts};

/// One level is so many decibels.
pub const STEP_DB: i16 = 3;
/// The lowest level begins so far below the floor: a neighbour that is reported for one channel may be weaker on
/// others.
pub const BELOW_FLOOR_DB: i16 = 12;
/// Bits of a level; level 0 is "not received".
const LEVEL_BITS: u32 = 4;
const MAX_LEVEL: i16 = 15;
/// Beside the number of rows: the voltage of the node's battery follows.
const BATTERY_BIT: u8 = 0x80;
/// The most rows of a report. Only parameters for a handful of nodes would leave room for more.
const MAX_ROWS: u8 = BATTERY_BIT - 1;

/// What was received of a neighbour on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// How many beacons, at least one.
    pub received: u8,
    /// Their level in dBm. As it is written, in steps: what is read is the middle of a step.
    pub rssi: i8,
}

/// One neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Who was received.
    pub neighbour: NodeId,
    /// By [`Channel::index`]; `None` where nothing was, or nothing worth announcing.
    pub cells: [Option<Cell>; Channel::COUNT],
}

/// The head of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Which measurement it is of.
    pub campaign: Campaign,
    /// How many rows follow, at most 127.
    pub rows: u8,
    /// The voltage of the node's battery, where it has one and knows.
    pub battery: Option<BatteryLevel>,
}

/// Bits that distinguish `values`.
const fn bits(values: u32) -> u32 {
    u32::BITS - values.saturating_sub(1).leading_zeros()
}

/// Bits of one row under `parameters`.
pub fn row_bits(parameters: &Parameters) -> usize {
    let cell = LEVEL_BITS + bits(u32::from(parameters.sweeps));
    (bits(u32::from(parameters.span) + 1) + cell * parameters.channels.len() as u32) as usize
}

/// How many rows a report under `parameters` has room for, beside how the node is.
pub fn most_rows(parameters: &Parameters, health: &Health) -> usize {
    let rest = Levels::BYTES + health.bytes();
    let room = usize::from(parameters.report_bytes).saturating_sub(rest) * 8;
    (room / row_bits(parameters)).min(usize::from(MAX_ROWS))
}

impl Levels {
    /// Bytes of the head, tag included, without a battery's voltage; one more with it, and one more behind the rows where
    /// the node has restarted.
    pub const BYTES: usize = 2;

    /// Reads the head; the rows are left in `r`.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (campaign, rows) = (Kind::Levels.parse(r)?, r.u8()?);
        Ok(Self {
            campaign,
            rows: rows & !BATTERY_BIT,
            battery: match rows & BATTERY_BIT {
                0 => None,
                _ => Some(BatteryLevel::of_code(r.u8()?)),
            },
        })
    }
    /// How often the node has restarted: it stands behind the rows, of which `rows` are the bytes.
    ///
    /// # Errors
    /// [`WireError::Malformed`] where something else stands there.
    pub fn restarts(
        &self,
        parameters: &Parameters,
        rows: &[u8],
    ) -> Result<Option<Restarts>, WireError> {
        let bits = row_bits(parameters) * usize::from(self.rows);
        match rows.get(bits.div_ceil(8)..) {
            None | Some([]) => Ok(None),
            Some(&[code]) => Restarts::of_code(code)
                .ok_or(WireError::Malformed)
                .map(Some),
            Some(_) => Err(WireError::Malformed),
        }
    }
    /// Writes the head, `rows` under `parameters`, as many as the head says, and `restarts`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for another number of rows, or a neighbour without a slot.
    pub fn emit(
        &self,
        parameters: &Parameters,
        (rows, restarts): (impl IntoIterator<Item = Row>, Option<Restarts>),
        w: &mut Writer<'_>,
    ) -> Result<(), WireError> {
        if self.rows > MAX_ROWS {
            return Err(WireError::Malformed);
        }
        Kind::Levels.emit(self.campaign, w)?;
        match self.battery {
            None => w.u8(self.rows)?,
            Some(level) => w.u8(self.rows | BATTERY_BIT)?.u8(level.code())?,
        };
        let (mut written, mut out) = (0, BitWriter { held: 0, bits: 0 });
        for row in rows {
            row.emit(parameters, &mut out, w)?;
            written += 1;
        }
        out.finish(w)?;
        if let Some(restarts) = restarts {
            w.u8(restarts.code())?;
        }
        match written == usize::from(self.rows) {
            true => Ok(()),
            false => Err(WireError::Malformed),
        }
    }
    /// Row number `number` of those in `rows`, the bytes behind the head.
    ///
    /// # Errors
    /// [`WireError::Truncated`] where they do not reach so far, [`WireError::Malformed`] where it names no node.
    pub fn row(number: u8, parameters: &Parameters, rows: &[u8]) -> Result<Row, WireError> {
        let at = usize::from(number) * row_bits(parameters);
        Row::parse(parameters, &mut BitReader { bytes: rows, at })
    }
}

impl Row {
    fn emit(
        &self,
        parameters: &Parameters,
        out: &mut BitWriter,
        w: &mut Writer<'_>,
    ) -> Result<(), WireError> {
        let place = self.neighbour.get().checked_sub(parameters.first.get());
        let place = place.filter(|place| *place <= parameters.span);
        let place = place.ok_or(WireError::Malformed)?;
        out.put(place.into(), bits(u32::from(parameters.span) + 1), w)?;
        for channel in parameters.channels.iter() {
            let cell = self.cells[channel.index()].filter(|cell| cell.received > 0);
            let level = cell.map_or(0, |cell| level(parameters.floor, cell.rssi));
            let received = cell.map_or(0, |c| c.received.min(parameters.sweeps).saturating_sub(1));
            out.put(level, LEVEL_BITS, w)?;
            out.put(received.into(), bits(parameters.sweeps.into()), w)?;
        }
        Ok(())
    }
    fn parse(parameters: &Parameters, from: &mut BitReader<'_>) -> Result<Self, WireError> {
        let place = from.take(bits(u32::from(parameters.span) + 1))?;
        let id = u32::from(parameters.first.get()) + place;
        let id = u16::try_from(id).map_err(|_| WireError::Malformed)?;
        let mut cells = [None; Channel::COUNT];
        for channel in parameters.channels.iter() {
            let level = from.take(LEVEL_BITS)?;
            let received = from.take(bits(parameters.sweeps.into()))? as u8 + 1;
            let heard = level > 0 && received <= parameters.sweeps;
            cells[channel.index()] = heard.then(|| Cell {
                received,
                rssi: middle(parameters.floor, level),
            });
        }
        Ok(Self {
            neighbour: NodeId::new(id).map_err(|_| WireError::Malformed)?,
            cells,
        })
    }
}

/// The level of `rssi`; 0 below the lowest.
fn level(floor: i8, rssi: i8) -> u32 {
    let above = i16::from(rssi) - (i16::from(floor) - BELOW_FLOOR_DB);
    match above < 0 {
        true => 0,
        false => (above / STEP_DB + 1).min(MAX_LEVEL) as u32,
    }
}

/// The middle of a level, in dBm.
fn middle(floor: i8, level: u32) -> i8 {
    let bottom = i16::from(floor) - BELOW_FLOOR_DB + (level as i16 - 1) * STEP_DB;
    (bottom + STEP_DB / 2).clamp(-128, 127) as i8
}

/// Puts values of some bits one behind the other, lowest bits first.
struct BitWriter {
    held: u32,
    bits: u32,
}

impl BitWriter {
    fn put(&mut self, value: u32, bits: u32, w: &mut Writer<'_>) -> Result<(), WireError> {
        // At most 7 bits wait, and no value has more than 16.
        self.held |= value << self.bits;
        self.bits += bits;
        while self.bits >= 8 {
            w.u8(self.held as u8)?;
            (self.held, self.bits) = (self.held >> 8, self.bits - 8);
        }
        Ok(())
    }
    fn finish(self, w: &mut Writer<'_>) -> Result<(), WireError> {
        match self.bits {
            0 => Ok(()),
            _ => w.u8(self.held as u8).map(|_| ()),
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, bits: u32) -> Result<u32, WireError> {
        let mut value = 0;
        for bit in 0..bits {
            let byte = self.bytes.get(self.at / 8).ok_or(WireError::Truncated)?;
            value |= u32::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Ok(value)
    }
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
