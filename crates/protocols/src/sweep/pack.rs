//! What a node received in a sweep as one report, and back.
//!
//! All neighbours at the floor or above go in, strongest first, while there is room; in a sparse network also the
//! strongest below. In a dense one neighbours are left out evenly over the range of strength: the strongest alone would
//! be the nearest, and make routes of many hops. Where many nodes lack room, they draw the neighbours to keep in a way
//! that both ends of a link agree on: a link that only one end reports is of no use.

use crate::collection::LinkReport;
use crate::linkprobe::LinkTable;
use thalweg_units::{Channel, Dbm, NodeId};
use thalweg_wire::flood::Campaign;
use thalweg_wire::levels::{most_rows, Cell, Levels, Row};
use thalweg_wire::report::Health;
use thalweg_wire::sweep::{Parameters, Reports};
use thalweg_wire::{report, FrameBuf, Reader, WireError};

/// How many neighbours are reported, if there are, whatever the floor: a network of few and long links needs them all.
const FEWEST: usize = 8;

/// The content of the flood that reports `own` node's `table` under `parameters`, and its `health`; that of another
/// campaign's table has no rows.
///
/// A microcontroller has milliseconds for it, so each neighbour is looked at once, and again where it is reported.
///
/// # Errors
/// Never in fact: rows are counted before they are written.
pub(crate) fn levels_frame<const N: usize>(
    own: NodeId,
    table: &LinkTable<N>,
    parameters: &Parameters,
    health: Health,
) -> Result<FrameBuf, WireError> {
    // Turned round, so that the strongest is first in the order that numbers have: another order is 8 kB of flash more.
    let mut strengths = [(i8::MAX, 0u16); N];
    let mut heard = 0;
    if table.campaign() == Some(parameters.campaign) {
        for (number, place) in (0u16..).zip(&mut strengths[..table.len()]) {
            *place = (!table.strength(number.into()), number);
        }
        heard = table.len();
    }
    let strengths = &mut strengths[..heard];
    strengths.sort_unstable();
    let strong = strengths.partition_point(|(turned, _)| !*turned >= parameters.floor);
    let wanted = strong.max(FEWEST.min(heard));
    let rows = most_rows(parameters, &health).min(wanted);
    if let (Reports::Inwards, Some(all)) = (parameters.reports, strengths.get_mut(..wanted)) {
        if rows < wanted {
            let neighbour = |number: u16| table.neighbours().get(usize::from(number)).copied();
            for place in all.iter_mut() {
                // What is left is the number of a row and its lot.
                *place = (lot(own, neighbour(place.1), parameters.campaign), place.1);
            }
            all.sort_unstable();
        }
    }
    let head = Levels {
        campaign: parameters.campaign,
        rows: rows as u8,
        battery: health.battery,
    };
    let row = |place: usize| {
        let place = match parameters.reports {
            Reports::Flooded => evenly(place, rows, wanted),
            Reports::Inwards => place,
        };
        let (_, number) = *strengths.get(place)?;
        table.row(number.into(), 1).map(levels)
    };
    let rows = (0..rows).filter_map(row);
    FrameBuf::build(|w| head.emit(parameters, (rows, health.restarts), w))
}

/// Number `place` of `chosen` that lie evenly among `all`, both ends included.
fn evenly(place: usize, chosen: usize, all: usize) -> usize {
    match chosen {
        0 | 1 => 0,
        _ => place * (all - 1) / (chosen - 1),
    }
}

/// What decides of a link, the same for both ends, and another in each measurement.
fn lot(own: NodeId, other: Option<NodeId>, campaign: Campaign) -> i8 {
    let other = other.map_or(0, NodeId::get);
    let (low, high) = (own.get().min(other), own.get().max(other));
    let pair = u32::from(high) << 16 | u32::from(low);
    // Multiplicative hashing (Knuth, TAOCP 3, section 6.4), twice.
    let mixed = (pair ^ u32::from(campaign.number()) << 12).wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca77);
    (mixed >> 24) as i8
}

fn levels(row: report::Row) -> Row {
    let cell = |heard: report::Received| Cell {
        received: heard.received,
        rssi: heard.rssi,
    };
    Row {
        neighbour: row.neighbour,
        cells: row.heard.map(|heard| heard.map(cell)),
    }
}

/// The links of one report, one at a time.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    to: NodeId,
    parameters: Parameters,
    content: FrameBuf,
    row: u8,
    channel: usize,
}

impl Rows {
    /// The links into `to` in the report with this content.
    pub(crate) fn new(to: NodeId, parameters: Parameters, content: FrameBuf) -> Self {
        let (row, channel) = (0, 0);
        Self {
            to,
            parameters,
            content,
            row,
            channel,
        }
    }
}

impl Iterator for Rows {
    type Item = LinkReport;
    fn next(&mut self) -> Option<LinkReport> {
        let mut r = Reader::new(&self.content);
        let rows = Levels::parse(&mut r).ok()?.rows;
        while self.row < rows {
            let row = Levels::row(self.row, &self.parameters, r.clone().rest()).ok()?;
            while let Some(cell) = row.cells.get(self.channel) {
                let channel = Channel::from_index(self.channel);
                self.channel += 1;
                if let Some(cell) = cell {
                    return Some(LinkReport {
                        from: row.neighbour,
                        to: self.to,
                        channel,
                        received: cell.received,
                        rssi: Dbm(f64::from(cell.rssi)),
                    });
                }
            }
            (self.row, self.channel) = (self.row + 1, 0);
        }
        None
    }
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
