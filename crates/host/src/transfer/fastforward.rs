//! FastForward, in one of its versions: sinks call paths over the air, and call again what did not arrive.

use super::stream::{CallEnd, End, EventKind, StreamPath, StreamSetup, StreamTerms};
use crate::job::{Failure, Retry, RetryMode};
use crate::object::{Holds, Memory};
use thalweg_protocols::fastforward::{
    self, Call, Command, Event, FastForward, Path, Range, Version, MAX_RANGES,
};
use thalweg_units::Duration;

/// The engine of every node.
pub type Node = FastForward<Memory>;

impl Holds for Node {
    fn memory(&mut self) -> &mut Memory {
        self.store_mut()
    }
}

/// Streams of one version over `paths`.
///
/// # Errors
/// [`Failure::Unfit`] where a path does not fit a call.
pub fn streams(
    version: Version,
    mut paths: Vec<StreamPath>,
    terms: StreamTerms,
) -> Result<StreamSetup<Node>, Failure> {
    let mut routes = Vec::new();
    for path in &mut paths {
        // Calls take the sink's second radio: a stream that comes in on that one is called last.
        let last = path.links.last();
        path.turn = u8::from(last.is_some_and(|on| on.same_band(terms.config.calling)));
        let unfit = || {
            Failure::Unfit(format!(
                "a path of {} nodes does not fit a call",
                path.nodes.len()
            ))
        };
        let route = Path::new(&path.nodes, &path.links).ok_or_else(unfit)?;
        routes.push((path.sink, route));
    }
    let call = move |which: usize, call: u32, have: &[bool]| {
        let (sink, path) = routes[which];
        let mut ranges = [None; MAX_RANGES];
        if call > 0 {
            for (to, range) in ranges.iter_mut().zip(missing(have)) {
                *to = Some(range);
            }
        }
        let call = Call {
            stream: which as u8,
            round: call as u8,
            version,
            payload_bytes: terms.payload_bytes,
            path,
            ranges,
        };
        (sink, Command::Open(call))
    };
    Ok(StreamSetup {
        node: Box::new(move |id| Node::new(id, terms.config, Memory::default())),
        paths,
        terms,
        set_up: (Vec::new(), Duration::ZERO),
        call: Box::new(call),
        close: |which| Some(Command::Close(which as u8)),
        retry: Retry {
            attempts: terms.repairs + 1,
            mode: RetryMode::SamePlan,
        },
        call_end: CallEnd::Sink,
        classify,
    })
}

fn classify(event: &Event) -> (usize, EventKind) {
    let (stream, kind) = match *event {
        Event::Begun { stream, .. } => (stream, EventKind::Begun),
        Event::Received { stream, number, .. } => (stream, EventKind::Arrived(number)),
        Event::Ended { stream, why, .. } => {
            let why = match why {
                fastforward::End::Complete => End::Complete,
                fastforward::End::Silent => End::Silent,
                fastforward::End::Broken { neighbour } => End::Broken(neighbour),
                fastforward::End::Closed => End::Closed,
            };
            (stream, EventKind::Ended(why))
        }
        Event::Refused { stream } => (stream, EventKind::Refused),
    };
    (usize::from(stream), kind)
}

/// Runs of packets that are not there.
fn missing(have: &[bool]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (number, _) in have.iter().enumerate().filter(|(_, have)| !**have) {
        let first = number as u16;
        match ranges.last_mut() {
            Some(range) if range.first + range.count == first => range.count += 1,
            _ => ranges.push(Range { first, count: 1 }),
        }
    }
    ranges
}
