//! A link table as the frames of a report, and back.
//!
//! The same table and floor always give the same frames, so that a lost one can be asked for by
//! its number. Rows are not split; a frame takes as many as fit.

use crate::linkprobe::LinkTable;
use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::flood::{Campaign, MAX_CONTENT};
use thalweg_wire::report::{Health, Received, Report, Row};
use thalweg_wire::{FrameBuf, Reader, WireError};

/// The most frames of one report; what does not fit into them is not sent.
pub const MAX_FRAMES: u8 = 64;

/// The content of frame number `frame` of the report of `table`, where there is such a frame; the first one also tells
/// of the node's `health`. The report of another campaign's table is one frame without rows.
///
/// # Errors
/// Never in fact: rows are counted before they are written.
pub fn report_frame<const N: usize>(
    table: &LinkTable<N>,
    campaign: Campaign,
    floor: u8,
    frame: u8,
    health: Health,
) -> Result<Option<FrameBuf>, WireError> {
    let rows = || {
        let wanted = table.campaign() == Some(campaign);
        table.rows(floor).filter(move |_| wanted)
    };
    let first = Report::BYTES + health.bytes();
    let frames = frames_of(first, rows())
        .last()
        .map_or(1, |(last, _)| last + 1);
    if frame >= frames {
        return Ok(None);
    }
    FrameBuf::build(|w| {
        let head = Report {
            campaign,
            frame,
            frames,
            health: if frame == 0 { health } else { Health::UNTOLD },
        };
        head.emit(w)?;
        frames_of(first, rows())
            .filter(|(in_frame, _)| *in_frame == frame)
            .try_for_each(|(_, row)| row.emit(w))
    })
    .map(Some)
}

/// Each row with the number of the frame that it goes into; the head of the first takes `first` bytes.
fn frames_of(first: usize, rows: impl Iterator<Item = Row>) -> impl Iterator<Item = (u8, Row)> {
    rows.scan((0u8, first), |(frame, used), row| {
        *used += row.bytes();
        if *used > MAX_CONTENT {
            (*frame, *used) = (*frame + 1, Report::BYTES + row.bytes());
        }
        (*frame < MAX_FRAMES).then_some((*frame, row))
    })
}

/// What a node heard of another one on one channel, as the sink learns it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkReport {
    /// Who sent the beacons.
    pub from: NodeId,
    /// Who counted them.
    pub to: NodeId,
    /// On which channel.
    pub channel: Channel,
    /// How many of N_b came through, at least one.
    pub received: u8,
    /// Their mean signal strength.
    pub rssi: Dbm,
}

/// The links in one frame of a report, one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    to: NodeId,
    content: FrameBuf,
    at: usize,
    row: Option<(NodeId, [Option<Received>; Channel::COUNT])>,
    channel: usize,
}

impl Links {
    /// The links into `to` in the frame with this content; its head is `report`.
    pub(crate) fn new(to: NodeId, report: &Report, content: FrameBuf) -> Self {
        Self {
            to,
            content,
            at: Report::BYTES + report.health.bytes(),
            row: None,
            channel: 0,
        }
    }
}

impl Iterator for Links {
    type Item = LinkReport;
    fn next(&mut self) -> Option<LinkReport> {
        loop {
            let Some((from, heard)) = self.row else {
                let rest = self.content.get(self.at..)?;
                let mut r = Reader::new(rest);
                let row = Row::parse(&mut r).ok()?;
                self.at += rest.len() - r.remaining();
                (self.row, self.channel) = (Some((row.neighbour, row.heard)), 0);
                continue;
            };
            let index = self.channel;
            let Some(cell) = heard.get(index) else {
                self.row = None;
                continue;
            };
            self.channel += 1;
            if let Some(cell) = cell {
                return Some(LinkReport {
                    from,
                    to: self.to,
                    channel: Channel::from_index(index),
                    received: cell.received,
                    rssi: Dbm(f64::from(cell.rssi)),
                });
            }
        }
    }
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
