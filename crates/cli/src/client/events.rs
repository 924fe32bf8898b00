//! Server-sent events of a gateway, as lines make them (the HTML standard, section 9.2). Tests: at the end.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread;
use std::time::Duration;

use ureq::http::Method;

use super::http::{Answered, Client};

/// A gateway says something every 15 s; one that does not is gone.
const SILENT: Duration = Duration::from_secs(45);
/// How many events are buffered here; more wait at the gateway.
const AHEAD: usize = 64;
/// The longest event, in bytes; a job with its report is some kB.
const LONGEST: usize = 1 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// The gateway's events, from a thread of its own, until it ends or is silent.
pub(super) fn listen(client: &Client) -> Answered<Receiver<Event>> {
    let request = client.request(Method::GET, "/api/events").body(());
    let body = client.begin(request, SILENT)?;
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        let mut from = BufReader::new(body.into_reader());
        while let Some(event) = next(&mut from) {
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}

/// The next event; none at the end, and where one is too long.
fn next(from: &mut impl BufRead) -> Option<Event> {
    let (mut name, mut data) = (String::new(), String::new());
    loop {
        let mut line = Vec::new();
        let room = LONGEST.saturating_sub(data.len());
        let mut lines = from.by_ref().take(room as u64);
        lines.read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8_lossy(line.strip_suffix(b"\n")?);
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            if !name.is_empty() {
                return Some(Event { name, data });
            }
            data.clear();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(value);
            }
            // Remarks, which say that somebody is there, and what is of no use here.
            _ => {}
        }
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
            let mut from = BufReader::with_capacity(size, text.as_bytes());
            let events: Vec<Event> = std::iter::from_fn(|| next(&mut from)).collect();
            assert_eq!(events, expected, "{size}");
        }
    }

    #[test]
    fn an_event_without_end_is_left_alone() {
        let mut line = BufReader::new(std::io::repeat(b'x'));
        assert_eq!(next(&mut line), None);
        let lines = b"data: 0123456789012345678901234567890123456789\n".repeat(40_000);
        assert_eq!(next(&mut BufReader::new(&*lines)), None);
        let ended = [&lines[..], b"event: job\n\n"].concat();
        assert_eq!(next(&mut BufReader::new(&*ended)), None);
    }
}
