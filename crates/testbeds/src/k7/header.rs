//! The first line of a K7 trace. Tests: `k7_tests.rs`.

use std::io::BufRead;

use serde_json::{Map, Value};
use thalweg_units::{Channel, ChannelSet};

use crate::bounds::MAX_NODES;
use crate::columns::is_nothing;
use crate::error::{Problem, TestbedError};
use crate::text::reading;

/// What a K7 file starts with.
pub(super) const JSON_HEADER: &str =
    "a JSON line with `node_count` and `channels`, as {\"node_count\": 50, ...}";
/// Between two frames of a sender where the file does not say, milliseconds.
pub(super) const SPACING_MS: f64 = 100.0;

/// Whether a trace has its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum FirstLine {
    /// A program that keeps tables left it out.
    #[default]
    Lost,
    /// It was read.
    Read,
}

/// Its values; all may be missing.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(super) line: FirstLine,
    /// How many nodes there are.
    pub(super) nodes: Option<u16>,
    /// Frames that a sender sends per channel and round, for rows without a count.
    pub(super) frames: Option<u32>,
    pub(super) channels: Option<ChannelSet>,
    /// Milliseconds between two frames.
    pub(super) spacing_ms: Option<f64>,
    pub(super) location: Option<String>,
}

impl Header {
    /// Takes the first line from `reader`.
    pub(super) fn read(reader: &mut impl BufRead, source_name: &str) -> Result<Self, TestbedError> {
        let mut line = Vec::new();
        let wrong = |problem: Problem| problem.on_line(source_name, 1);
        (reader.read_until(b'\n', &mut line)).map_err(|e| wrong(reading(e)))?;
        let text = std::str::from_utf8(&line).map_err(|_| wrong(Problem::NotText(JSON_HEADER)))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Err(wrong(Problem::Empty(JSON_HEADER)));
        }
        let keys: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| wrong(Problem::Json(e.to_string())))?;
        Self::of(&keys).map_err(wrong)
    }

    fn of(keys: &Map<String, Value>) -> Result<Self, Problem> {
        let most = MAX_NODES as f64;
        let nodes = number(keys, &["node_count"], "2 to 10000 nodes", 2.0..=most)?;
        let expected = "the number of frames per cell, at least 1";
        let frames = number(keys, &["tx_length"], expected, 1.0..=1e9)?;
        let expected = "milliseconds, at least 0";
        let spacing_ms = number(
            keys,
            &["interframe_duration", "tx_ifdur"],
            expected,
            0.0..=1e9,
        )?;
        let location = value(keys, "location").and_then(Value::as_str);
        Ok(Self {
            line: FirstLine::Read,
            nodes: nodes.map(|n| n as u16),
            frames: frames.map(|n| n as u32),
            channels: channels(keys)?,
            spacing_ms,
            location: location.map(str::to_owned),
        })
    }
}

/// The header's value of `key`; `"null"` is none.
fn value<'a>(keys: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    keys.get(key).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !is_nothing(text.trim()),
        _ => true,
    })
}

/// A number within `range`, under the first of its names that is there.
fn number(
    keys: &Map<String, Value>,
    names: &[&'static str],
    expected: &str,
    range: std::ops::RangeInclusive<f64>,
) -> Result<Option<f64>, Problem> {
    let found = names
        .iter()
        .find_map(|name| Some((name, value(keys, name)?)));
    let Some((name, value)) = found else {
        return Ok(None);
    };
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    match number.filter(|n| range.contains(n)) {
        Some(number) => Ok(Some(number)),
        None => Err(Problem::value(name, &value.to_string(), expected)),
    }
}

fn channels(keys: &Map<String, Value>) -> Result<Option<ChannelSet>, Problem> {
    let Some(listed) = value(keys, "channels") else {
        return Ok(None);
    };
    let expected = "channels of the 2.4 GHz band, 11..26";
    let wrong = |value: &Value| Problem::value("channels", &value.to_string(), expected);
    let channel = |value: &Value| {
        let number = value.as_u64().and_then(|n| u8::try_from(n).ok());
        let channel = number.and_then(|n| Channel::new(n).ok());
        channel.ok_or_else(|| wrong(value))
    };
    let listed = listed.as_array().ok_or_else(|| wrong(listed))?;
    let channels: ChannelSet = listed.iter().map(channel).collect::<Result<_, _>>()?;
    match channels.is_empty() {
        true => Err(Problem::TooFew("channels", 1)),
        false => Ok(Some(channels)),
    }
}
