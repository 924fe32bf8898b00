//! A link matrix: a table `src,dst,channel,prr[,rssi_dbm]`, one row per directed link and
//! channel; columns in any order, others ignored. A pair without a row has no link. In place of `prr` there may be
//! frames sent and received, or the level alone; a table with a row for each sender and a column for each receiver is
//! read as well ([`square`]). Tests: `matrix_tests.rs` and `hostile_tests.rs`.

mod square;

use std::io::{BufRead, Read};

use crate::assumed::Assumed;
use crate::columns;
use crate::draft::{Draft, Measure, Refused, Repeats};
use crate::error::{Location, Problem, TestbedError};
use crate::k7::{self, Header};
use crate::lqi;
use crate::reception::Reception;
use crate::rows::{heading, Rows};
use crate::text::{reading, unpacked};
use crate::trace::Trace;

/// The header that errors name.
const HEADER: &str = "src,dst,channel,prr[,rssi_dbm]";

/// Reads a link matrix, compressed or not; `source_name` is the file's name in errors.
///
/// # Errors
/// [`TestbedError`] with the lines of the rows that are not as they should be.
pub fn read_matrix(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    read(reader, source_name, &Reception::default())
}

/// The same of links that were measured with `reception`.
pub(crate) fn read(
    reader: impl Read,
    source_name: &str,
    reception: &Reception,
) -> Result<Trace, TestbedError> {
    let failed = |e| reading(e).on_line(source_name, 1);
    let mut reader = unpacked(reader).map_err(failed)?;
    let start = reader.fill_buf().map_err(failed)?;
    if start.is_empty() {
        return Err(Problem::Empty(HEADER).on_line(source_name, 1));
    }
    let header = heading::of_table(start);
    let mut rows = Rows::open_at(reader, source_name, (0, header), HEADER)?;
    if k7::are_rows(&rows) {
        return k7::read_rows(rows, Header::default(), source_name);
    }
    if is_square(&mut rows) {
        return square::read(rows, source_name, reception);
    }
    let columns = Columns::of(&mut rows);
    let repeats = match rows.find(&columns::DATETIME) {
        Some(_) => Repeats::Averaged,
        None => Repeats::Wrong,
    };
    let mut draft = Draft::new(repeats);
    let unread = read_rows(&mut rows, &columns, &mut draft);
    let finished = rows.finish()?;
    if draft.is_empty() && !unread.is_empty() {
        return Err(Problem::TooFew("row with a reading", 1).at(source_name, Location::Whole));
    }
    let mut assumed: Vec<Assumed> = columns.table.into_iter().collect();
    assumed.extend(unread);
    let gaps = draft.gaps();
    if finished.ratios.are_percent() && matches!(columns.quality, Quality::Ratio(_)) {
        assumed.push(Assumed::Percent);
    }
    if matches!(columns.quality, Quality::Lqi(_)) {
        assumed.push(Assumed::LevelsByLqi);
        // Neighbour tables; end devices keep none.
        assumed.extend(draft.mirror());
    }
    let factor = finished.ratios.factor();
    let mut trace = draft.finish(finished.names, factor, reception, source_name)?;
    assumed.append(&mut trace.assumed);
    assumed.extend(gaps);
    trace.assumed = assumed;
    Ok(trace)
}

/// Whether `rows` are a square table.
fn is_square<R: BufRead>(rows: &mut Rows<'_, R>) -> bool {
    let is_list = [&columns::SRC, &columns::DST].map(|c| rows.find(c).is_some());
    // A program may call the corner `src`.
    is_list != [true; 2] && rows.are_square()
}

/// Whether `text` has a list of links, or else a square table.
pub(crate) fn has_table(text: &[u8], square: bool) -> bool {
    if !square {
        return heading::of_list(text).is_some();
    }
    let header = heading::of_table(text);
    let rows = Rows::open_at(text, "", (0, header), HEADER);
    rows.is_ok_and(|mut rows| is_square(&mut rows))
}

/// Where the columns are.
struct Columns {
    src: usize,
    dst: usize,
    /// What rows of neighbour tables tell.
    table: Option<Assumed>,
    channel: Option<usize>,
    quality: Quality,
    rssi: Option<usize>,
    /// Frames that a ratio stands on.
    frames: Option<usize>,
}

/// What tells how good a link is.
#[derive(Debug, Clone, Copy)]
enum Quality {
    Ratio(usize),
    /// Frames sent, and received.
    Received(usize, usize),
    /// Frames sent, and lost.
    Failed(usize, usize),
    Level,
    Lqi(usize),
}

/// What a row has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    /// Anything that tells how good the link is.
    Reading,
    /// An LQI above 0.
    Lqi,
}

/// A table of each node's neighbours, in place of senders and receivers.
struct Neighbours {
    /// The columns of senders and receivers.
    ends: (usize, usize),
    says: Assumed,
}

impl Neighbours {
    /// None where it is another table, or does not say which of the two sends: levels, LQI and a `prr` are those of frames that
    /// the node received, and counts those of frames that it sent. A `pdr` may be either.
    fn of<R: BufRead>(rows: &Rows<'_, R>) -> Option<Self> {
        let [src, dst, node, neighbour] = [
            &columns::SRC,
            &columns::DST,
            &columns::NODE,
            &columns::NEIGHBOUR,
        ]
        .map(|column| rows.find(column));
        let (None, None, Some(node), Some(neighbour)) = (src, dst, node, neighbour) else {
            return None;
        };
        let is_counted = rows.find(&columns::TX_COUNT).is_some()
            && [&columns::RECEIVED, &columns::FAILED]
                .iter()
                .any(|column| rows.find(column).is_some());
        let heard = Self {
            ends: (neighbour, node),
            says: Assumed::Heard,
        };
        match rows.find(&columns::PRR) {
            Some(column) => rows.is_headed(column, "prr").then_some(heard),
            None if is_counted => Some(Self {
                ends: (node, neighbour),
                says: Assumed::Sent,
            }),
            None => Some(heard),
        }
    }
}

impl Columns {
    fn of<R: BufRead>(rows: &mut Rows<'_, R>) -> Self {
        let rssi = rows.find(&columns::RSSI);
        let sent = rows.find(&columns::TX_COUNT);
        let (received, failed) = (rows.find(&columns::RECEIVED), rows.find(&columns::FAILED));
        let lqi = rows.find(&columns::LQI);
        let table = Neighbours::of(rows);
        let (src, dst) = match &table {
            Some(Neighbours { ends, .. }) => *ends,
            None => (rows.column(&columns::SRC), rows.column(&columns::DST)),
        };
        let quality = match (rows.find(&columns::PRR), sent, received, failed, rssi, lqi) {
            (None, Some(sent), Some(received), ..) => Quality::Received(sent, received),
            (None, Some(sent), None, Some(failed), ..) => Quality::Failed(sent, failed),
            (None, _, _, _, Some(_), _) => Quality::Level,
            (None, _, _, _, None, Some(lqi)) => Quality::Lqi(lqi),
            _ => Quality::Ratio(rows.ratio_column()),
        };
        Self {
            src,
            dst,
            table: table.map(|table| table.says),
            channel: rows.optional(&columns::CHANNEL, "all channels are meant"),
            quality,
            rssi,
            frames: sent,
        }
    }

    /// Why the current row tells nothing of its link, if so.
    fn lack<R: BufRead>(&self, rows: &Rows<'_, R>) -> Option<Lack> {
        let is_unread = match self.quality {
            Quality::Ratio(column) => rows.is_empty(column),
            Quality::Received(sent, part) | Quality::Failed(sent, part) => {
                let is_none = |column| rows.is_empty(column) || rows.is_zero(column);
                rows.is_empty(sent) || rows.is_empty(part) || (is_none(sent) && is_none(part))
            }
            Quality::Level => self.rssi.is_some_and(|column| rows.is_empty(column)),
            Quality::Lqi(column) if rows.is_zero(column) => return Some(Lack::Lqi),
            Quality::Lqi(column) => rows.is_empty(column),
        };
        is_unread.then_some(Lack::Reading)
    }

    /// What the current row tells of its link. Nothing if it has a fault.
    fn measure<R: BufRead>(&self, rows: &mut Rows<'_, R>) -> Option<Measure> {
        let level = self.rssi.map_or(Some(None), |column| rows.rssi(column));
        let ratio = |received: u32, sent: u32| Some(f64::from(received) / f64::from(sent));
        let (ratio, weight) = match self.quality {
            Quality::Ratio(column) => {
                let ratio = rows.ratio(column);
                let sent = self.frames.filter(|column| !rows.is_empty(*column));
                let sent = sent.map_or(Some(1), |column| rows.frames(column))?;
                (Some(ratio?), f64::from(sent.max(1)))
            }
            Quality::Received(sent, received) => {
                let (sent, received) = (rows.frames(sent), rows.frames(received));
                let (sent, received) = (sent?, received?);
                others(rows, sent, (received, "received"))?;
                (ratio(received, sent), f64::from(sent))
            }
            Quality::Failed(sent, failed) => {
                let (sent, failed) = (rows.frames(sent)?, rows.frames(failed)?);
                let received = others(rows, sent, (failed, "lost"))?;
                (ratio(received, sent), f64::from(sent))
            }
            Quality::Level => (None, 1.0),
            Quality::Lqi(column) => {
                let lqi = rows.number(column, lqi::EXPECTED, lqi::is_one)?;
                let rssi_dbm = Some(lqi::level_dbm(lqi));
                return Some(Measure {
                    ratio: None,
                    rssi_dbm,
                    weight: 1.0,
                });
            }
        };
        Some(Measure {
            ratio,
            rssi_dbm: level?,
            weight,
        })
    }
}

/// How many frames of those `sent` are not among so many, which the current row calls `received` or `lost`; else a fault.
fn others<R: BufRead>(
    rows: &mut Rows<'_, R>,
    sent: u32,
    (part, called): (u32, &str),
) -> Option<u32> {
    let others = sent.checked_sub(part).filter(|_| sent > 0);
    if others.is_none() {
        let expected = format!("frames sent, at least 1, and no more {called} than sent");
        let found = format!("{part} of {sent}");
        rows.fault(Problem::value("the row", &found, expected));
    }
    others
}

/// Reads all rows; returns what was left out.
fn read_rows<R: BufRead>(
    rows: &mut Rows<'_, R>,
    columns: &Columns,
    draft: &mut Draft,
) -> Vec<Assumed> {
    let (mut unread, mut no_lqi) = (0, 0);
    while rows.next_row() {
        let (from, to) = (rows.node(columns.src), rows.node(columns.dst));
        let channels = columns.channel.map_or(Some(None), |c| rows.channels(c));
        let lack = columns.lack(rows);
        if let (Some(lack), true) = (lack, from != to) {
            match lack {
                Lack::Reading => unread += 1,
                Lack::Lqi => no_lqi += 1,
            }
            continue;
        }
        let measure = match lack {
            Some(_) => None,
            None => columns.measure(rows),
        };
        let (Some(from), Some(to), Some(channels)) = (from, to, channels) else {
            continue;
        };
        let nothing = Measure {
            ratio: None,
            rssi_dbm: None,
            weight: 1.0,
        };
        // A row with a fault counts as given, so that its repetition is reported as well.
        let measure = measure.unwrap_or(nothing);
        if let Err(Refused::Again(on)) = draft.add((from, to), channels, measure) {
            let (from, to) = (rows.text_of(from).into(), rows.text_of(to).into());
            let on = on.map(|on| on.number());
            rows.repeated(from, to, on);
        }
    }
    let counts = [
        (unread, Assumed::Unread(unread)),
        (no_lqi, Assumed::NoLqi(no_lqi)),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(_, assumed)| assumed).collect()
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
