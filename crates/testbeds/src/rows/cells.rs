//! The cells of a row, checked: numbers, nodes, channels, ratios, levels.

use std::io::BufRead;

use super::{Rows, RSSI_DBM};
use crate::error::Problem;
use crate::names::{whole, NODE};
use thalweg_units::{Channel, ChannelSet};

impl<'a, R: BufRead> Rows<'a, R> {
    /// What `parse` makes of a column; else a fault that names what was `expected`.
    pub(crate) fn parsed<T>(
        &mut self,
        column: usize,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let problem = match self.field(column) {
            Ok(text) => match parse(text) {
                Some(value) => return Some(value),
                None => Problem::value(self.heading(column), text, expected),
            },
            Err(problem) => problem,
        };
        self.fault_at(column, problem);
        None
    }

    /// A number; a comma that does not part columns, or is in quotes, may stand for the decimal point.
    pub(crate) fn number(
        &mut self,
        column: usize,
        expected: &str,
        range: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        self.parsed(column, expected, |text| {
            let number = text.replacen(',', ".", 1).parse().ok();
            number.filter(|n: &f64| n.is_finite() && range(*n))
        })
    }

    /// A number of frames.
    pub(crate) fn frames(&mut self, column: usize) -> Option<u32> {
        self.parsed(column, "a number of frames, at most 1000000000", |text| {
            let number = whole(text).and_then(|n| u32::try_from(n).ok());
            number.filter(|n| *n <= 1_000_000_000)
        })
    }

    /// The index of the node that a column names.
    pub(crate) fn node(&mut self, column: usize) -> Option<u16> {
        let range = self.fields.get(column).cloned().unwrap_or_default();
        let bytes = self.text.get(range).unwrap_or_default();
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.fault_at(column, Problem::NotText(self.expected));
            return None;
        };
        let (text, place) = (text.trim(), self.cell(column));
        let heading = self.header.get(column).map_or("", String::as_str);
        let problem = || Problem::value(heading, text, NODE);
        match self.names.doubted(text, || place.clone(), problem) {
            Ok(index) => Some(index),
            Err(problem) => {
                self.faults.push((place, problem));
                None
            }
        }
    }

    /// What the table calls a node.
    pub(crate) fn text_of(&self, node: u16) -> &str {
        self.names.text(node)
    }

    /// How many nodes rows have named.
    pub(crate) fn nodes(&self) -> usize {
        self.names.len()
    }

    /// Channels as `26` or `[11;12]`; none where the column is empty, which stands for all of them.
    pub(crate) fn channels(&mut self, column: usize) -> Option<Option<ChannelSet>> {
        if self.is_empty(column) {
            return Some(None);
        }
        let expected = "a channel of the 2.4 GHz band, 11..26";
        self.parsed(column, expected, |text| {
            let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let list = inner.unwrap_or(text).split([';', ' ', ',']);
            let channels = list.map(|one| {
                let number = u8::try_from(whole(one)?).ok()?;
                Channel::new(number).ok()
            });
            channels.collect::<Option<ChannelSet>>().map(Some)
        })
    }

    /// A reception ratio as it stands there; [`Rows::finish`] returns its factor.
    pub(crate) fn ratio(&mut self, column: usize) -> Option<f64> {
        let text = self.field(column).unwrap_or_default();
        if let Some(share) = text.strip_suffix('%') {
            let share = share.trim().replacen(',', ".", 1).parse().ok();
            let percent = |_: &str| share.filter(|p| (0.0..=100.0).contains(p));
            let share = self.parsed(column, "0 to 100 %", percent)?;
            return Some(self.ratios.percent(share));
        }
        let expected = "a ratio from 0 to 1";
        let value = self.number(column, expected, |r| (0.0..=100.0).contains(&r))?;
        if value > 1.0 {
            let text = self.field(column).unwrap_or_default();
            let problem = Problem::value(self.heading(column), text, expected);
            self.ratios.doubt(self.cell(column), problem);
        }
        self.ratios.note(value);
        Some(value)
    }

    /// A mean RSSI, with its unit or without; an empty field is one that was not measured.
    pub(crate) fn rssi(&mut self, column: usize) -> Option<Option<f64>> {
        if self.is_empty(column) {
            return Some(None);
        }
        self.parsed(column, "a level from -120 to 20 dBm", |text| {
            let unit = text.len().saturating_sub(3);
            let number = match (text.get(..unit), text.get(unit..)) {
                (Some(level), Some(dbm)) if dbm.eq_ignore_ascii_case("dbm") => level.trim_end(),
                _ => text,
            };
            let level = number.replacen(',', ".", 1).parse().ok();
            level.filter(|dbm| RSSI_DBM.contains(dbm))
        })
        .map(Some)
    }
}
