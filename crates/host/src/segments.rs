//! Objects of any length: one transfer for each part, each over the plan that brought the one before.
//!
//! A source tells the length and the digest of its whole object with every part (`docs/line.md`). Invariants: what
//! has come is at most [`LARGEST`] bytes; an object is handed out where all its parts told the same of it and their
//! bytes have its digest; a part that does not come ends the fetch, and those before it are kept for another.
//! Tests: at the end, `crates/simnet/tests/all/line/`.

use crate::job::{Progress, Retry};
use crate::object::digest;
use crate::outcome::{over_plans, Outcome, Summary};
use thalweg_planner::Plan;
use thalweg_protocols::object::ObjectInfo;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::{ObjectRange, PayloadSize};

/// The largest object that is taken of a node, in bytes: what is on its way is in memory.
pub const LARGEST: u32 = 64 << 20;
/// So often a fetch begins anew where its node has another object than the one that it began with.
const ANEW: u32 = 1;

/// What a transfer brought of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The bytes that were asked for; fewer where the object ends before.
    pub bytes: Vec<u8>,
    /// What the source told of the whole object.
    pub object: ObjectInfo,
}

impl Segment {
    /// Whether others follow it, where it begins at `offset`: its object is one that is taken, and not whole with it.
    pub fn is_followed(&self, offset: u32) -> bool {
        let end = u64::from(offset) + self.bytes.len() as u64;
        let len = self.object.len;
        len <= LARGEST && !self.bytes.is_empty() && end < u64::from(len)
    }
}

/// Why an object does not come, though its parts do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// It is too long.
    #[error("an object of {0} bytes; at most {LARGEST} are taken")]
    TooLarge(u32),
    /// Parts told of different objects.
    #[error("the node has another object than when its first part came")]
    Changed,
    /// Its digest is not that of its bytes.
    #[error("what arrived has another digest than the object")]
    Digest,
}

/// The parts of an object that are there.
#[derive(Debug, Default)]
pub struct Assembly {
    object: Option<ObjectInfo>,
    bytes: Vec<u8>,
}

impl Assembly {
    /// What `kept` parts make, each with where it begins, in their order. Nothing, where they do not follow each other or
    /// are of several objects.
    pub fn of_kept(kept: impl IntoIterator<Item = (u32, Segment)>) -> Self {
        let mut there = Self::default();
        for (offset, part) in kept {
            let follows = u64::from(offset) == there.bytes() && part.is_followed(offset);
            if !follows || there.add(part).is_err() {
                return Self::default();
            }
        }
        there
    }
    /// Bytes of the object that are there.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
    /// The object's length, once a part told it.
    pub fn of(&self) -> Option<u64> {
        self.object.map(|object| u64::from(object.len))
    }
    /// What a transfer of at most `most` bytes is to bring next.
    fn next(&self, most: u32) -> ObjectRange {
        ObjectRange {
            // Never above what is taken.
            offset: self.bytes.len() as u32,
            len: most,
        }
    }
    /// Takes the next part; gives the object where it was the last one. Nothing is kept where it is an error.
    fn add(&mut self, part: Segment) -> Result<Option<Vec<u8>>, SegmentError> {
        let object = *self.object.get_or_insert(part.object);
        self.bytes.extend_from_slice(&part.bytes);
        let len = object.len as usize;
        let whole = match () {
            () if object != part.object => Err(SegmentError::Changed),
            () if object.len > LARGEST => Err(SegmentError::TooLarge(object.len)),
            () if self.bytes.len() < len && !part.bytes.is_empty() => return Ok(None),
            () if self.bytes.len() == len && digest(&self.bytes) == object.digest => {
                Ok(Some(std::mem::take(&mut self.bytes)))
            }
            () => Err(SegmentError::Digest),
        };
        *self = Self::default();
        whole
    }
}

/// A transfer that is to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// How many plans were tried before for this part.
    pub tried: u32,
    /// Which bytes of the object.
    pub range: ObjectRange,
    /// Which part that is, from 1.
    pub number: u32,
    /// Of how many, as far as it is known.
    pub of: u32,
    /// Bytes of the whole object, as far as it is known.
    pub bytes: u64,
}

impl Attempt {
    /// What is told of it before it begins over `plan`, in packets of `payload` bytes.
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
        }
    }
}

/// What a family tells of a transfer, beside what all do.
pub trait Extra {
    /// Takes `next`, that of an object's next part, as one with this; they have so many bytes.
    fn goes_on(&mut self, next: &Self, bytes: (u64, u64));
}

impl Extra for () {
    fn goes_on(&mut self, (): &Self, _bytes: (u64, u64)) {}
}

/// What came of it.
#[derive(Debug)]
pub struct Brought<X> {
    /// All its transfers as one.
    pub outcome: Outcome<X>,
    /// The object, where it is whole.
    pub object: Option<Vec<u8>>,
    /// How many parts it has, as far as it is known.
    pub parts: u32,
    /// The most plans that were tried for one of them.
    pub plans: u32,
}

/// How an object is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Bytes of a part.
    pub part_bytes: u32,
    /// What is taken to be the object's length, until a part told it.
    pub expected: u64,
    /// How often a part is tried.
    pub retry: Retry,
    /// Before each try but the first.
    pub pause: Duration,
}

/// Fetches an object, or what `assembly` lacks of it. `carry` carries a part over a plan, the first of them over `first`; where one breaks off it goes
/// over those that `next` makes, as [`over_plans`] has it. `rest` is the pause after a transfer over a plan, before
/// that of the next part.
///
/// # Errors
/// Those of `carry`. What came before is in `assembly`.
pub fn fetch<P: Clone, X: Extra, E>(
    assembly: &mut Assembly,
    terms: Terms,
    first: P,
    rest: impl Fn(&P) -> Duration,
    mut carry: impl FnMut(&P, Attempt) -> Result<(Outcome<X>, Option<Segment>), E>,
    mut next: impl FnMut(&P, u32) -> Option<P>,
) -> Result<Brought<X>, E> {
    let most = terms.part_bytes.max(1);
    let in_parts = |bytes: u64| bytes.div_ceil(u64::from(most)).max(1) as u32;
    let (mut way, mut anew, mut plans) = (first, 0, 0);
    // Of what lay somewhere meanwhile, only the whole object's digest says whether it is what came.
    let has_lain = assembly.bytes() > 0;
    let mut so_far: Option<Outcome<X>> = None;
    let mut wasted: Option<(Summary, Duration)> = None;
    loop {
        let pause = rest(&way);
        let bytes = assembly.of().unwrap_or(terms.expected);
        let range = assembly.next(most);
        let number = range.offset / most + 1;
        let turn = Attempt {
            tried: 0,
            range,
            number,
            of: in_parts(bytes).max(number),
            bytes,
        };
        let begin = way.clone();
        let run = |plan: &P, tried| {
            way = plan.clone();
            carry(plan, Attempt { tried, ..turn })
        };
        let (outcome, part, tried) = over_plans(terms.retry, terms.pause, begin, run, &mut next)?;
        plans = tried.max(plans);
        let mut outcome = match so_far.take() {
            None => outcome,
            Some(mut before) => {
                let lengths = (before.summary.bytes, outcome.summary.bytes);
                before.details.goes_on(&outcome.details, lengths);
                before
                    .summary
                    .goes_on(&outcome.summary, pause.as_secs_f64());
                before
            }
        };
        let told = part.as_ref().map(|part| u64::from(part.object.len));
        let parts = told.or(assembly.of()).map(in_parts).unwrap_or(turn.of);
        let object = match part.map(|part| assembly.add(part)) {
            None => None,
            Some(Ok(None)) => {
                so_far = Some(outcome);
                continue;
            }
            Some(Ok(object)) => object,
            Some(Err(why))
                if anew < ANEW
                    && (why == SegmentError::Changed
                        || (why == SegmentError::Digest && has_lain)) =>
            {
                anew += 1;
                wasted = Some((outcome.summary, rest(&way)));
                continue;
            }
            Some(Err(why)) => {
                outcome.summary.fails(why.to_string());
                None
            }
        };
        if let Some((summary, pause)) = &wasted {
            outcome.summary.follows(summary, pause.as_secs_f64());
        }
        if let Some(object) = &object {
            // Those that were there before included.
            outcome.summary.bytes = object.len() as u64;
        }
        return Ok(Brought {
            outcome,
            object,
            parts,
            plans,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Again;
    use crate::outcome::whole_and_failed;

    const PAUSE: Duration = Duration::from_secs(4);
    const TERMS: Terms = Terms {
        part_bytes: 100,
        expected: 40,
        retry: Retry {
            attempts: 3,
            again: Again::NewPlan,
        },
        pause: PAUSE,
    };

    fn object(bytes: u32) -> Vec<u8> {
        (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    /// What a source that has `object` sends of `range`.
    fn part(object: &[u8], range: ObjectRange) -> Segment {
        let from = (range.offset as usize).min(object.len());
        let end = (from + range.len as usize).min(object.len());
        Segment {
            bytes: object[from..end].to_vec(),
            object: ObjectInfo {
                len: object.len() as u32,
                digest: digest(object),
            },
        }
    }

    type Carried = Result<(Outcome<()>, Option<Segment>), &'static str>;

    fn came(part: Option<Segment>) -> Carried {
        let (mut summary, failed) = whole_and_failed();
        match &part {
            Some(part) => summary.bytes = part.bytes.len() as u64,
            None => summary = failed,
        }
        Ok((
            Outcome {
                summary,
                details: (),
            },
            part,
        ))
    }

    fn fetched(
        there: &mut Assembly,
        carry: impl FnMut(&u32, Attempt) -> Carried,
    ) -> Result<Brought<()>, &'static str> {
        let rest = |_: &u32| Duration::from_secs(1);
        fetch(there, TERMS, 10, rest, carry, |plan, _| Some(plan + 1))
    }

    #[test]
    fn parts_follow_each_other_over_the_plan_that_brought_the_last() {
        for len in [1, 99, 100, 101, 200, 250] {
            let object = object(len);
            let mut turns = Vec::new();
            let brought = fetched(&mut Assembly::default(), |plan, turn| {
                turns.push((*plan, turn.number, turn.of, turn.range.offset));
                // The first plan brings nothing.
                came((*plan > 10).then(|| part(&object, turn.range)))
            });
            let brought = brought.unwrap();
            assert_eq!(brought.object.as_deref(), Some(&object[..]));
            let summary = &brought.outcome.summary;
            assert_eq!((summary.bytes, summary.verified), (u64::from(len), true));
            let parts = len.div_ceil(100);
            assert_eq!((brought.parts, brought.plans), (parts, 2));
            // Failed once, came so often, with a pause between.
            let s = 5.0 + 4.0 + 3.0 * f64::from(parts) + f64::from(parts - 1);
            assert_eq!(summary.duration_s, s, "{len}");
            let told = (1..parts).map(|at| (11, at + 1, parts, 100 * at));
            let begun = [(10, 1, 1, 0), (11, 1, 1, 0)].into_iter();
            assert_eq!(turns, begun.chain(told).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_that_does_not_come_ends_it_and_the_next_fetch_goes_on() {
        let (object, mut there) = (object(250), Assembly::default());
        let brought = fetched(&mut there, |_, turn| {
            let is_there = turn.range.offset < 200;
            came(is_there.then(|| part(&object, turn.range)))
        });
        let brought = brought.unwrap();
        assert_eq!((brought.object, brought.parts, brought.plans), (None, 3, 3));
        let summary = brought.outcome.summary;
        assert_eq!((summary.bytes, summary.verified), (0, false));
        assert_eq!((there.bytes(), there.of()), (200, Some(250)));
        // The line breaks, and is back.
        let broken = fetched(&mut there, |_, _| Err("the line is down"));
        assert_eq!(broken.map(|_| ()), Err("the line is down"));
        let brought = fetched(&mut there, |_, turn| {
            assert_eq!((turn.number, turn.of, turn.bytes), (3, 3, 250));
            came(Some(part(&object, turn.range)))
        });
        let brought = brought.unwrap();
        assert_eq!(brought.object.as_deref(), Some(&object[..]));
        assert_eq!((brought.outcome.summary.bytes, brought.parts), (250, 3));
        assert_eq!(
            there.bytes(),
            0,
            "nothing is kept of an object that is whole"
        );
    }

    #[test]
    fn kept_parts_are_gone_on_with_where_they_are_of_one_object() {
        let object = object(250);
        let kept = |at: u32| {
            let range = ObjectRange {
                offset: at,
                len: 100,
            };
            (at, part(&object, range))
        };
        let there = |kept: &[(u32, Segment)]| Assembly::of_kept(kept.to_vec()).bytes();
        assert_eq!(there(&[kept(0), kept(100)]), 200);
        assert_eq!(there(&[kept(0), kept(200)]), 0, "a gap, and the last");
        assert_eq!(there(&[kept(100)]), 0, "not the first");
        let mut other = kept(100);
        other.1.object.digest[7] ^= 1;
        assert_eq!(there(&[kept(0), other]), 0, "two objects");
        // One that was damaged meanwhile: the digest of the whole shows it, and all is fetched again.
        let mut damaged = kept(0);
        damaged.1.bytes[7] ^= 1;
        let mut there = Assembly::of_kept([damaged]);
        let mut offsets = Vec::new();
        let brought = fetched(&mut there, |_, turn| {
            offsets.push(turn.range.offset);
            came(Some(part(&object, turn.range)))
        });
        let brought = brought.unwrap();
        assert_eq!(brought.object.as_deref(), Some(&object[..]));
        assert_eq!(offsets, [100, 200, 0, 100, 200]);
    }

    #[test]
    fn an_object_that_becomes_another_is_begun_anew_once() {
        let (first, second) = (object(250), object(230));
        let mut there = Assembly::default();
        let mut carried = 0;
        let brought = fetched(&mut there, |_, turn| {
            carried += 1;
            let of = if carried == 1 { &first } else { &second };
            came(Some(part(of, turn.range)))
        });
        let brought = brought.unwrap();
        assert_eq!(brought.object.as_deref(), Some(&second[..]));
        // One of the first, one that told so, three.
        assert_eq!((carried, brought.outcome.summary.attempts), (5, 5));
        let mut turns = 0;
        let brought = fetched(&mut there, |_, turn| {
            turns += 1;
            let of = if turns % 2 == 1 { &first } else { &second };
            came(Some(part(of, turn.range)))
        });
        let brought = brought.unwrap();
        assert_eq!((brought.object, turns), (None, 4));
        let why = brought.outcome.summary.failure.unwrap();
        assert_eq!(why, SegmentError::Changed.to_string());
    }

    #[test]
    fn what_is_too_large_or_has_another_digest_is_nobodys_object() {
        let object = object(150);
        let told = |change: fn(&mut Segment)| {
            let mut there = Assembly::default();
            let brought = fetched(&mut there, |_, turn| {
                let mut part = part(&object, turn.range);
                change(&mut part);
                came(Some(part))
            });
            let brought = brought.unwrap();
            assert_eq!((brought.object, there.bytes()), (None, 0));
            assert!(!brought.outcome.summary.verified);
            brought.outcome.summary.failure.unwrap()
        };
        let large = told(|part| part.object.len = LARGEST + 1);
        assert_eq!(large, SegmentError::TooLarge(LARGEST + 1).to_string());
        let other = told(|part| part.bytes[0] ^= 1);
        assert_eq!(other, SegmentError::Digest.to_string());
        // A source that sends nothing more before the end.
        let short = told(|part| part.bytes.clear());
        assert_eq!(short, SegmentError::Digest.to_string());
    }
}
