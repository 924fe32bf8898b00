//! Collection of link tables (P3, section IV-D1): the sink's schedule and the nodes' reports.
//!
//! Both are contents of floods. A schedule is a [`Schedule`] and then [`Assignment`]s up to the
//! content's end; a report is a [`Report`] and then [`Row`]s up to the content's end. A row names
//! one neighbour and the channels on which something was heard of it. Tests: `report_tests.rs`.

use crate::beacon::{steps, TIME_STEP};
use crate::buf::{Reader, WireError, Writer};
use crate::flood::{Campaign, Kind, MAX_CONTENT};
use thalweg_units::{BatteryLevel, Channel, ChannelSet, Duration, NodeId, Restarts};

/// Beside the number of a report's frames: the voltage of the node's battery follows.
const BATTERY_BIT: u8 = 0x80;
/// Beside the number of the frame: how often the node has restarted follows.
const RESTARTS_BIT: u8 = 0x80;

/// How a node is: what it tells of itself beside its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// The voltage of its battery, where it has one and knows.
    pub battery: Option<BatteryLevel>,
    /// Its restarts since power came, where there were some.
    pub restarts: Option<Restarts>,
}

impl Health {
    /// What its node has nothing to tell of.
    pub const UNTOLD: Self = Self {
        battery: None,
        restarts: None,
    };
    /// Bytes that it takes in a report, one for each.
    pub fn bytes(&self) -> usize {
        usize::from(self.battery.is_some()) + usize::from(self.restarts.is_some())
    }
}

/// The head of a schedule: when the slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Which measurement's tables are wanted.
    pub campaign: Campaign,
    /// From the schedule's reference time to the first slot, in steps of [`TIME_STEP`].
    pub first: Duration,
    /// From one slot to the next, in steps of [`TIME_STEP`].
    pub slot: Duration,
    /// Links of which fewer beacons were received are not reported; 1 for all that were heard.
    pub floor: u8,
}

impl Schedule {
    /// Bytes of the head, tag included.
    pub const BYTES: usize = 6;

    /// Reads the head; the assignments are left in `r`.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            campaign: Kind::Schedule.parse(r)?,
            first: TIME_STEP * u64::from(r.u16()?),
            slot: TIME_STEP * u64::from(r.u16()?),
            floor: r.u8()?,
        })
    }
    /// Writes the head.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] for times that are no number of steps.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        Kind::Schedule.emit(self.campaign, w)?;
        w.u16(steps(self.first)?)?.u16(steps(self.slot)?)?;
        w.u8(self.floor).map(|_| ())
    }
}

/// The slots of one node: it has as many as frames, right after those of the assignment before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Who sends.
    pub node: NodeId,
    /// The first frame of its report that it sends.
    pub first: u8,
    /// How many frames it sends, one a slot.
    pub count: u8,
}

impl Assignment {
    /// Bytes of one.
    pub const BYTES: usize = 4;
    /// How many fit into a schedule.
    pub const MAX: usize = (MAX_CONTENT - Schedule::BYTES) / Self::BYTES;

    /// Reads one.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            node: r.node()?,
            first: r.u8()?,
            count: r.u8()?,
        })
    }
    /// Writes one.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u16(self.node.get())?.u8(self.first)?.u8(self.count)?;
        Ok(())
    }
}

/// The head of a report's frame. The reporting node is the flood's initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Which measurement it is of.
    pub campaign: Campaign,
    /// Which frame of the report this is, below `frames`.
    pub frame: u8,
    /// How many frames the report has, 1 to 127; one may be without rows.
    pub frames: u8,
    /// How the node is, if this frame tells it.
    pub health: Health,
}

impl Report {
    /// Bytes of the head, tag included, without how the node is.
    pub const BYTES: usize = 3;

    /// Reads the head; the rows are left in `r`.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let (campaign, frame, frames) = (Kind::Report.parse(r)?, r.u8()?, r.u8()?);
        let repr = Self {
            campaign,
            frame: frame & !RESTARTS_BIT,
            frames: frames & !BATTERY_BIT,
            health: Health {
                battery: match frames & BATTERY_BIT {
                    0 => None,
                    _ => Some(BatteryLevel::of_code(r.u8()?)),
                },
                restarts: match frame & RESTARTS_BIT {
                    0 => None,
                    _ => Some(Restarts::of_code(r.u8()?).ok_or(WireError::Malformed)?),
                },
            },
        };
        match repr.frame < repr.frames {
            true => Ok(repr),
            false => Err(WireError::Malformed),
        }
    }
    /// Writes the head.
    ///
    /// # Errors
    /// [`WireError::NoRoom`]; [`WireError::Malformed`] where `frame` is not below `frames`, or `frames` above 127.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        if self.frame >= self.frames || self.frames >= BATTERY_BIT {
            return Err(WireError::Malformed);
        }
        Kind::Report.emit(self.campaign, w)?;
        let Health { battery, restarts } = self.health;
        w.u8(self.frame | restarts.map_or(0, |_| RESTARTS_BIT))?;
        match battery {
            None => w.u8(self.frames)?,
            Some(level) => w.u8(self.frames | BATTERY_BIT)?.u8(level.code())?,
        };
        match restarts {
            None => Ok(()),
            Some(restarts) => w.u8(restarts.code()).map(|_| ()),
        }
    }
}

/// What was heard of a neighbour on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// How many beacons, at least one.
    pub received: u8,
    /// Their mean signal strength in dBm.
    pub rssi: i8,
}

/// What was heard of one neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Who was heard.
    pub neighbour: NodeId,
    /// On each channel, by [`Channel::index`]; `None` where nothing was heard.
    pub heard: [Option<Received>; Channel::COUNT],
}

impl Row {
    /// Bytes of this row.
    pub fn bytes(&self) -> usize {
        4 + 2 * self.heard.iter().flatten().count()
    }
    /// Reads one row.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let neighbour = r.node()?;
        let mut heard = [None; Channel::COUNT];
        for channel in ChannelSet::from_bits(r.u16()?).iter() {
            heard[channel.index()] = Some(Received {
                received: r.u8()?,
                rssi: r.u8()? as i8,
            });
        }
        Ok(Self { neighbour, heard })
    }
    /// Writes one row.
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        let channels = Channel::all().filter(|c| self.heard[c.index()].is_some());
        let channels: ChannelSet = channels.collect();
        w.u16(self.neighbour.get())?.u16(channels.bits())?;
        for cell in self.heard.iter().flatten() {
            w.u8(cell.received)?.bytes(&cell.rssi.to_le_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
pub(crate) mod tests;
