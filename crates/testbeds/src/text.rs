//! Untrusted text: plain or in gzip, UTF-8, UTF-16 or Windows-1252, lines ended as any system ends them; with bounds on bytes and,
//! where lines are read one by one, on the length of a line. What comes out is UTF-8 with line feeds. Tests: below, `k7_tests.rs`, `hostile_tests.rs`.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::Problem;

/// Most bytes of a link file, after decompression.
const MAX_BYTES: u64 = 2 << 30;
/// Most bytes of one line.
const MAX_LINE: u64 = 1 << 16;
/// What a gzip stream begins with.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text that `reader` has, unpacked, as UTF-8 without a byte order mark; no line is longer than [`MAX_LINE`].
pub(crate) fn unpacked<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    bounded(reader, Some(MAX_LINE))
}

/// The same with lines of any length, as JSON and XML have them.
pub(crate) fn unpacked_whole<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    bounded(reader, None)
}

fn bounded<'a>(
    reader: impl Read + 'a,
    most_line: Option<u64>,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut raw = BufReader::new(reader);
    match raw.fill_buf()?.starts_with(&GZIP) {
        true => plain(BufReader::new(MultiGzDecoder::new(raw)), most_line),
        false => plain(raw, most_line),
    }
}

fn plain<'a>(
    mut raw: impl BufRead + 'a,
    most_line: Option<u64>,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let start = raw.fill_buf()?;
    let coding = Coding::of(start);
    let mark = match coding {
        Some(_) if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) => 2,
        None if start.starts_with(b"\xef\xbb\xbf") => 3,
        _ => 0,
    };
    raw.consume(mark);
    Ok(match coding {
        Some(coding) => {
            let narrow = Narrow::new(BufReader::new(raw), coding);
            Box::new(BufReader::new(Bounded::new(narrow, most_line)))
        }
        None => Box::new(BufReader::new(Bounded::new(raw, most_line))),
    })
}

/// What `start`, the first bytes of a file, begins with once it is unpacked, as [`unpacked`] gives it.
pub(crate) fn beginning(start: &[u8]) -> Vec<u8> {
    let first = inflated(start);
    let mut text = Vec::new();
    if let Ok(mut reader) = plain(&first[..], Some(MAX_LINE)) {
        // What comes before an error is a beginning all the same.
        let _ = reader.read_to_end(&mut text);
    }
    text
}

fn inflated(start: &[u8]) -> Vec<u8> {
    if !start.starts_with(&GZIP) {
        return start.to_vec();
    }
    let mut first = vec![0; 1 << 13];
    let mut decoder = MultiGzDecoder::new(start);
    let mut length = 0;
    while let Some(rest) = first.get_mut(length..).filter(|rest| !rest.is_empty()) {
        // What a stream that is cut short holds is used; damage is reported where it is read.
        match decoder.read(rest) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    first.truncate(length);
    first
}

/// How letters are written that are no UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Wide(Wide),
    /// A byte each, by Windows-1252: what spreadsheets of Western Europe make of "CSV".
    Western,
}

impl Coding {
    /// That of text which begins so; none where it may be UTF-8, or is no text.
    fn of(start: &[u8]) -> Option<Self> {
        if let Some(order) = Wide::of(start) {
            return Some(Self::Wide(order));
        }
        // A letter may be cut off at the end.
        let is_utf8 = std::str::from_utf8(start).map_or_else(|e| e.error_len().is_none(), |_| true);
        let is_western = !is_utf8 && start.iter().all(|byte| western(*byte).is_some());
        is_western.then_some(Self::Western)
    }
}

/// The letters of Windows-1252 from 0x80 to 0x9f (Unicode's CP1252.TXT); of the five that it has not the control characters
/// of Latin-1.
const FROM_80: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// The letter that `byte` is by Windows-1252; none for control characters, which no table has.
fn western(byte: u8) -> Option<char> {
    let letter = match byte {
        0x80..=0x9f => FROM_80.chars().nth(usize::from(byte - 0x80))?,
        _ => char::from(byte),
    };
    let is_text = !letter.is_control() || letter.is_ascii_whitespace();
    is_text.then_some(letter)
}

/// The order of the two bytes of a UTF-16 unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wide {
    LowFirst,
    HighFirst,
}

impl Wide {
    /// That of text which begins so, if it is UTF-16: it has a mark, or its first two letters are of ASCII.
    fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xfe, ..] => Some(Self::LowFirst),
            [0xfe, 0xff, ..] => Some(Self::HighFirst),
            [1..=127, 0, 1..=127, 0, ..] => Some(Self::LowFirst),
            [0, 1..=127, 0, 1..=127, ..] => Some(Self::HighFirst),
            _ => None,
        }
    }
    const fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::LowFirst => u16::from_le_bytes(bytes),
            Self::HighFirst => u16::from_be_bytes(bytes),
        }
    }
}

/// Other codings as UTF-8; half a pair of surrogates, or what is no letter, is a replacement character.
struct Narrow<R> {
    inner: R,
    coding: Coding,
    /// The first half of a pair.
    half: Option<u16>,
    /// What was made and not yet read.
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Narrow<R> {
    fn new(inner: R, coding: Coding) -> Self {
        Self {
            inner,
            coding,
            half: None,
            ready: Vec::new(),
            taken: 0,
        }
    }
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.taken = 0;
        let mut bytes = Vec::new();
        (&mut self.inner).take(1 << 12).read_to_end(&mut bytes)?;
        match self.coding {
            Coding::Wide(order) => self.refill_wide(&bytes, order),
            Coding::Western => {
                let letter = |byte: &u8| western(*byte).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.ready = bytes.iter().map(letter).collect::<String>().into_bytes();
            }
        }
        Ok(())
    }
    fn refill_wide(&mut self, bytes: &[u8], order: Wide) {
        let is_last = bytes.len() < 1 << 12;
        let units = bytes.chunks_exact(2).filter_map(|pair| match pair {
            &[a, b] => Some(order.unit([a, b])),
            _ => None,
        });
        let mut units: Vec<u16> = self.half.take().into_iter().chain(units).collect();
        if !is_last && units.last().is_some_and(|u| (0xd800..0xdc00).contains(u)) {
            self.half = units.pop();
        }
        for letter in char::decode_utf16(units) {
            let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
            let mut utf8 = [0; 4];
            self.ready
                .extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
        }
    }
}
impl<R: Read> Read for Narrow<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken >= self.ready.len() {
            self.refill()?;
        }
        let mut rest = self.ready.get(self.taken..).unwrap_or_default();
        let read = rest.read(into)?;
        self.taken += read;
        Ok(read)
    }
}

/// A reader that ends all lines with a line feed, and fails instead of passing on an endless line or an endless file.
/// Its [`Problem`] travels inside an `io::Error`.
struct Bounded<R> {
    inner: R,
    total: u64,
    /// Bytes of the current line, and most of them where that is bounded.
    line: u64,
    most_line: Option<u64>,
    /// Whether the last byte was a carriage return, which ended a line already.
    returned: bool,
}
impl<R: Read> Bounded<R> {
    fn new(inner: R, most_line: Option<u64>) -> Self {
        let (total, line) = (0, 0);
        Self {
            inner,
            total,
            line,
            most_line,
            returned: false,
        }
    }
    /// Ends the lines in `bytes`, of which so many are left.
    fn end_lines(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..bytes.len() {
            let byte = bytes.get(at).copied().unwrap_or_default();
            let is_second = byte == b'\n' && self.returned;
            self.returned = byte == b'\r';
            if is_second {
                continue;
            }
            if let Some(place) = bytes.get_mut(kept) {
                *place = if self.returned { b'\n' } else { byte };
            }
            kept += 1;
        }
        kept
    }
}
impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let kept = loop {
            let read = self.inner.read(into)?;
            self.total += read as u64;
            let kept = self.end_lines(into.get_mut(..read).unwrap_or_default());
            // A line feed that was dropped is not the end of the file.
            if kept > 0 || read == 0 {
                break kept;
            }
        };
        for byte in into.iter().take(kept) {
            self.line = if *byte == b'\n' { 0 } else { self.line + 1 };
            if let Some(most) = self.most_line.filter(|most| self.line > *most) {
                let hit = Problem::TooLarge("bytes in one line", most);
                return Err(io::Error::other(hit));
            }
        }
        if self.total > MAX_BYTES {
            return Err(io::Error::other(Problem::TooLarge(
                "bytes of text",
                MAX_BYTES,
            )));
        }
        Ok(kept)
    }
}

/// What an error while reading text means to the user.
pub(crate) fn reading(error: io::Error) -> Problem {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    error.downcast().unwrap_or_else(|error| match error.kind() {
        UnexpectedEof | InvalidInput | InvalidData => Problem::Gzip(error),
        _ => Problem::Io(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut reader = unpacked(bytes).unwrap();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn lines_end_as_on_any_system() {
        for text in ["a\nb\n\nc", "a\r\nb\r\n\r\nc", "a\rb\r\rc"] {
            assert_eq!(read(text.as_bytes()), "a\nb\n\nc");
        }
        // A pair that two reads part.
        let mut bounded = Bounded::new((&b"a\r"[..]).chain(&b"\nb"[..]), None);
        let mut text = String::new();
        bounded.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb");
    }

    #[test]
    fn a_western_spreadsheet_is_read_and_what_is_no_text_is_not() {
        let read = |bytes: &[u8]| String::from_utf8(beginning(bytes));
        assert_eq!(read(b"Pfeiler S\xfcd,\x80\r\n").unwrap(), "Pfeiler Süd,€\n");
        assert_eq!(read("Süd\n".as_bytes()).unwrap(), "Süd\n");
        assert!(read(b"\x7fELF\x02\xff\x00").is_err());
        assert!(read(b"a\x81b\n").is_err(), "no letter of Windows-1252");
        // The first 8 kB of UTF-8 may end within a letter.
        let half = [&b"x".repeat(99)[..], &"ü".as_bytes()[..1]].concat();
        assert_eq!(Coding::of(&half), None);
    }

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        let text = "src,Küche\r\n1,\u{1f600}";
        let units = || text.encode_utf16();
        let low: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let high: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: [u8; 2], bytes: &[u8]| [&mark[..], bytes].concat();
        let all = [
            marked([0xff, 0xfe], &low),
            marked([0xfe, 0xff], &high),
            low.clone(),
            high,
        ];
        for bytes in all {
            assert_eq!(read(&bytes), "src,Küche\n1,\u{1f600}");
        }
        // A letter of two units across the end of what is read at once.
        let long = "a".repeat(2047) + "\u{1f600}b";
        let bytes: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&bytes), long);
        assert_eq!(read(&low[..low.len() - 3]).chars().last(), Some(','));
    }
}
