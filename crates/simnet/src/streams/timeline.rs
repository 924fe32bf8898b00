//! What both radios, the bus and the microcontroller of a stream's nodes do over a stretch of time.
//!
//! The stretch begins when the source sends a packet for the first time, once the queues have settled.
//! Tests: `crates/simnet/tests/all/streams/explain.rs`.

use super::{run, CollectError, Ground, Onlookers, Terms};
use crate::forwarding::{SpanLog, Timeline};
use std::ops::ControlFlow::Continue;
use thalweg_planner::streams::StreamPlan;
use thalweg_units::Duration;

/// Packets in front of those that are shown.
const BEFORE: usize = 12;
/// Packets of the stream.
const PACKETS: usize = 40;
/// Without a length, so many packets are shown, and a little of the next.
const SHOWN: u64 = 2;

/// What the nodes of `plan` do for `length`, while `terms.carrier` carries packets over it.
///
/// # Errors
/// [`CollectError`]; [`CollectError::Unfit`] where the stream does not come to its thirteenth packet.
pub fn timeline(
    ground: &Ground,
    plan: &StreamPlan,
    terms: &Terms,
    seed: u64,
    length: Option<Duration>,
) -> Result<Timeline, CollectError> {
    let log = SpanLog::default();
    let mut onlookers = Onlookers {
        spans: Some(log.clone()),
        ..Onlookers::default()
    };
    let payload = terms.stream.payload_bytes;
    let load = [(
        plan.clone(),
        vec![0x5a; PACKETS * usize::from(payload)].into(),
    )];
    run(
        ground,
        &load,
        terms,
        seed,
        &mut |_| Continue(()),
        &mut onlookers,
    )?;
    let source = plan.nodes.first().copied().unwrap_or(0);
    let sent = log.sent_by(source);
    // Calls have no number and come first; the last is the stream's end.
    let (Some(first), Some(last)) = (sent.get(BEFORE), sent.get(PACKETS - 2)) else {
        return Err(CollectError::Unfit {
            testbed: ground.site.testbed.name.clone(),
            why: format!("{} packets of the stream were sent", sent.len()),
        });
    };
    let between = last.since(*first).as_nanos() / (PACKETS - 2 - BEFORE) as u64;
    let interval = Duration::from_nanos(between);
    let length = length.unwrap_or(interval * SHOWN + Duration::from_nanos(between / 8));
    let title = format!(
        "{}, {} payload bytes, a packet each {:.0} us",
        terms.carrier.name(),
        payload,
        interval.as_micros_f64()
    );
    Ok(log.stretch(title, plan.nodes.clone(), (*first, length), interval))
}
