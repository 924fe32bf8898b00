//! Cooja's simulations (`.csc`) whose radio medium is a directed graph (DGRM): an edge for each direction, with its
//! ratio, level and channel (-1 for all). Other media draw their links from places and have none to read. Tests: `tests.rs`.

use roxmltree::Node;
use thalweg_units::{Channel, ChannelSet};

use super::xml::xml;
use super::Found;
use crate::draft::Measure;
use crate::error::{Location, Problem, TestbedError};

/// What Cooja writes where no level was set.
const STRONG_DBM: f64 = -10.0;

pub(super) fn read(text: &str, source_name: &str) -> Result<Found, TestbedError> {
    let document = xml(text).map_err(|p| p.at(source_name, Location::Whole))?;
    let mut found = Found::new();
    let mut edges = 0;
    for edge in document.descendants().filter(|n| n.has_tag_name("edge")) {
        add(&mut found, edge).map_err(|problem| {
            // Found by counting lines from the first one.
            let line = document.text_pos_at(edge.range().start).row;
            problem.on_line(source_name, line.into())
        })?;
        edges += 1;
    }
    if edges == 0 {
        let medium = document
            .descendants()
            .find(|n| n.has_tag_name("radiomedium"));
        let medium = medium.and_then(|n| n.text()).unwrap_or("none").trim();
        let medium = crate::error::printable(medium.rsplit('.').next().unwrap_or(medium));
        let what = format!(
            "a Cooja simulation whose radio medium ({medium}) has no edges; expected DirectedGraphMedium (DGRM), which says how good links are"
        );
        return Err(Problem::Foreign(what).at(source_name, Location::Whole));
    }
    Ok(found)
}

fn add(found: &mut Found, edge: Node<'_, '_>) -> Result<(), Problem> {
    let text = |of: Node<'_, '_>, name: &str| {
        let child = of.descendants().find(|n| n.has_tag_name(name));
        child
            .and_then(|n| n.text())
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let number = |name: &str, missing: f64, range: std::ops::RangeInclusive<f64>| {
        let text = text(edge, name);
        if text.is_empty() {
            return Ok(missing);
        }
        let expected = format!("{} to {}", range.start(), range.end());
        let number = text.parse::<f64>().ok().filter(|n| range.contains(n));
        number.ok_or_else(|| Problem::value(name, &text, expected))
    };
    let ratio = number("ratio", 1.0, 0.0..=1.0)?;
    let signal = number("signal", STRONG_DBM, -1000.0..=1000.0)?;
    let channel = number("channel", -1.0, -1.0..=26.0)?;
    let channels: Option<ChannelSet> = match channel < 0.0 {
        true => None,
        false => {
            let known = Channel::new(channel as u8).ok();
            let expected = "-1 or a channel of the 2.4 GHz band, 11..26";
            let known =
                known.ok_or_else(|| Problem::value("channel", &channel.to_string(), expected));
            Some([known?].into_iter().collect())
        }
    };
    // A level that was not set says nothing.
    let is_level = signal != STRONG_DBM && (-120.0..=20.0).contains(&signal);
    let measure = Measure {
        ratio: Some(ratio),
        rssi_dbm: is_level.then_some(signal),
        weight: 1.0,
    };
    let (from, to) = (text(edge, "source"), text(edge, "radio"));
    let (from, to) = (found.names.index(&from)?, found.names.index(&to)?);
    let _ = found.draft.add((from, to), channels, measure);
    Ok(())
}
