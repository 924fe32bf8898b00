//! Untrusted text: plain or in gzip, with bounds on bytes and on the length of a line.
//! Tests: `k7_tests.rs` and `hostile_tests.rs`.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::Problem;

/// Most bytes of a link file, after decompression.
const MAX_BYTES: u64 = 2 << 30;
/// Most bytes of one line.
const MAX_LINE: u64 = 1 << 16;
/// What a gzip stream begins with.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text that `reader` has, unpacked.
pub(crate) fn unpacked<'a>(reader: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut raw = BufReader::new(reader);
    Ok(match raw.fill_buf()?.starts_with(&GZIP) {
        true => Box::new(BufReader::new(Bounded::new(MultiGzDecoder::new(raw)))),
        false => Box::new(BufReader::new(Bounded::new(raw))),
    })
}

/// What `start`, the first bytes of a file, begins with once it is unpacked.
pub(crate) fn beginning(start: &[u8]) -> Vec<u8> {
    if !start.starts_with(&GZIP) {
        return start.to_vec();
    }
    let mut first = vec![0; 1 << 10];
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

/// A reader that fails instead of passing on an endless line or an endless file. Its [`Problem`]
/// travels inside an `io::Error`.
struct Bounded<R> {
    inner: R,
    total: u64,
    line: u64,
}
impl<R: Read> Bounded<R> {
    fn new(inner: R) -> Self {
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

/// What an error while reading text means to the user.
pub(crate) fn reading(error: io::Error) -> Problem {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    error.downcast().unwrap_or_else(|error| match error.kind() {
        UnexpectedEof | InvalidInput | InvalidData => Problem::Gzip(error),
        _ => Problem::Io(error),
    })
}
