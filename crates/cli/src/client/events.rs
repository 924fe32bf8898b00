//! Server-sent events of a gateway, as lines make them (the HTML standard, section 9.2). Tests: at the end.

use hyper::Method;

use super::http::{Answered, Client, Coming};
use std::time::Duration;

/// The longest line, in bytes; a job with its report is some kB.
const LONGEST: usize = 1 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// What came of waiting for events.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// These; none where there is only a sign of life.
    Events(Vec<Event>),
    /// Nothing for as long as was waited.
    Nothing,
    /// The stream has ended.
    End,
}

/// Events as they come.
#[derive(Debug)]
pub(super) struct Events {
    coming: Coming,
    parser: Parser,
}

impl Events {
    pub(super) fn open(client: &Client) -> Answered<Self> {
        Ok(Self {
            coming: client.begin(Method::GET, "/api/events", None)?,
            parser: Parser::default(),
        })
    }
    /// What comes next; waits for it no longer than `patience`.
    pub(super) fn next(&mut self, client: &Client, patience: Duration) -> Answered<Heard> {
        Ok(match client.look(&mut self.coming, patience)? {
            None => Heard::Nothing,
            Some(None) => Heard::End,
            Some(Some(piece)) => match self.parser.take(&piece) {
                Some(events) => Heard::Events(events),
                // Whoever sends lines without end is left alone.
                None => Heard::End,
            },
        })
    }
}

/// Makes events of bytes.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    name: String,
    data: String,
}

impl Parser {
    /// The events that `piece` completes; none where a line or an event is too long.
    fn take(&mut self, piece: &[u8]) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for byte in piece {
            match byte {
                b'\n' => events.extend(self.end_line()),
                b'\r' => {}
                _ if self.line.len() + self.data.len() > LONGEST => return None,
                byte => self.line.push(*byte),
            }
        }
        Some(events)
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            return (!name.is_empty()).then_some(Event { name, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Remarks, which say that somebody is there, and what is of no use here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "event: job\ndata: {\"id\":\ndata: 1}\n\n: alive\n\nevent:log\r\ndata:x\r\n\r\ndata: no name\n\n";
        let event = |name: &str, data: &str| Event {
            name: name.to_owned(),
            data: data.to_owned(),
        };
        let expected = [event("job", "{\"id\":\n1}"), event("log", "x")];
        for size in 1..=text.len() {
            let mut parser = Parser::default();
            let pieces = text.as_bytes().chunks(size);
            let events: Vec<Event> = pieces.flat_map(|p| parser.take(p).unwrap()).collect();
            assert_eq!(events, expected, "{size}");
        }
    }

    #[test]
    fn a_line_without_end_is_left_alone() {
        let mut parser = Parser::default();
        let piece = [b'x'; 64 * 1024];
        assert!((0..20).any(|_| parser.take(&piece).is_none()));
        let mut parser = Parser::default();
        let piece = b"data: 0123456789012345678901234567890123456789\n".repeat(1_000);
        assert!((0..40).any(|_| parser.take(&piece).is_none()));
    }
}
