//! Reading rows of untrusted text: bounds on bytes, line length and rows, columns by name, and the
//! checks that every kind of link file shares. Nothing here knows what a K7 trace or a link matrix is.
//! Tests: `matrix.rs`, `k7_tests.rs` and `hostile_tests.rs`.

use std::io::{self, BufRead, Read};

use thalweg_units::{Channel, NodeId};

use crate::error::{Problem, TestbedError};

/// Most nodes of a testbed.
pub const MAX_NODES: usize = 10_000;
/// Most rows of a link file.
pub const MAX_ROWS: u64 = 20_000_000;
/// Most bytes of a link file, after decompression.
pub(crate) const MAX_BYTES: u64 = 2 << 30;
/// Most bytes of one line.
pub(crate) const MAX_LINE: u64 = 1 << 16;

/// A reader that fails instead of passing on an endless line or an endless file. Its [`Problem`]
/// travels inside an `io::Error`.
pub(crate) struct Bounded<R> {
    inner: R,
    total: u64,
    line: u64,
}
impl<R: Read> Bounded<R> {
    pub(crate) fn new(inner: R) -> Self {
        let (total, line) = (0, 0);
        Self { inner, total, line }
    }
}
impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.total += n as u64;
        for byte in into.iter().take(n) {
            self.line = if *byte == b'\n' { 0 } else { self.line + 1 };
            if self.line > MAX_LINE {
                let hit = Problem::TooLarge("bytes in one line", MAX_LINE);
                return Err(io::Error::other(hit));
            }
        }
        if self.total > MAX_BYTES {
            return Err(io::Error::other(Problem::TooLarge(
                "bytes of text",
                MAX_BYTES,
            )));
        }
        Ok(n)
    }
}

/// What an error while reading rows means to the user.
pub(crate) fn reading(error: io::Error) -> Problem {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    error.downcast().unwrap_or_else(|error| match error.kind() {
        UnexpectedEof | InvalidInput | InvalidData => Problem::Gzip(error),
        _ => Problem::Io(error),
    })
}

/// The rows of a CSV text whose first line names the columns.
pub(crate) struct Rows<'a, R> {
    reader: csv::Reader<R>,
    record: csv::ByteRecord,
    source_name: &'a str,
    lines_before: u64,
    columns: usize,
    rows: u64,
    header: Vec<String>,
    header_line: u64,
    expected: &'static str,
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
        // Fields are numbers and times: without quoting, a stray quote cannot swallow the file.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .from_reader(reader);
        let mut rows = Self {
            reader,
            record: csv::ByteRecord::new(),
            source_name,
            lines_before,
            columns: 0,
            rows: 0,
            header: Vec::new(),
            header_line: lines_before + 1,
            expected,
        };
        if !rows.advance()? {
            return Err(Problem::Empty(expected).on_line(source_name, lines_before + 1));
        }
        rows.header_line = rows.line();
        rows.columns = rows.record.len();
        rows.rows = 0;
        for index in 0..rows.columns {
            let name = rows.text(index)?.trim_start_matches('\u{feff}').trim();
            let name = name.trim_matches('"').to_ascii_lowercase();
            rows.header.push(name);
        }
        Ok(rows)
    }

    /// Where the column `name` is, if the header has it.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|h| h == name)
    }
    /// Where the column `name` is.
    pub(crate) fn column(&self, name: &'static str) -> Result<usize, TestbedError> {
        self.find(name).ok_or_else(|| {
            let missing = Problem::MissingColumn(name, self.expected);
            missing.on_line(self.source_name, self.header_line)
        })
    }

    /// Goes to the next row; `false` after the last.
    pub(crate) fn next_row(&mut self) -> Result<bool, TestbedError> {
        if !self.advance()? {
            return Ok(false);
        }
        self.rows += 1;
        if self.rows > MAX_ROWS {
            return Err(self.error(Problem::TooLarge("rows", MAX_ROWS)));
        }
        let found = self.record.len();
        if found < self.columns {
            return Err(self.error(Problem::ShortRow(found, self.columns)));
        }
        Ok(true)
    }
    fn advance(&mut self) -> Result<bool, TestbedError> {
        self.reader.read_byte_record(&mut self.record).map_err(|e| {
            let line = self.lines_before + self.reader.position().line();
            let problem = match e.into_kind() {
                csv::ErrorKind::Io(e) => reading(e),
                other => Problem::Io(io::Error::other(format!("{other:?}"))),
            };
            problem.on_line(self.source_name, line)
        })
    }

    /// The current row's line in the file.
    pub(crate) fn line(&self) -> u64 {
        self.lines_before + self.record.position().map_or(1, csv::Position::line)
    }
    /// `problem` on the current line.
    pub(crate) fn error(&self, problem: Problem) -> TestbedError {
        problem.on_line(self.source_name, self.line())
    }

    /// The text of a column, without blanks and quotes around it.
    pub(crate) fn text(&self, column: usize) -> Result<&str, TestbedError> {
        let bytes = self.record.get(column).unwrap_or_default();
        std::str::from_utf8(bytes)
            .map(|text| text.trim().trim_matches('"').trim())
            .map_err(|_| self.error(Problem::NotText(self.expected)))
    }
    /// What `parse` makes of a column, which holds `what`: the error names what was `expected`.
    pub(crate) fn parsed<T>(
        &self,
        column: usize,
        what: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, TestbedError> {
        let text = self.text(column)?;
        parse(text).ok_or_else(|| self.error(Problem::value(what, text, expected)))
    }
    pub(crate) fn node(&self, column: usize, what: &'static str) -> Result<NodeId, TestbedError> {
        let id = |text: &str| NodeId::new(text.parse().ok()?).ok();
        self.parsed(column, what, "a node's number, 0..65533", id)
    }
    pub(crate) fn channel(&self, column: usize) -> Result<Channel, TestbedError> {
        let expected = "a channel of the 2.4 GHz band, 11..26";
        self.parsed(column, "channel", expected, |text| text.parse().ok())
    }
    pub(crate) fn ratio(&self, column: usize, what: &'static str) -> Result<f64, TestbedError> {
        let ratio = |text: &str| text.parse().ok().filter(|r| (0.0..=1.0).contains(r));
        self.parsed(column, what, "a ratio from 0 to 1", ratio)
    }
    /// A mean RSSI; an empty field is one that was not measured.
    pub(crate) fn rssi(
        &self,
        column: usize,
        what: &'static str,
    ) -> Result<Option<f64>, TestbedError> {
        let level = |text: &str| match text {
            "" => Some(None),
            _ => (text.parse().ok().filter(|dbm| RSSI_DBM.contains(dbm))).map(Some),
        };
        self.parsed(column, what, "a level from -120 to 20 dBm", level)
    }
}

/// Mean RSSIs taken for real, dBm.
const RSSI_DBM: std::ops::RangeInclusive<f64> = -120.0..=20.0;
