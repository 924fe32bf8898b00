//! A square table of links: a row for each sender, a column for each receiver, headed by the nodes, or the other way round
//! if its corner says `dst`. Its values are
//! reception ratios, or levels in dBm if most of them are below zero. Empty cells and the diagonal are no links.
//! Tests: `matrix_tests.rs`.

use std::io::BufRead;

use crate::assumed::Assumed;
use crate::columns;
use crate::draft::{Draft, Measure, Repeats};
use crate::error::TestbedError;
use crate::reception::Reception;
use crate::rows::Rows;
use crate::trace::Trace;

/// One cell.
struct Cell {
    from: u16,
    to: u16,
    value: f64,
}

/// Reads the rows of a square table.
pub(super) fn read<R: BufRead>(
    mut rows: Rows<'_, R>,
    source_name: &str,
    reception: &Reception,
) -> Result<Trace, TestbedError> {
    // The corner of a pivot table is the name of what its rows are.
    let corner = rows.heading(0).split(|c: char| !c.is_alphanumeric()).next();
    let mut receivers = columns::DST.names().iter();
    let by_receiver =
        corner.is_some_and(|corner| receivers.any(|name| columns::is_called(corner, name)));
    let cells = cells(&mut rows, by_receiver);
    let finished = rows.finish()?;
    let negative = cells.iter().filter(|cell| cell.value < 0.0).count();
    let are_levels = 2 * negative > cells.len();
    let mut draft = Draft::new(Repeats::Averaged);
    for Cell { from, to, value } in cells {
        let (ratio, rssi_dbm) = match are_levels {
            true if value < 0.0 => (None, Some(value)),
            // 0 dBm in a table of levels is what a program writes that heard nothing.
            true => (Some(0.0), None),
            false => (Some(value), None),
        };
        let measure = Measure {
            ratio,
            rssi_dbm,
            weight: 1.0,
        };
        // The diagonal is left out already.
        let _ = draft.add((from, to), None, measure);
    }
    let (ratios, names) = (finished.ratios, finished.names);
    let factor = match are_levels {
        true => 1.0,
        false => ratios.factor(),
    };
    let mut trace = draft.finish(names, factor, reception, source_name)?;
    let percent = (!are_levels && ratios.are_percent()).then_some(Assumed::Percent);
    let square = match by_receiver {
        true => Assumed::SquareByReceiver,
        false => Assumed::Square,
    };
    let first = [square].into_iter().chain(percent);
    let open = |a: &Assumed| !matches!(a, Assumed::AllChannels(_));
    trace.assumed = first
        .chain(trace.assumed.into_iter().filter(open))
        .collect();
    Ok(trace)
}

/// The cells that have a value, without the diagonal.
fn cells<R: BufRead>(rows: &mut Rows<'_, R>, by_receiver: bool) -> Vec<Cell> {
    let heads: Vec<Option<u16>> = (1..rows.columns()).map(|c| rows.headed(c)).collect();
    let mut cells = Vec::new();
    while rows.next_row() {
        let Some(row) = rows.node(0) else { continue };
        for (at, head) in heads.iter().enumerate() {
            let column = at + 1;
            let Some(head) = head.filter(|head| *head != row && !rows.is_empty(column)) else {
                continue;
            };
            let Some(value) = value(rows, column) else {
                continue;
            };
            let (from, to) = match by_receiver {
                true => (head, row),
                false => (row, head),
            };
            cells.push(Cell { from, to, value });
        }
    }
    cells
}

/// A level below zero, or a ratio.
fn value<R: BufRead>(rows: &mut Rows<'_, R>, column: usize) -> Option<f64> {
    match rows.is_negative(column) {
        true => rows.rssi(column)?,
        false => rows.ratio(column),
    }
}
