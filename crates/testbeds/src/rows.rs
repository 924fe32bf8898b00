//! Reading rows of untrusted text: bounds on bytes, line length and rows, columns by name, and the
//! checks that every kind of link file shares. Nothing here knows what a K7 trace or a link matrix is.
//! Invariant: what is wrong with a row is noted, and reading goes on until [`MAX_PROBLEMS`] are known.
//! Tests: `matrix.rs`, `k7_tests.rs` and `hostile_tests.rs`.

use std::io::BufRead;
use std::ops::Range;

use thalweg_units::{Channel, ChannelSet, NodeId};

use crate::columns::{self, Column};
use crate::error::{Location, Problem, TestbedError, MAX_PROBLEMS};
use crate::ratios::Ratios;
use crate::text::reading;

/// Most nodes of a testbed.
pub const MAX_NODES: usize = 10_000;
/// Most rows of a link file.
pub const MAX_ROWS: u64 = 20_000_000;
/// Mean RSSIs taken for real, dBm.
const RSSI_DBM: std::ops::RangeInclusive<f64> = -120.0..=20.0;

/// The rows of a table whose first line, blank lines and lines that begin with `#` aside, names the columns.
/// They are parted by commas, semicolons or tabs, whichever the header has most of.
pub(crate) struct Rows<'a, R> {
    reader: R,
    source_name: &'a str,
    /// The current line, without its end, and its number.
    text: Vec<u8>,
    line: u64,
    header_line: u64,
    delimiter: u8,
    fields: Vec<Range<usize>>,
    header: Vec<String>,
    /// The columns that the header has not.
    missing: Vec<&'static str>,
    rows: u64,
    /// The header that errors name.
    expected: &'static str,
    ratios: Ratios,
    faults: Vec<(Location, Problem)>,
}

impl<'a, R: BufRead> Rows<'a, R> {
    /// Reads the header line. `lines_before` lines were taken from `reader` already; `expected` is
    /// the header to name in errors.
    pub(crate) fn open(
        reader: R,
        source_name: &'a str,
        lines_before: u64,
        expected: &'static str,
    ) -> Result<Self, TestbedError> {
        let mut rows = Self {
            reader,
            source_name,
            text: Vec::new(),
            line: lines_before,
            header_line: 0,
            delimiter: b',',
            fields: Vec::new(),
            header: Vec::new(),
            missing: Vec::new(),
            rows: 0,
            expected,
            ratios: Ratios::default(),
            faults: Vec::new(),
        };
        if !rows.advance().map_err(|p| rows.on_line(p))? {
            return Err(Problem::Empty(expected).on_line(source_name, lines_before + 1));
        }
        rows.header_line = rows.line;
        if rows.text.starts_with(b"\xef\xbb\xbf") {
            rows.text.drain(..3);
        }
        let count = |d: &u8| rows.text.iter().filter(|b| *b == d).count();
        // Of equal ones the last is taken: the comma, which may stand for a decimal point in other tables.
        let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count);
        rows.delimiter = delimiter.unwrap_or(b',');
        rows.split();
        for index in 0..rows.fields.len() {
            let name = rows.field(index).map_err(|p| rows.on_line(p))?;
            rows.header.push(name.to_ascii_lowercase());
        }
        Ok(rows)
    }

    fn on_line(&self, problem: Problem) -> TestbedError {
        problem.on_line(self.source_name, self.line.max(1))
    }

    /// Where `column` is, under any of its names, if the header has it.
    pub(crate) fn find(&self, column: &Column) -> Option<usize> {
        let is = |name: &&str| self.header.iter().position(|h| columns::plain(h) == **name);
        column.names().iter().find_map(is)
    }
    /// Where `column` is; a fault where the header has it not.
    pub(crate) fn column(&mut self, column: &Column) -> usize {
        self.find(column).unwrap_or_else(|| {
            self.missing.push(column.name);
            0
        })
    }
    /// Where the column of reception ratios is; its heading may say that they are percent.
    pub(crate) fn ratio_column(&mut self) -> usize {
        let index = self.column(&columns::PRR);
        let heading = self.header.get(index);
        self.ratios
            .headed(heading.is_some_and(|h| columns::says_percent(h)));
        index
    }

    /// Goes to the next row; `false` after the last, or where there is no use in going on.
    pub(crate) fn next_row(&mut self) -> bool {
        while self.faults.len() < MAX_PROBLEMS {
            // Without its columns no row can be read.
            if !self.missing.is_empty() {
                let missing = std::mem::take(&mut self.missing);
                let missing = Problem::MissingColumns(missing, self.expected);
                self.faults
                    .push((Location::Line(self.header_line), missing));
                return false;
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return false,
                Err(problem) => {
                    self.faults.push((Location::Line(self.line), problem));
                    return false;
                }
            }
            self.rows += 1;
            if self.rows > MAX_ROWS {
                self.fault(Problem::TooLarge("rows", MAX_ROWS));
                return false;
            }
            self.split();
            let (found, columns) = (self.fields.len(), self.header.len());
            let beyond = self.fields.get(columns..).unwrap_or_default();
            // A decimal comma in a table of commas would shift all that follows.
            if found < columns || beyond.iter().any(|field| !field.is_empty()) {
                self.fault(Problem::Columns(found, columns));
                continue;
            }
            return true;
        }
        false
    }
    /// Whether there was any row.
    pub(crate) fn are_none(&self) -> bool {
        self.rows == 0
    }
    /// What is wrong with the table, if anything is, and by what its ratios are to be multiplied.
    pub(crate) fn finish(mut self) -> Result<Ratios, TestbedError> {
        if self.faults.len() < MAX_PROBLEMS {
            let more = self.ratios.faults();
            let room = MAX_PROBLEMS - self.faults.len();
            self.faults.extend(more.into_iter().take(room));
        }
        let line = |place: &Location| match place {
            Location::Line(line) | Location::Cell { line, .. } => *line,
            Location::Whole | Location::Key(_) => 0,
        };
        self.faults.sort_by_key(|(place, _)| line(place));
        self.faults.truncate(MAX_PROBLEMS);
        let mut faults = self.faults.into_iter();
        let Some((place, problem)) = faults.next() else {
            return Ok(self.ratios);
        };
        let mut error = problem.at(self.source_name, place);
        error.others = faults.collect();
        Err(error)
    }

    /// Reads the next line that is neither blank nor a remark.
    fn advance(&mut self) -> Result<bool, Problem> {
        loop {
            self.text.clear();
            let read = self.reader.read_until(b'\n', &mut self.text);
            self.line += 1;
            if read.map_err(reading)? == 0 {
                return Ok(false);
            }
            // Not tabs: the last columns may be empty.
            let is_end = |b: &u8| matches!(b, b'\r' | b'\n' | b' ');
            let end = self.text.iter().rposition(|b| !is_end(b));
            self.text.truncate(end.map_or(0, |last| last + 1));
            if !matches!(self.text.trim_ascii_start(), [] | [b'#', ..]) {
                return Ok(true);
            }
        }
    }
    /// Fields are numbers and times: without quoting, a stray quote cannot swallow the file.
    fn split(&mut self) {
        self.fields.clear();
        let mut from = 0;
        let ends = (self.text.iter().enumerate()).filter(|(_, b)| **b == self.delimiter);
        for end in ends.map(|(at, _)| at).chain([self.text.len()]) {
            self.fields.push(from..end);
            from = end + 1;
        }
    }

    /// Notes that the current row is wrong.
    pub(crate) fn fault(&mut self, problem: Problem) {
        self.faults.push((Location::Line(self.line), problem));
    }
    fn fault_at(&mut self, column: usize, problem: Problem) {
        self.faults.push((self.cell(column), problem));
    }
    const fn cell(&self, column: usize) -> Location {
        Location::Cell {
            line: self.line,
            column: column + 1,
        }
    }

    /// The text of a column, without blanks and quotes around it.
    fn field(&self, column: usize) -> Result<&str, Problem> {
        let range = self.fields.get(column).cloned().unwrap_or_default();
        let bytes = self.text.get(range).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::NotText(self.expected))?;
        Ok(text.trim().trim_matches('"').trim())
    }
    fn heading(&self, column: usize) -> &str {
        self.header.get(column).map_or("", String::as_str)
    }
    /// Whether a column has nothing in it.
    pub(crate) fn is_empty(&self, column: usize) -> bool {
        self.field(column).is_ok_and(columns::is_nothing)
    }
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
    /// A number; where commas do not part columns, one may stand for the decimal point.
    fn number(
        &mut self,
        column: usize,
        expected: &str,
        range: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let comma = self.delimiter != b',';
        self.parsed(column, expected, |text| {
            let number = match comma {
                true => text.replacen(',', ".", 1).parse(),
                false => text.parse(),
            };
            number.ok().filter(|n: &f64| n.is_finite() && range(*n))
        })
    }

    pub(crate) fn node(&mut self, column: usize) -> Option<NodeId> {
        let id = |text: &str| NodeId::new(text.parse().ok()?).ok();
        self.parsed(column, "a node's number, 0..65533", id)
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
            let channels = list.map(|one| one.parse::<Channel>().ok());
            channels.collect::<Option<ChannelSet>>().map(Some)
        })
    }
    /// A reception ratio as it stands there; [`Rows::finish`] returns its factor.
    pub(crate) fn ratio(&mut self, column: usize) -> Option<f64> {
        let text = self.field(column).unwrap_or_default();
        if let Some(share) = text.strip_suffix('%') {
            let share = share.trim().parse().ok();
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
    /// A mean RSSI; an empty field is one that was not measured.
    pub(crate) fn rssi(&mut self, column: usize) -> Option<Option<f64>> {
        if self.is_empty(column) {
            return Some(None);
        }
        let is_level = |dbm: f64| RSSI_DBM.contains(&dbm);
        self.number(column, "a level from -120 to 20 dBm", is_level)
            .map(Some)
    }
}
