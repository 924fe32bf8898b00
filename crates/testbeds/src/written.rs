//! Links as the CSV that [`crate::read_matrix`] reads: remarks first, with what was assumed and the nodes' labels.
//! Tests: below.

use std::fmt::Write;

use thalweg_units::ChannelSet;

use crate::error::printable;
use crate::trace::{Trace, TraceLink};

/// `trace` as a link matrix, with `remarks` at its head. Ratios have four digits behind the point, levels one.
pub fn matrix_text(trace: &Trace, remarks: &[String]) -> String {
    let mut text = String::new();
    for remark in remarks {
        // Formatting into a string cannot fail.
        let _ = writeln!(text, "# {}", printable(remark));
    }
    for (id, label) in &trace.labels {
        let _ = writeln!(text, "# node {id}: {}", printable(label));
    }
    text.push_str("src,dst,channel,prr,rssi_dbm\n");
    let together = |a: &TraceLink, b: &TraceLink| (a.from, a.to) == (b.from, b.to);
    for links in trace.links.chunk_by(together) {
        match links {
            [first, ..] if is_everywhere(links, trace.channels) => row(&mut text, trace, first, ""),
            _ => {
                for link in links {
                    row(&mut text, trace, link, &link.channel.to_string());
                }
            }
        }
    }
    text
}

/// Whether links of one pair are the same on all sixteen channels.
fn is_everywhere(links: &[TraceLink], channels: ChannelSet) -> bool {
    let same = |a: &TraceLink, b: &TraceLink| (a.prr, a.rssi_dbm) == (b.prr, b.rssi_dbm);
    let alike = links.windows(2).all(|pair| match pair {
        [a, b] => same(a, b),
        _ => true,
    });
    channels == ChannelSet::ALL && links.len() == channels.len() && alike
}

fn row(text: &mut String, trace: &Trace, link: &TraceLink, channel: &str) {
    let id = |index: u16| trace.nodes.get(usize::from(index)).copied();
    let (Some(from), Some(to)) = (id(link.from), id(link.to)) else {
        return;
    };
    let prr = rounded(link.prr, 4);
    let level = link.rssi_dbm.map_or(String::new(), |dbm| rounded(dbm, 1));
    let _ = writeln!(text, "{from},{to},{channel},{prr},{level}");
}

/// `value` with at most so many digits behind the point.
fn rounded(value: f64, digits: i32) -> String {
    let scale = 10.0_f64.powi(digits);
    ((value * scale).round() / scale).to_string()
}

#[cfg(test)]
mod tests {
    use crate::read_matrix;

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let text = "src,dst,channel,prr,rssi\npier,shed,,0.9,-80\nshed,pier,,0.81239,\nshed,gate,15,0.5,-91.26\n";
        for text in [
            text,
            &text.replace(",15,", ",,"),
            &text.replace(",,", ",20,"),
        ] {
            let trace = read_matrix(text.as_bytes(), "a").unwrap();
            let written = super::matrix_text(&trace, &["a spreadsheet".to_owned()]);
            assert!(
                written.starts_with("# a spreadsheet\n# node 1: pier\n# node 2: shed\n"),
                "{written}"
            );
            let again = read_matrix(written.as_bytes(), "b").unwrap();
            assert_eq!((&again.nodes, &again.labels), (&trace.nodes, &trace.labels));
            assert_eq!(
                (again.channels, again.links.len()),
                (trace.channels, trace.links.len())
            );
            assert_eq!(
                super::matrix_text(&again, &[]),
                super::matrix_text(&trace, &[])
            );
        }
        assert_eq!(super::rounded(0.81239, 4), "0.8124");
        assert_eq!(super::rounded(-80.0, 1), "-80");
    }
}
