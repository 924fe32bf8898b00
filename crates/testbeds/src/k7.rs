//! K7 link traces (as the 6TiSCH simulator reads them): gzip or plain text; a JSON header line, a CSV header, then one
//! row per (time, sender, receiver, channel) in which something was heard. A campaign has many rounds;
//! silence has no row, so a link's ratio is taken over every round in which its sender sent and its
//! receiver was hearing anyone at all. Times are seconds; only their differences matter.
//! Not modelled: how a link changes from round to round. Tests: `k7_tests.rs`, `hostile_tests.rs`.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use thalweg_units::{Channel, ChannelSet, NodeId};

use crate::error::{Problem, TestbedError};
use crate::rows::{reading, Bounded, Rows};
use crate::trace::{NodeTable, Trace, TraceLink};

/// The header that errors name.
const HEADER: &str = "datetime,src,dst,channel,mean_rssi,pdr,tx_count";
/// What a K7 file starts with.
const JSON_HEADER: &str =
    "a JSON line with `node_count`, `tx_length` and `channels`, as {\"node_count\": 50, ...}";
/// Most rounds of one campaign; bounds the work on a hostile file.
const MAX_ROUNDS: usize = 2_000;

#[derive(Debug, Deserialize)]
struct Header {
    node_count: u32,
    /// Frames a sender sends per channel and round.
    tx_length: u32,
    channels: Option<Vec<u8>>,
    /// Milliseconds between two frames.
    interframe_duration: Option<f64>,
    location: Option<String>,
}

/// One row; levels as `f32`, because there may be millions.
#[derive(Debug, Clone, Copy)]
struct Row {
    at_s: i64,
    src: u16,
    dst: u16,
    channel: Channel,
    rssi_dbm: Option<f32>,
    pdr: f32,
    frames: u32,
}

/// Reads a K7 trace, compressed or not; `source_name` is the file's name in errors.
///
/// # Errors
/// [`TestbedError`] with the line of the first thing that is not as it should be.
pub fn read_k7(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    let mut raw = BufReader::new(reader);
    let failed = |e| Problem::Io(e).on_line(source_name, 1);
    match raw.fill_buf().map_err(failed)? {
        [] => Err(Problem::Empty(JSON_HEADER).on_line(source_name, 1)),
        [0x1f, 0x8b, ..] => read_text(Bounded::new(MultiGzDecoder::new(raw)), source_name),
        _ => read_text(Bounded::new(raw), source_name),
    }
}

fn read_text(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    let mut reader = BufReader::new(reader);
    let header = read_header(&mut reader, source_name)?;
    let listed = listed_channels(&header, source_name)?;
    let mut nodes = NodeTable::default();
    let rows = read_rows(reader, source_name, &header, listed, &mut nodes)?;
    let mut ids = nodes.into_ids();
    let links = Campaign::new(&header, rows, ids.len()).links(source_name)?;
    // A node that neither heard nor was heard has no row, but is there all the same: when ids
    // count from 0 or 1, the header's count says which they are.
    let said = header.node_count.min(crate::rows::MAX_NODES as u32) as u16;
    let mut ranges = [0..said, 1..said + 1].into_iter();
    if let Some(all) = ranges.find(|range| ids.iter().all(|id| range.contains(&id.get()))) {
        for id in all.flat_map(NodeId::new) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let mut trace = Trace {
        nodes: ids,
        channels: listed,
        links,
        name: header.location,
    };
    trace.settle(source_name)?;
    Ok(trace)
}

fn read_header(reader: &mut impl BufRead, source_name: &str) -> Result<Header, TestbedError> {
    let mut line = Vec::new();
    let wrong = |problem: Problem| problem.on_line(source_name, 1);
    (reader.read_until(b'\n', &mut line)).map_err(|e| wrong(reading(e)))?;
    let text = std::str::from_utf8(&line).map_err(|_| wrong(Problem::NotText(JSON_HEADER)))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(wrong(Problem::Empty(JSON_HEADER)));
    }
    let header: Header =
        serde_json::from_str(text).map_err(|e| wrong(Problem::Json(e.to_string())))?;
    let most = crate::rows::MAX_NODES as u32;
    let spacing = header.interframe_duration;
    let (what, found, expected) = match &header {
        Header { tx_length: 0, .. } => {
            let expected = "the number of frames per cell, at least 1";
            ("tx_length", "0".to_owned(), expected)
        }
        Header { node_count, .. } if !(2..=most).contains(node_count) => {
            ("node_count", node_count.to_string(), "2 to 10000 nodes")
        }
        _ if spacing.is_some_and(|ms| !(0.0..=1e9).contains(&ms)) => {
            let expected = "milliseconds, at least 0";
            ("interframe_duration", format!("{spacing:?}"), expected)
        }
        _ => return Ok(header),
    };
    Err(wrong(Problem::value(what, &found, expected)))
}

fn listed_channels(header: &Header, source_name: &str) -> Result<ChannelSet, TestbedError> {
    let Some(listed) = &header.channels else {
        return Ok(ChannelSet::ALL);
    };
    let expected = "channels of the 2.4 GHz band, 11..26";
    let wrong = |number: u8| Problem::value("channels", &number.to_string(), expected);
    let listed = listed
        .iter()
        .map(|n| Channel::new(*n).map_err(|_| wrong(*n)));
    let problem = match listed.collect::<Result<ChannelSet, _>>() {
        Ok(channels) if !channels.is_empty() => return Ok(channels),
        Ok(_) => Problem::TooFew("channels", 1),
        Err(problem) => problem,
    };
    Err(problem.on_line(source_name, 1))
}

fn read_rows(
    reader: impl BufRead,
    source_name: &str,
    header: &Header,
    listed: ChannelSet,
    nodes: &mut NodeTable,
) -> Result<Vec<Row>, TestbedError> {
    let mut rows = Rows::open(reader, source_name, 1, HEADER)?;
    let datetime = rows.column("datetime")?;
    let (src, dst) = (rows.column("src")?, rows.column("dst")?);
    let (channel, rssi) = (rows.column("channel")?, rows.column("mean_rssi")?);
    let (pdr, tx_count) = (rows.column("pdr")?, rows.column("tx_count")?);
    let mut all = Vec::new();
    while rows.next_row()? {
        let expected = "a time as 2018-01-11T16:32:22.0";
        let at_s = rows.parsed(datetime, "datetime", expected, seconds)?;
        let (from, to) = (rows.node(src, "src")?, rows.node(dst, "dst")?);
        let on = rows.channel(channel)?;
        if !listed.contains(on) {
            return Err(rows.error(Problem::unlisted(on, listed)));
        }
        if from == to {
            return Err(rows.error(Problem::SelfLink(from.get())));
        }
        let mut index = |id| {
            let index = nodes.index(id).map_err(|p| rows.error(p))?;
            if nodes.len() as u64 > u64::from(header.node_count) {
                let more = Problem::HeaderNodes(header.node_count, id.get());
                return Err(rows.error(more));
            }
            Ok(index)
        };
        let (from, to) = (index(from)?, index(to)?);
        let pdr = rows.ratio(pdr, "pdr")?;
        let rssi_dbm = rows.rssi(rssi, "mean_rssi")?;
        if rssi_dbm.is_none() && pdr > 0.0 {
            let expected = "the mean level of what was heard";
            return Err(rows.error(Problem::value("mean_rssi", "", expected)));
        }
        let expected = "the number of frames sent, at least 1";
        let frames = |text: &str| {
            text.parse()
                .ok()
                .filter(|n| (1..=1_000_000_000).contains(n))
        };
        let frames = rows.parsed(tx_count, "tx_count", expected, frames)?;
        all.push(Row {
            at_s,
            src: from,
            dst: to,
            channel: on,
            rssi_dbm: rssi_dbm.map(|dbm| dbm as f32),
            pdr: pdr as f32,
            frames,
        });
    }
    if all.is_empty() {
        return Err(rows.error(Problem::TooFew("rows", 1)));
    }
    Ok(all)
}

/// All rows of a campaign, and when each node was hearing anyone.
struct Campaign {
    /// Longest pause, in seconds, between rows of one round of one sender on one channel.
    cell_s: i64,
    /// Sorted by (src, channel, time, dst).
    rows: Vec<Row>,
    /// Per node, the times at which it heard anyone, ascending.
    heard_s: Vec<Vec<i64>>,
}

/// One sender's turn on one channel.
struct Round {
    at_s: i64,
    frames: u32,
}

impl Campaign {
    fn new(header: &Header, mut rows: Vec<Row>, nodes: usize) -> Self {
        let cell_ms = f64::from(header.tx_length) * header.interframe_duration.unwrap_or(100.0);
        // Rows of one round bear the times of different frames of it, so they lie within a cell.
        let cell_s = ((2.0 * cell_ms / 1000.0) as i64).max(1);
        rows.sort_by_key(|r| (r.src, r.channel, r.at_s, r.dst));
        let mut heard_s = vec![Vec::new(); nodes];
        for row in rows.iter().filter(|r| r.pdr > 0.0) {
            if let Some(times) = heard_s.get_mut(usize::from(row.dst)) {
                times.push(row.at_s);
            }
        }
        for times in &mut heard_s {
            times.sort_unstable();
            times.dedup();
        }
        Self {
            cell_s,
            rows,
            heard_s,
        }
    }

    /// Every link's mean over the campaign.
    fn links(&self, source_name: &str) -> Result<Vec<TraceLink>, TestbedError> {
        let mut links = Vec::new();
        let together = |a: &Row, b: &Row| (a.src, a.channel) == (b.src, b.channel);
        for turns in self.rows.chunk_by(together) {
            let rounds = self.rounds(turns);
            if rounds.len() > MAX_ROUNDS {
                let problem = Problem::TooLarge("rounds", MAX_ROUNDS as u64);
                return Err(problem.at(source_name, crate::error::Place::Whole));
            }
            let mut by_receiver = turns.to_vec();
            by_receiver.sort_by_key(|r| (r.dst, r.at_s));
            for rows in by_receiver.chunk_by(|a, b| a.dst == b.dst) {
                links.extend(self.link(rows, &rounds));
            }
        }
        Ok(links)
    }

    fn rounds(&self, turns: &[Row]) -> Vec<Round> {
        let mut rounds: Vec<Round> = Vec::new();
        let mut last_s = i64::MIN;
        for row in turns {
            match rounds.last_mut() {
                Some(round) if row.at_s.saturating_sub(last_s) <= self.cell_s => {
                    round.frames = round.frames.max(row.frames);
                }
                _ => rounds.push(Round {
                    at_s: row.at_s,
                    frames: row.frames,
                }),
            }
            last_s = row.at_s;
        }
        rounds
    }

    /// One link: frames heard over frames sent, silent rounds included.
    fn link(&self, rows: &[Row], rounds: &[Round]) -> Option<TraceLink> {
        let row = rows.first()?;
        let heard_s = self.heard_s.get(usize::from(row.dst))?;
        // Between two turns of a sender the receiver hears others; if it hears nobody for half
        // that long on either side, it was off.
        let half_s = match rounds {
            [first, .., last] => (last.at_s - first.at_s) / (2 * (rounds.len() as i64 - 1)),
            _ => 0,
        };
        let (mut sent, mut received) = (0.0, 0.0);
        let (mut level, mut level_weight) = (0.0, 0.0);
        for row in rows {
            let frames = f64::from(row.frames);
            sent += frames;
            received += f64::from(row.pdr) * frames;
            if let Some(rssi) = row.rssi_dbm.filter(|_| row.pdr > 0.0) {
                level += f64::from(rssi) * f64::from(row.pdr) * frames;
                level_weight += f64::from(row.pdr) * frames;
            }
        }
        for round in rounds {
            let near = |by_s: i64, of_s: &[i64]| {
                let from = of_s.partition_point(|t| *t < round.at_s - by_s);
                of_s.get(from).is_some_and(|t| *t <= round.at_s + by_s)
            };
            let own = rows.partition_point(|r| r.at_s < round.at_s - self.cell_s);
            let own = rows.get(own);
            let has_row = own.is_some_and(|r| r.at_s <= round.at_s + self.cell_s);
            if !has_row && near(half_s, heard_s) {
                sent += f64::from(round.frames);
            }
        }
        Some(TraceLink {
            from: row.src,
            to: row.dst,
            channel: row.channel,
            prr: received / sent,
            rssi_dbm: (level_weight > 0.0).then(|| level / level_weight),
        })
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
