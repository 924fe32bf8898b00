use super::*;
use crate::job::RetryMode;
use crate::object::digest;
use crate::outcome::tests::whole_and_failed;

const PAUSE: Duration = Duration::from_secs(4);
const TERMS: FetchTerms = FetchTerms {
    segment_bytes: 100,
    expected: 40,
    retry: Retry {
        attempts: 3,
        mode: RetryMode::NewPlan,
    },
};

fn object(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// What a source that has `object` sends of `range`.
fn segment(object: &[u8], range: ObjectRange) -> Segment {
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

type CarryResult = Result<(Outcome<()>, Option<Segment>), &'static str>;

fn arrived(segment: Option<Segment>) -> CarryResult {
    let (mut summary, failed) = whole_and_failed();
    match &segment {
        Some(segment) => summary.bytes = segment.bytes.len() as u64,
        None => summary = failed,
    }
    Ok((
        Outcome {
            summary,
            details: (),
        },
        segment,
    ))
}

fn run_fetch(
    assembly: &mut Assembly,
    carry: impl FnMut(&u32, Attempt) -> CarryResult,
) -> Result<FetchResult<()>, &'static str> {
    let rest = |_: &u32| Duration::from_secs(1);
    let next = |plan: &u32, _| Some((plan + 1, PAUSE));
    fetch(assembly, TERMS, 10, rest, carry, next)
}

#[test]
fn parts_follow_each_other_over_the_plan_that_brought_the_last() {
    for len in [1, 99, 100, 101, 200, 250] {
        let object = object(len);
        let mut attempts = Vec::new();
        let result = run_fetch(&mut Assembly::default(), |plan, attempt| {
            attempts.push((*plan, attempt.number, attempt.of, attempt.range.offset));
            // The first plan brings nothing.
            arrived((*plan > 10).then(|| segment(&object, attempt.range)))
        });
        let result = result.unwrap();
        assert_eq!(result.object.as_deref(), Some(&object[..]));
        let summary = &result.outcome.summary;
        assert_eq!((summary.bytes, summary.verified), (u64::from(len), true));
        let segments = len.div_ceil(100);
        assert_eq!((result.segments, result.plans), (segments, 2));
        // Failed once, came so often, with a pause between.
        let s = 5.0 + 4.0 + 3.0 * f64::from(segments) + f64::from(segments - 1);
        assert_eq!(summary.duration_s, s, "{len}");
        let expected = (1..segments).map(|at| (11, at + 1, segments, 100 * at));
        let begun = [(10, 1, 1, 0), (11, 1, 1, 0)].into_iter();
        assert_eq!(attempts, begun.chain(expected).collect::<Vec<_>>());
    }
}

#[test]
fn a_part_that_does_not_come_ends_it_and_the_next_fetch_goes_on() {
    let (object, mut assembly) = (object(250), Assembly::default());
    let result = run_fetch(&mut assembly, |_, attempt| {
        let is_there = attempt.range.offset < 200;
        arrived(is_there.then(|| segment(&object, attempt.range)))
    });
    let result = result.unwrap();
    assert_eq!((result.object, result.segments, result.plans), (None, 3, 3));
    let summary = result.outcome.summary;
    assert_eq!((summary.bytes, summary.verified), (0, false));
    assert_eq!((assembly.bytes(), assembly.object_len()), (200, Some(250)));
    // The line breaks, and is back.
    let broken = run_fetch(&mut assembly, |_, _| Err("the line is down"));
    assert_eq!(broken.map(|_| ()), Err("the line is down"));
    let result = run_fetch(&mut assembly, |_, attempt| {
        assert_eq!((attempt.number, attempt.of, attempt.bytes), (3, 3, 250));
        arrived(Some(segment(&object, attempt.range)))
    });
    let result = result.unwrap();
    assert_eq!(result.object.as_deref(), Some(&object[..]));
    assert_eq!((result.outcome.summary.bytes, result.segments), (250, 3));
    assert_eq!(
        assembly.bytes(),
        0,
        "nothing is kept of an object that is whole"
    );
}

#[test]
fn kept_parts_are_gone_on_with_where_they_are_of_one_object() {
    let object = object(250);
    let stored = |at: u32| {
        let range = ObjectRange {
            offset: at,
            len: 100,
        };
        (at, segment(&object, range))
    };
    let assembly = |stored: &[(u32, Segment)]| Assembly::of_stored(stored.to_vec()).bytes();
    assert_eq!(assembly(&[stored(0), stored(100)]), 200);
    assert_eq!(
        assembly(&[stored(0), stored(200)]),
        0,
        "a gap, and the last"
    );
    assert_eq!(assembly(&[stored(100)]), 0, "not the first");
    let mut other = stored(100);
    other.1.object.digest[7] ^= 1;
    assert_eq!(assembly(&[stored(0), other]), 0, "two objects");
    // One that was damaged meanwhile: the digest of the whole shows it, and all is fetched again.
    let mut damaged = stored(0);
    damaged.1.bytes[7] ^= 1;
    let mut assembly = Assembly::of_stored([damaged]);
    let mut offsets = Vec::new();
    let result = run_fetch(&mut assembly, |_, attempt| {
        offsets.push(attempt.range.offset);
        arrived(Some(segment(&object, attempt.range)))
    });
    let result = result.unwrap();
    assert_eq!(result.object.as_deref(), Some(&object[..]));
    assert_eq!(offsets, [100, 200, 0, 100, 200]);
}

#[test]
fn an_object_that_becomes_another_is_begun_anew_once() {
    let (first, second) = (object(250), object(230));
    let mut assembly = Assembly::default();
    let mut carried = 0;
    let result = run_fetch(&mut assembly, |_, attempt| {
        carried += 1;
        let of = if carried == 1 { &first } else { &second };
        arrived(Some(segment(of, attempt.range)))
    });
    let result = result.unwrap();
    assert_eq!(result.object.as_deref(), Some(&second[..]));
    // One of the first, one that told so, three.
    assert_eq!((carried, result.outcome.summary.attempts), (5, 5));
    let mut attempts = 0;
    let result = run_fetch(&mut assembly, |_, attempt| {
        attempts += 1;
        let of = if attempts % 2 == 1 { &first } else { &second };
        arrived(Some(segment(of, attempt.range)))
    });
    let result = result.unwrap();
    assert_eq!((result.object, attempts), (None, 4));
    let why = result.outcome.summary.failure.unwrap();
    assert_eq!(why, SegmentError::Changed.to_string());
}

#[test]
fn what_is_too_large_or_has_another_digest_is_nobodys_object() {
    let object = object(150);
    let expected = |change: fn(&mut Segment)| {
        let mut assembly = Assembly::default();
        let result = run_fetch(&mut assembly, |_, attempt| {
            let mut segment = segment(&object, attempt.range);
            change(&mut segment);
            arrived(Some(segment))
        });
        let result = result.unwrap();
        assert_eq!((result.object, assembly.bytes()), (None, 0));
        assert!(!result.outcome.summary.verified);
        result.outcome.summary.failure.unwrap()
    };
    let large = expected(|segment| segment.object.len = LARGEST + 1);
    assert_eq!(large, SegmentError::TooLarge(LARGEST + 1).to_string());
    let other = expected(|segment| segment.bytes[0] ^= 1);
    assert_eq!(other, SegmentError::Digest.to_string());
    // It is not asked again.
    let none = expected(|segment| {
        segment.bytes.clear();
        segment.object = ObjectInfo::NONE;
    });
    assert_eq!(none, SegmentError::NoRecording.to_string());
    // A source that sends nothing more before the end.
    let short = expected(|segment| segment.bytes.clear());
    assert_eq!(short, SegmentError::Digest.to_string());
}

/// An object of a secured network, in parts as they are decrypted, is whole by its tag alone.
#[test]
fn what_a_node_without_the_key_sends_is_no_object() {
    let keys = crate::security::NetworkKeys::new(thalweg_wire::seal::MasterKey::new(
        thalweg_wire::seal::Key::new([9; 16]),
    ));
    let (node, other) = (NodeId::new(7).unwrap(), NodeId::new(8).unwrap());
    let mut memory = crate::object::Memory::proving(keys.proof(node));
    let plain = object(250);
    memory.offer(plain.clone().into());
    let told = memory_info(&memory);
    assert_ne!(told.digest, digest(&plain));
    let parts = |memory: &crate::object::Memory, proof: &Proof| {
        [0, 100, 200].map(|offset| {
            let mut bytes = vec![0; 100.min(250 - offset as usize)];
            thalweg_protocols::object::ObjectStore::read(memory, offset, &mut bytes);
            proof.open(&told.digest, offset, &mut bytes);
            Segment {
                bytes,
                object: told,
            }
        })
    };
    let assembled = |proof: Proof, parts: &[Segment]| {
        let mut assembly = Assembly::default();
        assembly.prove_by(proof);
        let mut last = Ok(None);
        for part in parts {
            last = assembly.add(part.clone());
        }
        last
    };
    let right = parts(&memory, &keys.proof(node));
    assert_eq!(assembled(keys.proof(node), &right), Ok(Some(plain)));
    // Not another node's, not without decryption, not by a digest, and not with a changed bit.
    for (proof, sent) in [
        (keys.proof(other), right.clone()),
        (keys.proof(node), parts(&memory, &Proof::Digest)),
        (Proof::Digest, right.clone()),
    ] {
        assert_eq!(assembled(proof, &sent), Err(SegmentError::Digest));
    }
    for part in 0..3 {
        let mut changed = right.clone();
        changed[part].bytes[17] ^= 4;
        assert_eq!(
            assembled(keys.proof(node), &changed),
            Err(SegmentError::Digest)
        );
    }
    // An attacker's own object, with a digest that anybody can compute.
    let own = segment(&object(90), ObjectRange::ALL);
    assert_eq!(
        assembled(keys.proof(node), &[own]),
        Err(SegmentError::Digest)
    );
}

fn memory_info(memory: &crate::object::Memory) -> ObjectInfo {
    thalweg_protocols::object::ObjectStore::info(memory)
}
