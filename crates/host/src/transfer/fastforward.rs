//! FastForward, in one of its versions: sinks call paths over the air, what does not arrive is called again.

use super::stream::{End, Heard, Lane, Over, StreamSetup, Terms};
use crate::job::{Again, Failure, Retry};
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

/// Streams of one version over `lanes`.
///
/// # Errors
/// [`Failure::Unfit`] where a path does not fit a call.
pub fn streams(
    version: Version,
    mut lanes: Vec<Lane>,
    terms: Terms,
) -> Result<StreamSetup<Node>, Failure> {
    let mut paths = Vec::new();
    for lane in &mut lanes {
        // Calls take the sink's second radio: a stream that comes in on that one is called last.
        let last = lane.links.last();
        lane.turn = u8::from(last.is_some_and(|on| on.same_band(terms.config.calling)));
        let unfit = || {
            Failure::Unfit(format!(
                "a path of {} nodes does not fit a call",
                lane.nodes.len()
            ))
        };
        let path = Path::new(&lane.nodes, &lane.links).ok_or_else(unfit)?;
        paths.push((lane.sink, path));
    }
    let call = move |which: usize, call: u32, have: &[bool]| {
        let (sink, path) = paths[which];
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
        lanes,
        terms,
        set_up: (Vec::new(), Duration::ZERO),
        call: Box::new(call),
        close: |which| Some(Command::Close(which as u8)),
        retry: Retry {
            attempts: terms.repairs + 1,
            again: Again::SamePlan,
        },
        over: Over::Sink,
        heard,
    })
}

fn heard(event: &Event) -> (usize, Heard) {
    let (stream, heard) = match *event {
        Event::Begun { stream, .. } => (stream, Heard::Begun),
        Event::Received { stream, number, .. } => (stream, Heard::Arrived(number)),
        Event::Ended { stream, why, .. } => {
            let why = match why {
                fastforward::End::Complete => End::Complete,
                fastforward::End::Silent => End::Silent,
                fastforward::End::Broken { neighbour } => End::Broken(neighbour),
                fastforward::End::Closed => End::Closed,
            };
            (stream, Heard::Ended(why))
        }
        Event::Refused { stream } => (stream, Heard::Refused),
    };
    (usize::from(stream), heard)
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
