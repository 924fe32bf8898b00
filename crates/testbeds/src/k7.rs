//! K7 link traces (as the 6TiSCH simulator reads them): gzip or plain text; a JSON header line, a CSV header, then
//! one row per (time, sender, receiver, channel) in which something was heard. [`campaign`] has the rounds of
//! nodes that probe their links, [`counters`] the counters of running networks, whose channels and spacing of
//! frames are not known. Header values that are absent, `null` or `"null"` are the same.
//! Sources: github.com/keomabrun/k7, README (unknown channels, rows about all neighbours, percent).
//! Tests: `k7_tests.rs`, `hostile_tests.rs`.

mod campaign;
mod counters;
mod header;

use std::io::{BufRead, Read};

use thalweg_units::{Channel, ChannelSet, NodeId};

use self::campaign::Campaign;
pub(crate) use self::header::Header;
use self::header::{FirstLine, JSON_HEADER};
use crate::assumed::Assumed;
use crate::columns::{Column, CHANNEL, DATETIME, DST, PRR, RSSI, SRC, TX_COUNT};
use crate::error::{Problem, TestbedError};
use crate::names::whole;
use crate::rows::Rows;
use crate::text::{reading, unpacked};
use crate::trace::{Trace, TraceLink, Visits};

/// The header that errors name.
const HEADER: &str = "datetime,src,dst,channel,mean_rssi,pdr,tx_count";

/// One row on one channel; levels as `f32`, because there may be millions.
#[derive(Debug, Clone, Copy)]
struct Row {
    at_s: i64,
    src: u16,
    dst: u16,
    /// None where the file does not say.
    channel: Option<Channel>,
    rssi_dbm: Option<f32>,
    prr: f32,
    frames: u32,
}

/// Whether what begins so may be a K7 trace: an object on one line, then a heading.
pub(crate) fn is_trace(start: &[u8]) -> bool {
    let mut lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let is_object = |line: &[u8]| line.starts_with(b"{") && line.ends_with(b"}");
    lines.next().is_some_and(is_object) && lines.next().is_some_and(|line| line.contains(&b','))
}

/// Reads a K7 trace, compressed or not; `source_name` is the file's name in errors.
///
/// # Errors
/// [`TestbedError`] with the lines of the rows that are not as they should be.
pub fn read_k7(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    let failed = |e| reading(e).on_line(source_name, 1);
    let mut reader = unpacked(reader).map_err(failed)?;
    if reader.fill_buf().map_err(failed)?.is_empty() {
        return Err(Problem::Empty(JSON_HEADER).on_line(source_name, 1));
    }
    let header = Header::read(&mut reader, source_name)?;
    let rows = Rows::open(reader, source_name, 1, HEADER)?;
    read_rows(rows, header, source_name)
}

/// Whether `rows` are those of a K7 trace without its first line, as programs write them that keep tables: each column has
/// the name that no other format has.
pub(crate) fn are_rows<R: BufRead>(rows: &Rows<'_, R>) -> bool {
    let is = |(column, name): (&Column, &str)| {
        let found = rows.find(column);
        found.is_some_and(|found| rows.is_headed(found, name))
    };
    let names = [
        (&DATETIME, "datetime"),
        (&SRC, "src"),
        (&DST, "dst"),
        (&CHANNEL, "channel"),
        (&RSSI, "mean_rssi"),
        (&PRR, "pdr"),
        (&TX_COUNT, "tx_count"),
    ];
    names.into_iter().all(is)
}

/// Reads the rows of a K7 trace whose first line is `header`.
pub(crate) fn read_rows<R: BufRead>(
    mut rows: Rows<'_, R>,
    header: Header,
    source_name: &str,
) -> Result<Trace, TestbedError> {
    let mut table = Table::default();
    table.read(&mut rows, &header);
    let is_none = rows.are_none();
    let finished = rows.finish()?;
    if is_none {
        return Err(Problem::TooFew("rows", 1).on_line(source_name, 2));
    }
    if finished.ratios.are_percent() {
        table.assumed.insert(0, Assumed::Percent);
        for row in &mut table.rows {
            row.prr *= finished.ratios.factor() as f32;
        }
    }

    let named = || table.rows.iter().filter_map(|row| row.channel).collect();
    let listed: ChannelSet = match (header.channels, header.line) {
        (Some(listed), _) => listed,
        (None, FirstLine::Lost) if table.open < table.told => named(),
        (None, _) => ChannelSet::ALL,
    };
    let (mut ids, labels) = finished.names.settle();
    let kind = Kind::of(&header, &table);
    let (links, visits, assumed) = table.links(kind, &header, (listed, ids.len()), source_name)?;
    // A node that neither heard nor was heard has no row, but is there all the same: when ids
    // count from 0 or 1, the header's count says which they are.
    let count = header.nodes.unwrap_or(0);
    let mut ranges = [0..count, 1..count.saturating_add(1)].into_iter();
    if let Some(all) = ranges.find(|range| ids.iter().all(|id| range.contains(&id.get()))) {
        for id in all.flat_map(NodeId::new) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let mut trace = Trace {
        nodes: ids,
        labels,
        channels: listed,
        links,
        visits,
        name: header.location,
        assumed,
    };
    trace.settle(source_name)?;
    Ok(trace)
}

/// What a trace was recorded of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Campaign,
    Counters,
}

impl Kind {
    /// Counters where a header tells nothing of the frames sent, or most rows name no channel.
    fn of(header: &Header, table: &Table) -> Self {
        let is_lost = header.line == FirstLine::Lost;
        let is_told = is_lost || header.spacing_ms.is_some() || header.frames.is_some();
        match is_told && table.open * 2 <= table.told {
            true => Self::Campaign,
            false => Self::Counters,
        }
    }
}

/// All rows, and what they leave open.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    /// Rows of a link, and those of them that name no channel.
    told: u64,
    open: u64,
    assumed: Vec<Assumed>,
}

impl Table {
    fn read<R: BufRead>(&mut self, rows: &mut Rows<'_, R>, header: &Header) {
        let datetime = rows.column(&DATETIME);
        let (src, dst) = (rows.column(&SRC), rows.column(&DST));
        let (channel, rssi) = (rows.column(&CHANNEL), rows.find(&RSSI));
        let (prr, tx_count) = (rows.ratio_column(), rows.find(&TX_COUNT));
        let (mut own, mut nameless, mut uncounted, mut unread) = (0, 0, 0, 0);
        while rows.next_row() {
            let lacks_end = rows.is_empty(src) || rows.is_empty(dst);
            if lacks_end || rows.is_empty(prr) {
                *(if lacks_end {
                    &mut nameless
                } else {
                    &mut unread
                }) += 1;
                continue;
            }
            let at_s = rows.parsed(datetime, TIME, |text| header.seconds(text));
            let (from, to) = (rows.node(src), rows.node(dst));
            let (on, prr) = (rows.channels(channel), rows.ratio(prr));
            let rssi_dbm = rssi.map_or(Some(None), |column| rows.rssi(column));
            let frames = match tx_count.filter(|column| !rows.is_empty(*column)) {
                Some(column) => rows.parsed(column, FRAMES, frames),
                None => {
                    uncounted += u64::from(header.frames.is_none());
                    Some(header.frames.unwrap_or(1))
                }
            };
            let (Some(from), Some(to), Some(on)) = (from, to, on) else {
                continue;
            };
            if from == to {
                own += 1;
                continue;
            }
            if let Err(problem) = within(header, rows, to, on) {
                rows.fault(problem);
                continue;
            }
            let (Some(at_s), Some(prr), Some(rssi_dbm), Some(frames)) =
                (at_s, prr, rssi_dbm, frames)
            else {
                continue;
            };
            let row = Row {
                at_s,
                src: from,
                dst: to,
                channel: None,
                rssi_dbm: rssi_dbm.map(|dbm| dbm as f32),
                prr: prr as f32,
                frames,
            };
            self.add(row, on);
        }
        self.note(own, Assumed::SelfLinks(own));
        self.note(nameless, Assumed::Nameless(nameless));
        self.note(unread, Assumed::Unread(unread));
        self.note(uncounted, Assumed::Counts(uncounted));
    }

    /// Notes what was `assumed` of so many rows, if there are any.
    fn note(&mut self, rows: u64, assumed: Assumed) {
        self.assumed.extend((rows > 0).then_some(assumed));
    }

    /// Adds `row` once for each channel that it is `on`.
    fn add(&mut self, row: Row, on: Option<ChannelSet>) {
        self.told += 1;
        self.open += u64::from(on.is_none());
        let mut each: Vec<_> = on.iter().flat_map(|c| c.iter()).map(Some).collect();
        if each.is_empty() {
            each.push(None);
        }
        let rows = each.into_iter().map(|channel| Row { channel, ..row });
        self.rows.extend(rows);
    }

    /// The links of a trace of that `kind`, on the channels `listed` among so many `nodes`; its visits, and all that was
    /// assumed.
    fn links(
        mut self,
        kind: Kind,
        header: &Header,
        (listed, nodes): (ChannelSet, usize),
        source_name: &str,
    ) -> Result<(Vec<TraceLink>, Visits, Vec<Assumed>), TestbedError> {
        let open = self.open;
        let mut assumed = self.assumed;
        match kind {
            Kind::Counters => {
                let (links, more) = counters::links(&self.rows, listed);
                assumed.insert(0, Assumed::Counters);
                assumed.extend(match (open, listed) {
                    (0, _) => None,
                    (_, ChannelSet::ALL) if open == self.told => Some(Assumed::AllChannels(open)),
                    _ => Some(Assumed::ListedChannels(open, listed)),
                });
                assumed.extend(more);
                Ok((links, Visits::default(), assumed))
            }
            Kind::Campaign => {
                self.rows.retain(|row| row.channel.is_some());
                let spacing_ms = header.spacing_ms.unwrap_or(header::SPACING_MS);
                let campaign = Campaign::new(spacing_ms, self.rows, nodes);
                let visits = campaign.visits();
                assumed.insert(0, Assumed::Campaign(visits.links.len().max(1)));
                if header.line == FirstLine::Lost {
                    assumed.insert(1, Assumed::FirstLineLost);
                }
                assumed.extend((open > 0).then_some(Assumed::Unplaced(open)));
                Ok((campaign.links(source_name)?, visits, assumed))
            }
        }
    }
}

/// Whether a row to the node `to` keeps to the header's nodes and channels.
fn within<R: BufRead>(
    header: &Header,
    rows: &Rows<'_, R>,
    to: u16,
    on: Option<ChannelSet>,
) -> Result<(), Problem> {
    if let (Some(listed), Some(on)) = (header.channels, on) {
        if let Some(beyond) = on.iter().find(|c| !listed.contains(*c)) {
            return Err(Problem::unlisted(beyond, listed));
        }
    }
    match header.nodes {
        Some(count) if rows.nodes() > usize::from(count) => {
            let one_more = rows.text_of(to).into();
            Err(Problem::HeaderNodes(count.into(), one_more))
        }
        _ => Ok(()),
    }
}

const TIME: &str = "a time as 2018-01-11T16:32:22.0";
const FRAMES: &str = "the number of frames sent, at least 1";

fn frames(text: &str) -> Option<u32> {
    let number = whole(text).filter(|n| (1..=1_000_000_000).contains(n))?;
    u32::try_from(number).ok()
}

impl Header {
    /// The time of a row; of a trace without a first line also a day without a time.
    fn seconds(&self, text: &str) -> Option<i64> {
        let midnight = || match self.line {
            FirstLine::Lost => seconds(&format!("{text}T0:0")),
            FirstLine::Read => None,
        };
        seconds(text).or_else(midnight)
    }
}

/// Seconds since 1970 of `2018-01-11T16:32:22.0`; the fraction and anything after it are dropped.
fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let field = |text: Option<&str>, range: std::ops::RangeInclusive<i64>| {
        let digits = text.filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok().filter(|value| range.contains(value))
    };
    let mut date = date.split('-');
    let year = field(date.next(), 1970..=9999)?;
    let (month, day) = (field(date.next(), 1..=12)?, field(date.next(), 1..=31)?);
    let mut time = time.split(':');
    let (hour, minute) = (field(time.next(), 0..=23)?, field(time.next(), 0..=59)?);
    let digits = time.next().unwrap_or("0");
    let whole = digits.split(|c: char| !c.is_ascii_digit()).next();
    let second = field(whole, 0..=60)?;
    // Days of the proleptic Gregorian calendar, the year counted from March.
    let from_march = (month + 9) % 12;
    let year = year - i64::from(from_march >= 10);
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * from_march + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
#[path = "k7_tests.rs"]
mod tests;
