//! A link matrix: a table `src,dst,channel,prr[,rssi_dbm]`, one row per directed link and
//! channel; columns in any order, others ignored. A pair without a row has no link.
//! Tests: `matrix_tests.rs` and `hostile_tests.rs`.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use thalweg_units::{Channel, ChannelSet, NodeId};

use crate::assumed::Assumed;
use crate::columns;
use crate::error::{Problem, TestbedError};
use crate::rows::Rows;
use crate::text::{reading, unpacked};
use crate::trace::{NodeTable, Trace, TraceLink, Visits};

/// The header that errors name.
const HEADER: &str = "src,dst,channel,prr[,rssi_dbm]";

/// One row; without channels it holds on all.
struct Row {
    from: NodeId,
    to: NodeId,
    channels: Option<ChannelSet>,
    prr: f64,
    rssi_dbm: Option<f64>,
}

/// Reads a link matrix, compressed or not; `source_name` is the file's name in errors.
///
/// # Errors
/// [`TestbedError`] with the lines of the rows that are not as they should be.
pub fn read_matrix(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    let failed = |e| reading(e).on_line(source_name, 1);
    let mut reader = unpacked(reader).map_err(failed)?;
    if reader.fill_buf().map_err(failed)?.is_empty() {
        return Err(Problem::Empty(HEADER).on_line(source_name, 1));
    }
    let mut rows = Rows::open(reader, source_name, 0, HEADER)?;
    let mut matrix = Matrix::default();
    matrix.read(&mut rows);
    let ratios = rows.finish()?;
    let percent = ratios.are_percent().then_some(Assumed::Percent);
    let open = matrix
        .rows
        .iter()
        .filter(|row| row.channels.is_none())
        .count() as u64;
    let open = (open > 0).then_some(Assumed::AllChannels(open));
    let (nodes, links) = matrix.links(ratios.factor(), source_name)?;
    let mut trace = Trace {
        nodes: nodes.into_ids(),
        channels: matrix.channels(),
        links,
        visits: Visits::default(),
        name: None,
        assumed: percent.into_iter().chain(open).collect(),
    };
    trace.settle(source_name)?;
    Ok(trace)
}

/// All rows.
#[derive(Default)]
struct Matrix {
    rows: Vec<Row>,
    /// The links that rows give, each on a channel or on all.
    given: BTreeSet<(NodeId, NodeId, Option<Channel>)>,
}

impl Matrix {
    fn read<R: BufRead>(&mut self, rows: &mut Rows<'_, R>) {
        let (src, dst) = (rows.column(&columns::SRC), rows.column(&columns::DST));
        let (channel, prr) = (rows.column(&columns::CHANNEL), rows.ratio_column());
        let rssi = rows.find(&columns::RSSI);
        while rows.next_row() {
            let from = rows.node(src);
            let to = rows.node(dst);
            let channels = rows.channels(channel);
            let prr = rows.ratio(prr);
            let rssi_dbm = rssi.map_or(Some(None), |column| rows.rssi(column));
            let (Some(from), Some(to), Some(channels)) = (from, to, channels) else {
                continue;
            };
            if from == to {
                rows.fault(Problem::SelfLink(from.get()));
                continue;
            }
            let mut each: Vec<_> = channels.iter().flat_map(|c| c.iter()).map(Some).collect();
            if each.is_empty() {
                each.push(None);
            }
            let mut each = each.into_iter();
            if let Some(twice) = each.find(|on| !self.given.insert((from, to, *on))) {
                let twice = twice.map(|on| on.number());
                rows.fault(Problem::DuplicateLink(from.get(), to.get(), twice));
                continue;
            }
            if let (Some(prr), Some(rssi_dbm)) = (prr, rssi_dbm) {
                self.rows.push(Row {
                    from,
                    to,
                    channels,
                    prr,
                    rssi_dbm,
                });
            }
        }
    }

    /// The channels that rows name; all where none does.
    fn channels(&self) -> ChannelSet {
        let named = self.rows.iter().filter_map(|row| row.channels);
        let named: ChannelSet = named
            .flat_map(|set| set.iter().collect::<Vec<_>>())
            .collect();
        match named.is_empty() && !self.rows.is_empty() {
            true => ChannelSet::ALL,
            false => named,
        }
    }

    /// The nodes, and the links on each channel, ratios multiplied by `factor`. A row for all channels gives way to one
    /// for a channel.
    fn links(
        &self,
        factor: f64,
        source_name: &str,
    ) -> Result<(NodeTable, Vec<TraceLink>), TestbedError> {
        let channels = self.channels();
        let mut nodes = NodeTable::default();
        let mut links = Vec::new();
        let whole = |p: Problem| p.at(source_name, crate::error::Location::Whole);
        for row in &self.rows {
            let (from, to) = (nodes.index(row.from), nodes.index(row.to));
            let (from, to) = (from.map_err(whole)?, to.map_err(whole)?);
            let free = |c: &_| {
                row.channels.is_some() || !self.given.contains(&(row.from, row.to, Some(*c)))
            };
            for channel in row.channels.unwrap_or(channels).iter().filter(free) {
                links.push(TraceLink {
                    from,
                    to,
                    channel,
                    prr: row.prr * factor,
                    rssi_dbm: row.rssi_dbm,
                });
            }
        }
        Ok((nodes, links))
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
