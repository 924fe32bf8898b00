//! What is at the other end of a line where no base station greets: the text that it sends.
//!
//! A base station without an identity says so as text, and other devices print what they are. Invariants: a bounded
//! length; printable ASCII only, since a terminal shows it.

/// The most characters that are kept of a line of text.
const MOST: usize = 120;
/// The fewest that are taken for text: other bytes look so by chance.
const FEWEST: usize = 8;

/// The last line of text that came.
#[derive(Debug, Default)]
pub(super) struct Heard {
    coming: String,
    line: Option<String>,
}

impl Heard {
    /// Bytes came that belong to no session.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b' '..=b'~' if self.coming.len() < MOST => self.coming.push(char::from(*byte)),
                b' '..=b'~' => {}
                b'\r' | b'\n' if self.coming.len() >= FEWEST => {
                    self.line = Some(std::mem::take(&mut self.coming));
                }
                _ => self.coming.clear(),
            }
        }
    }
    /// The last whole line.
    pub(super) fn line(&self) -> Option<String> {
        self.line.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_line_is_kept_and_frames_are_no_text() {
        let mut heard = Heard::default();
        heard.take(b"\x82\x01nRF52840\0\x05");
        assert_eq!(heard.line(), None);
        heard.take(b"the image has no ");
        heard.take(b"identity\r\nthe ima");
        assert_eq!(heard.line().as_deref(), Some("the image has no identity"));
        heard.take(&[b'x'; 5_000]);
        heard.take(b"\n\x1b[31mred\n");
        let line = heard.line();
        assert_eq!(line.as_deref().map(str::len), Some(MOST));
    }
}
