//! What surveys that were drawn tell of the bursts in them.

use super::*;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use thalweg_units::{Channel, Dbm, Duration};

/// A survey of ten beacons on each of four channels, whose receivers stand on `floors` floors, and hear those of other floors on
/// some channels. Each floor is in a burst for a `share` of the time, which takes a `hit` of the frames, at all its receivers alike.
fn survey(
    rng: &mut Pcg64Mcg,
    (floors, between): (usize, &[u8]),
    (share, hit): (f64, f64),
    apart: Duration,
) -> LinkQualities {
    let beacons = 10;
    let nodes = 100;
    let mut links = LinkQualities::new(nodes);
    links.set_beacons_apart(apart);
    let stays = libm::exp(-apart.as_secs_f64() / rules::BURST_S);
    let mut inside: Vec<bool> = (0..floors).map(|_| rng.random::<f64>() < share).collect();
    for from in 0..nodes {
        for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
            let mut lost = vec![0; floors];
            for _ in 0..beacons {
                for (inside, lost) in inside.iter_mut().zip(&mut lost) {
                    if rng.random::<f64>() >= stays {
                        *inside = rng.random::<f64>() < share;
                    }
                    *lost += u32::from(*inside && rng.random::<f64>() < hit);
                }
            }
            for to in heard_on(from, nodes, (floors, between), channel) {
                let received = beacons - lost[to % floors];
                (links.record(from, to, channel, received, beacons, Some(Dbm(-70.0)))).unwrap();
            }
        }
    }
    links
}

/// Who hears `from`.
fn heard_on(
    from: usize,
    nodes: usize,
    (floors, between): (usize, &[u8]),
    channel: Channel,
) -> impl Iterator<Item = usize> {
    let is_between = between.contains(&channel.number());
    (0..nodes).filter(move |to| *to != from && (is_between || to % floors == from % floors))
}

/// What beacons of all senders tell.
fn of_all<'a>(surveys: impl IntoIterator<Item = &'a LinkQualities>) -> Option<Bursts> {
    let counted = |links| Survey::counted(links, |_| true);
    let surveys: Vec<Survey> = surveys.into_iter().map(counted).collect();
    told(&surveys, |_| true)
}

const ALL: &[u8] = &[15, 20, 25, 26];

#[test]
fn how_often_how_strong_and_how_wide_bursts_are_is_read_off_counts() {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    // Where floors hear each other on one channel of four, .89 of the hops are on one, and .66 of the pairs that hear one sender.
    for (floors, apart_ms, (share, hit), [along, across]) in [
        ((1, ALL), 10, (0.3, 0.1), [1.0; 2]),
        ((1, ALL), 30, (0.3, 0.1), [1.0; 2]),
        ((2, ALL), 10, (0.2, 0.2), [0.6; 2]),
        ((2, ALL), 10, (0.2, 0.4), [0.6; 2]),
        ((2, ALL), 10, (0.2, 0.05), [0.6; 2]),
        ((2, &[26]), 10, (0.2, 0.2), [0.91, 0.73]),
    ] {
        let apart = Duration::from_millis(apart_ms);
        let surveys: Vec<_> = (0..24)
            .map(|_| survey(&mut rng, floors, (share, hit), apart))
            .collect();
        let bursts = of_all(&surveys).unwrap();
        assert!((bursts.share / share - 1.0).abs() < 0.3, "{bursts:?}");
        // As counted it is a tenth less, and of slow boards a quarter: bursts end between beacons of a turn.
        assert!((bursts.hit / hit - 1.0).abs() < 0.1, "{bursts:?}");
        assert!((bursts.along - along).abs() < 0.1, "{bursts:?}");
        assert!((bursts.across - across).abs() < 0.1, "{bursts:?}");
    }
}

#[test]
fn a_quiet_survey_knows_of_none_and_a_short_one_nothing() {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let quiet = survey(&mut rng, (1, ALL), (0.0, 0.1), rules::BEACONS_APART);
    let quiet = of_all([&quiet]).unwrap();
    assert_eq!(quiet.outage(), 0.0);
    assert_eq!(of_all([&LinkQualities::new(3)]), None);
    let mut long = LinkQualities::new(2);
    let (channel, rssi) = (Channel::new(26).unwrap(), Some(Dbm(-70.0)));
    (long.record(0, 1, channel, u32::MAX - 9, u32::MAX, rssi)).unwrap();
    assert_eq!(of_all([&long]), None);
}

/// Two sweeps over four channels, each of which a burst may take on each of two floors: a `share` of them, and then a `hit`
/// of the beacons.
fn swept(
    rng: &mut Pcg64Mcg,
    between: &[u8],
    (share, hit): (f64, f64),
    apart: Duration,
) -> LinkQualities {
    let nodes = 20;
    let mut links = LinkQualities::new(nodes);
    links.set_beacons_apart(apart);
    let stays = libm::exp(-apart.as_secs_f64() / rules::BURST_S);
    for channel in [15, 20, 25, 26].map(|n| Channel::new(n).unwrap()) {
        let mut inside = [[(); 2]; 2].map(|floors| floors.map(|()| rng.random::<f64>() < share));
        for from in 0..nodes {
            for inside in inside.as_flattened_mut() {
                if rng.random::<f64>() >= stays {
                    *inside = rng.random::<f64>() < share;
                }
            }
            // What takes a beacon takes it on a whole floor.
            let taken = inside.map(|floors| floors.map(|on| on && rng.random::<f64>() < hit));
            for to in heard_on(from, nodes, (2, between), channel) {
                let received = taken.iter().filter(|floors| !floors[to % 2]).count() as u32;
                (links.record(from, to, channel, received, 2, Some(Dbm(-70.0)))).unwrap();
            }
        }
    }
    links
}

#[test]
fn who_takes_so_many_beacons_takes_so_many_frames() {
    // Foreign frames of half a millisecond at any moment, so many a millisecond, and ours of so many bytes with preamble, SFD
    // and length.
    for rate in [0.001, 0.02, 0.2] {
        let taken = |bytes: f64| 1.0 - libm::exp(-rate * ((bytes + 6.0) * 0.032 + 0.5));
        let of_long_frames = rules::of_long_frames(taken(rules::SWEPT_BYTES as f64));
        let error = of_long_frames / taken(127.0) - 1.0;
        assert!(error.abs() < 1e-9, "{of_long_frames}");
    }
    assert!((rules::of_long_frames(0.036) - 0.096).abs() < 0.001);
}

#[test]
fn sweeps_tell_them_by_their_senders() {
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    for (between, apart_ms, (share, hit), [along, across]) in [
        (ALL, 2, (0.1, 0.05), [0.5; 2]),
        (ALL, 2, (0.05, 0.1), [0.5; 2]),
        (ALL, 2, (0.2, 0.2), [0.58; 2]),
        // As counted a third less: most bursts end within such a sweep.
        (ALL, 80, (0.2, 0.2), [0.58; 2]),
        (&[26], 2, (0.2, 0.2), [0.88, 0.63]),
    ] {
        let apart = Duration::from_millis(apart_ms);
        let surveys: Vec<_> = (0..300)
            .map(|_| swept(&mut rng, between, (share, hit), apart))
            .collect();
        let bursts = of_all(&surveys).unwrap();
        assert!((bursts.share / share - 1.0).abs() < 0.3, "{bursts:?}");
        let hit = rules::of_long_frames(hit);
        assert!((bursts.hit / hit - 1.0).abs() < 0.2, "{bursts:?}");
        assert!((bursts.along - along).abs() < 0.15, "{bursts:?}");
        assert!((bursts.across - across).abs() < 0.15, "{bursts:?}");
    }
}

#[test]
fn of_few_bursts_what_is_rare_is_expected_as_often_as_it_comes() {
    let mut rng = Pcg64Mcg::seed_from_u64(13);
    let (share, hit) = (0.2, 0.1);
    let truth = Bursts {
        share,
        hit: rules::of_long_frames(hit),
        ..Bursts::NONE
    };
    // As a look is lame: hardly ever in weak bursts, and in each that is strong.
    let lame = |bursts: &Bursts| {
        let strength = bursts.hit / truth.hit;
        bursts.share * (1.0 - libm::exp(-strength * strength))
    };
    let surveys = 500;
    let expected = (0..surveys).map(|_| {
        let survey = swept(&mut rng, ALL, (share, hit), rules::SWEPT_APART);
        let learned = LearnedBursts::of([&survey], |_| true).unwrap();
        learned.expect(lame)
    });
    let expected = expected.sum::<f64>() / f64::from(surveys);
    // Of what all senders tell it is a fifth less.
    assert!((expected / lame(&truth) - 1.0).abs() < 0.1, "{expected}");
    let known = LearnedBursts::from(truth).expect(lame);
    assert!((known / lame(&truth) - 1.0).abs() < 1e-9, "{known}");
}
