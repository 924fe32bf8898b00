//! Objects of any length: one transfer for each segment, each over the plan that brought the one before.
//!
//! A source sends the length and digest of its whole object with every segment (`docs/line.md`). Invariants: at most
//! [`LARGEST`] bytes are held; an object is handed out only where all its segments name the same object and their bytes
//! have its digest; a segment that fails ends the fetch, and the ones before it stay for the next fetch.
//! Tests: `segments_tests.rs`, `crates/simnet/tests/all/line/`.

use crate::job::{Progress, Retry};
use crate::object::Proof;
use crate::outcome::{over_plans, Outcome, Summary};
use thalweg_planner::Plan;
use thalweg_protocols::object::ObjectInfo;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::{ObjectRange, PayloadSize};

/// The largest object that is fetched, in bytes: it is held in memory until it is whole.
pub const LARGEST: u32 = 64 << 20;
/// How often a fetch starts over when its segments turn out to be no object: only the digest of the whole shows it.
const RESTARTS: u32 = 1;

/// What a transfer brought of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The requested bytes; fewer where the object ends before.
    pub bytes: Vec<u8>,
    /// What the source says of the whole object.
    pub object: ObjectInfo,
}

impl Segment {
    /// Whether another segment follows this one, which begins at `offset`: the object is not whole with it, and not too
    /// large.
    pub fn has_next(&self, offset: u32) -> bool {
        let end = u64::from(offset) + self.bytes.len() as u64;
        let len = self.object.len;
        len <= LARGEST && !self.bytes.is_empty() && end < u64::from(len)
    }

    /// Whether it brought less than `range`, and another segment follows.
    pub(crate) fn is_short_of(&self, range: ObjectRange) -> bool {
        self.bytes.len() < range.len as usize && self.has_next(range.offset)
    }
}

/// Why an object is refused although its segments arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// It is too long.
    #[error("an object of {0} bytes; at most {LARGEST} are taken")]
    TooLarge(u32),
    /// Its segments are of different objects.
    #[error("the node has another object than when its first part came")]
    Changed,
    /// Its node has none.
    #[error("it has no recording yet")]
    NoRecording,
    /// Its digest is not that of its bytes.
    #[error("what arrived has another digest than the object")]
    Digest,
}

impl SegmentError {
    /// Whether starting over may help: the node's object changed, or bytes of it, on the way or in the store.
    const fn may_pass(self) -> bool {
        matches!(self, Self::Changed | Self::Digest)
    }
}

/// The segments of an object that have arrived, as one.
#[derive(Debug, Default)]
pub struct Assembly {
    proof: Proof,
    object: Option<ObjectInfo>,
    bytes: Vec<u8>,
}

impl Assembly {
    /// The assembly of `stored` segments, each with its offset, in order. Empty where one is missing between them, or
    /// where they are of several objects.
    pub fn of_stored(stored: impl IntoIterator<Item = (u32, Segment)>) -> Self {
        let mut assembly = Self::default();
        for (offset, segment) in stored {
            let is_next = u64::from(offset) == assembly.bytes() && segment.has_next(offset);
            if !is_next || assembly.add(segment).is_err() {
                return Self::default();
            }
        }
        assembly
    }
    /// The object is whole by `proof`; by its digest otherwise.
    pub fn prove_by(&mut self, proof: Proof) {
        self.proof = proof;
    }
    /// Bytes of the object so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
    /// The object's length; none before the first segment.
    pub fn object_len(&self) -> Option<u64> {
        self.object.map(|object| u64::from(object.len))
    }
    /// What a transfer of at most `most` bytes is to bring next.
    fn next(&self, most: u32) -> ObjectRange {
        ObjectRange {
            // At most LARGEST.
            offset: self.bytes.len() as u32,
            len: most,
        }
    }
    /// Adds the next segment, and returns the object where it was the last. An error empties the assembly.
    fn add(&mut self, segment: Segment) -> Result<Option<Vec<u8>>, SegmentError> {
        let object = *self.object.get_or_insert(segment.object);
        self.bytes.extend_from_slice(&segment.bytes);
        let len = object.len as usize;
        let whole = match () {
            () if object != segment.object => Err(SegmentError::Changed),
            () if object.is_none() => Err(SegmentError::NoRecording),
            () if object.len > LARGEST => Err(SegmentError::TooLarge(object.len)),
            () if self.bytes.len() < len && !segment.bytes.is_empty() => return Ok(None),
            () if self.bytes.len() == len && self.proof.holds(&object.digest, &self.bytes) => {
                Ok(Some(std::mem::take(&mut self.bytes)))
            }
            () => Err(SegmentError::Digest),
        };
        (self.object, self.bytes) = (None, Vec::new());
        whole
    }
}

/// Why a transfer brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It broke off: links, relays, the source.
    BrokeOff,
    /// Its base station restarted or refused it.
    StationLost,
    /// All arrived, and is not what the source has: a byte changed on the way.
    OtherBytes,
}

/// A transfer that is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// How many plans were tried before for this segment.
    pub tried: u32,
    /// Why the one before brought nothing, where there was one.
    pub after: Option<Fault>,
    /// Which bytes of the object.
    pub range: ObjectRange,
    /// The number of the segment, from 1.
    pub number: u32,
    /// How many segments there are; an estimate before the first has arrived.
    pub of: u32,
    /// Bytes of the whole object; an estimate, too.
    pub bytes: u64,
}

impl Attempt {
    /// What to report before it begins over `plan`, in packets of `payload` bytes.
    pub fn planned(
        &self,
        (source, sink): (NodeId, NodeId),
        plan: &Plan,
        payload: PayloadSize,
    ) -> Progress {
        let left = self.bytes.saturating_sub(u64::from(self.range.offset));
        let bytes = left.min(u64::from(self.range.len));
        Progress::Planned {
            source,
            sink,
            paths: plan.path_count() as u32,
            hops: plan.hops as u32,
            packets: bytes.div_ceil(u64::from(payload.bytes())) as u32,
            part: (self.number, self.of),
            expected: expected(plan),
        }
    }
}

/// How long a transfer over `plan` is likely to take, at the least and at the most; none where it is not known to end.
fn expected(plan: &Plan) -> Option<(Duration, Duration)> {
    let prediction = &plan.prediction;
    let likely = prediction.likely.map(|likely| likely.time_s);
    let [least, most] = likely.or_else(|| prediction.time_s.map(|time_s| [time_s; 2]))?;
    Some((
        Duration::from_secs_f64(least),
        Duration::from_secs_f64(most),
    ))
}

/// What a protocol family reports of a transfer beside its [`Summary`].
pub trait SegmentDetails {
    /// Adds `next`, the details of the next segment. The two have so many bytes.
    fn append(&mut self, next: &Self, bytes: (u64, u64));
}

impl SegmentDetails for () {
    fn append(&mut self, (): &Self, _bytes: (u64, u64)) {}
}

/// The result of a fetch.
#[derive(Debug)]
pub struct FetchResult<D> {
    /// All its transfers as one.
    pub outcome: Outcome<D>,
    /// The object, where it is whole.
    pub object: Option<Vec<u8>>,
    /// How many segments it has.
    pub segments: u32,
    /// The most plans that were tried for one of them.
    pub plans: u32,
    /// Why it is refused although it arrived: no other plan would help.
    pub refused: Option<SegmentError>,
}

/// How to fetch an object.
#[derive(Debug, Clone, Copy)]
pub struct FetchTerms {
    /// Bytes of a segment.
    pub segment_bytes: u32,
    /// The length to assume until the first segment has arrived.
    pub expected: u64,
    /// How often to try a segment.
    pub retry: Retry,
}

impl FetchTerms {
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.segment_bytes)).max(1) as u32
    }
    /// The first attempt at the segment that `assembly` needs next.
    fn attempt(&self, assembly: &Assembly) -> Attempt {
        let bytes = assembly.object_len().unwrap_or(self.expected);
        let range = assembly.next(self.segment_bytes);
        let number = range.offset / self.segment_bytes + 1;
        Attempt {
            tried: 0,
            after: None,
            range,
            number,
            of: self.segments(bytes).max(number),
            bytes,
        }
    }
}

/// What the transfers of a fetch amount to so far.
struct Totals<D> {
    /// Those of the object that is being assembled.
    transfers: Option<Outcome<D>>,
    /// Those of an object that was given up, and the pause after them.
    discarded: Option<(Summary, Duration)>,
}

impl<D: SegmentDetails> Totals<D> {
    /// The transfers so far with the next, `pause` after the last.
    fn with(&mut self, next: Outcome<D>, pause: Duration) -> Outcome<D> {
        let Some(mut all) = self.transfers.take() else {
            return next;
        };
        let bytes = (all.summary.bytes, next.summary.bytes);
        all.details.append(&next.details, bytes);
        all.summary.append(&next.summary, pause.as_secs_f64());
        all
    }
    /// The outcome at the end: with the time and energy of what was discarded, and the length of `object`, which counts
    /// segments that were there before.
    fn finish(self, mut outcome: Outcome<D>, object: Option<&[u8]>) -> Outcome<D> {
        if let Some((summary, pause)) = &self.discarded {
            outcome.summary.add_failed(summary, pause.as_secs_f64());
        }
        if let Some(object) = object {
            outcome.summary.bytes = object.len() as u64;
        }
        outcome
    }
}

/// Fetches an object, or what `assembly` lacks of it. `carry` carries a segment over a plan, the very first over
/// `first`. Where one breaks off it goes over the plans that `next` makes, as in [`over_plans`]. `rest` is the pause
/// after a transfer over a plan, before the next segment.
///
/// # Errors
/// Those of `carry`. What arrived before is in `assembly`.
pub fn fetch<P: Clone, D: SegmentDetails, E>(
    assembly: &mut Assembly,
    mut terms: FetchTerms,
    first: P,
    rest: impl Fn(&P) -> Duration,
    mut carry: impl FnMut(&P, Attempt) -> Result<(Outcome<D>, Option<Segment>), E>,
    mut next: impl FnMut(&P, u32) -> Option<(P, Duration)>,
) -> Result<FetchResult<D>, E> {
    terms.segment_bytes = terms.segment_bytes.max(1);
    let (mut current, mut restarts, mut plans) = (first, 0, 0);
    let mut totals = Totals {
        transfers: None,
        discarded: None,
    };
    loop {
        let pause = rest(&current);
        let attempt = terms.attempt(assembly);
        let begin = current.clone();
        let run = |plan: &P, tried| {
            current = plan.clone();
            carry(plan, Attempt { tried, ..attempt })
        };
        let (outcome, segment, tried) = over_plans(terms.retry, begin, run, &mut next)?;
        plans = tried.max(plans);
        let mut outcome = totals.with(outcome, pause);
        let len = segment
            .as_ref()
            .map(|segment| u64::from(segment.object.len));
        let len = len.or(assembly.object_len());
        let segments = len.map_or(attempt.of, |len| terms.segments(len));
        let (mut refused, added) = (None, segment.map(|segment| assembly.add(segment)));
        let object = match added {
            None => None,
            Some(Ok(None)) => {
                totals.transfers = Some(outcome);
                continue;
            }
            Some(Ok(object)) => object,
            Some(Err(why)) if restarts < RESTARTS && why.may_pass() => {
                restarts += 1;
                totals.discarded = Some((outcome.summary, rest(&current)));
                continue;
            }
            Some(Err(why)) => {
                outcome.summary.fails(why.to_string());
                refused = Some(why);
                None
            }
        };
        return Ok(FetchResult {
            outcome: totals.finish(outcome, object.as_deref()),
            object,
            segments,
            plans,
            refused,
        });
    }
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
