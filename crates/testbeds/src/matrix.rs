//! A link matrix: a CSV file `src,dst,channel,prr[,rssi_dbm]`, one row per directed link and
//! channel; columns in any order, others ignored. A pair without a row has no link.
//! Tests: below and `hostile_tests.rs`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

use thalweg_units::ChannelSet;

use crate::error::{Problem, TestbedError};
use crate::rows::{Bounded, Rows};
use crate::trace::{NodeTable, Trace, TraceLink};

/// The header that errors name.
const HEADER: &str = "src,dst,channel,prr[,rssi_dbm]";

/// Reads a link matrix; `source_name` is the file's name in errors.
///
/// # Errors
/// [`TestbedError`] with the line of the first row that is not as it should be.
pub fn read_matrix(reader: impl Read, source_name: &str) -> Result<Trace, TestbedError> {
    let mut reader = BufReader::new(Bounded::new(reader));
    let first = reader
        .fill_buf()
        .map_err(|e| crate::rows::reading(e).on_line(source_name, 1))?;
    if first.is_empty() {
        return Err(Problem::Empty(HEADER).on_line(source_name, 1));
    }
    let mut rows = Rows::open(reader, source_name, 0, HEADER)?;
    let (src, dst) = (rows.column("src")?, rows.column("dst")?);
    let (channel, prr) = (rows.column("channel")?, rows.column("prr")?);
    let rssi = rows.find("rssi_dbm");

    let mut nodes = NodeTable::default();
    let mut channels = ChannelSet::EMPTY;
    let mut links = Vec::new();
    let mut seen = BTreeSet::new();
    while rows.next_row()? {
        let (from, to) = (rows.node(src, "src")?, rows.node(dst, "dst")?);
        let on = rows.channel(channel)?;
        let prr = rows.ratio(prr, "prr")?;
        let rssi_dbm = rssi.map_or(Ok(None), |column| rows.rssi(column, "rssi_dbm"))?;
        if from == to {
            return Err(rows.error(Problem::SelfLink(from.get())));
        }
        if !seen.insert((from, to, on)) {
            return Err(rows.error(Problem::DuplicateLink {
                src: from.get(),
                dst: to.get(),
                channel: on.number(),
            }));
        }
        let from = nodes.index(from).map_err(|p| rows.error(p))?;
        let to = nodes.index(to).map_err(|p| rows.error(p))?;
        channels = channels.with(on);
        links.push(TraceLink {
            from,
            to,
            channel: on,
            prr,
            rssi_dbm,
        });
    }
    let mut trace = Trace {
        nodes: nodes.into_ids(),
        channels,
        links,
        name: None,
    };
    trace.settle(source_name)?;
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace, String> {
        read_matrix(text.as_bytes(), "m.csv").map_err(|e| e.to_string())
    }

    #[test]
    fn ids_are_sorted_and_columns_come_in_any_order() {
        let trace = read("prr,channel,dst,src\r\n0.5,26,3,40\r\n1,11,40,3\r\n\r\n").unwrap();
        assert_eq!(
            trace.nodes.iter().map(|n| n.get()).collect::<Vec<_>>(),
            [3, 40]
        );
        assert_eq!(trace.channels.len(), 2);
        let link = &trace.links[1];
        assert_eq!(
            (link.from, link.to, link.prr, link.rssi_dbm),
            (1, 0, 0.5, None)
        );
    }

    #[test]
    fn every_error_names_the_line_and_what_was_expected() {
        for (text, expected) in [
            ("", "m.csv, line 1: the file is empty"),
            ("\n\n", "m.csv, line 1: the file is empty"),
            (
                "src,dst,prr\n",
                "m.csv, line 1: the CSV header lacks the column `channel`",
            ),
            ("a;b\n", "lacks the column `src`"),
            ("src,dst,channel,prr\n", "m.csv: no links"),
            (
                "src,dst,channel,prr\n1,2,26\n",
                "line 2: the row has 3 columns, the header 4",
            ),
            (
                "src,dst,channel,prr\n1,2,27,1\n",
                "line 2: channel is `27`; expected",
            ),
            (
                "src,dst,channel,prr\n1,2,26,1.5\n",
                "line 2: prr is `1.5`; expected a ratio",
            ),
            ("src,dst,channel,prr\n1,2,26,NaN\n", "line 2: prr is `NaN`"),
            ("src,dst,channel,prr\n1,2,26,-0.1\n", "prr is `-0.1`"),
            (
                "src,dst,channel,prr\n1,70000,26,1\n",
                "dst is `70000`; expected a node's number",
            ),
            ("src,dst,channel,prr\n1,65535,26,1\n", "dst is `65535`"),
            (
                "src,dst,channel,prr\n1,1,26,1\n",
                "line 2: node 1 has a link to itself",
            ),
            (
                "src,dst,channel,prr\n1,2,26,1\n1,2,26,0.5\n",
                "line 3: the link 1 -> 2 on channel 26 is given twice",
            ),
            (
                "src,dst,channel,prr,rssi_dbm\n1,2,26,1,-300\n",
                "rssi_dbm is `-300`; expected",
            ),
            (
                "src,dst,channel,prr,rssi_dbm\n1,2,26,1,inf\n",
                "rssi_dbm is `inf`",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
        let error = read_matrix(&b"src,dst,channel,prr\n1,\xff,26,1\n"[..], "m.csv").unwrap_err();
        assert!(error.to_string().contains("line 2: not UTF-8"), "{error}");
    }

    #[test]
    fn an_endless_line_is_refused() {
        let error = read(&"1".repeat(1 << 17)).unwrap_err();
        assert!(
            error.contains("more than 65536 bytes in one line"),
            "{error}"
        );
    }
}
