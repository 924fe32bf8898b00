//! The ether against closed forms: sensitivity, capture, sums of interferers, causes of loss.

use super::*;
use crate::chip::{Chip, CC1000, CC2420};
use crate::modem::Demodulator;
use thalweg_units::{Channel, Db, Duration};

/// Ears in a row with these gains (dBm at 0 dBm), the same both ways.
fn reach(chip: &'static Chip, count: usize, gain: impl Fn(usize, usize) -> Option<f64>) -> Reach {
    let env = crate::Environment::from_gains(count, chip, 1, |a, b, channel| {
        (channel == Channel::LAST)
            .then(|| gain(a.min(b), a.max(b)).map(Dbm))
            .flatten()
    });
    Reach::of_environment(&env, chip, Channel::LAST, Dbm(0.0))
}

fn sending(chip: &Chip, from: u32, to: u32, bytes: usize) -> Sending<'static> {
    Sending {
        to: Some(EarId(to)),
        ..Sending::of(
            chip,
            EarId(from),
            Channel::LAST,
            Dbm(0.0),
            &[0; 125][..bytes],
        )
    }
}

fn at(us: u64) -> SimTime {
    SimTime::from_nanos(us * 1_000)
}

/// Share of frames of `from` that `to` gets, of 400, with `disturb` sending all the time.
fn prr(reach: &Reach, bytes: usize, disturb: &[u32]) -> (f64, Vec<Cause>) {
    let chip = reach.chip;
    let mut ether = Ether::new(reach.clone(), 7);
    let (mut now, mut good, mut losses) = (SimTime::ZERO, 0, Vec::new());
    let air = chip.phy.air_time(bytes);
    for _ in 0..400 {
        now += Duration::from_millis(10);
        ether.listen(now, EarId(1), Channel::LAST);
        let mut frames = vec![ether.begin(now, &sending(chip, 0, 1, bytes), &mut Vec::new())];
        for &other in disturb {
            let mut noise = sending(chip, other, 9, bytes);
            noise.to = None;
            frames.push(ether.begin(now + chip.phy.sfd_offset(), &noise, &mut Vec::new()));
        }
        now += air;
        let mut heard = Vec::new();
        let loss = ether.end(now, frames[0], Explain::No, &mut heard, &mut Vec::new());
        good += usize::from(
            heard
                .iter()
                .any(|h| h.ear == EarId(1) && h.outcome == Outcome::Good),
        );
        losses.extend(loss);
        now += chip.phy.sfd_offset();
        for frame in &frames[1..] {
            ether.end(now, *frame, Explain::No, &mut heard, &mut Vec::new());
        }
        let totals = (0..ether.ears.len()).map(|e| ether.tallies.get(e).unwrap().total);
        assert!(totals.eq(ether.ears.iter().map(|_| 0)));
        assert!(ether.ears.iter().all(|ear| ear.near.is_empty()));
    }
    (good as f64 / 400.0, losses)
}

#[test]
fn single_links_follow_the_closed_form() {
    for (chip, level, bytes) in [
        (&CC2420, -96.6, 125),
        (&CC2420, -97.5, 125),
        (&CC1000, -102.0, 36),
        (&CC1000, -103.0, 36),
    ] {
        let reach = reach(chip, 2, |_, _| Some(level));
        let (seen, losses) = prr(&reach, bytes, &[]);
        let env = crate::Environment::full_mesh(2, chip, Dbm(level), 1);
        let psdu = bytes + chip.phy.fcs_bytes as usize;
        let expected = env.prr(EarId(0), EarId(1), Channel::LAST, psdu, Dbm(0.0));
        assert!(
            (seen - expected).abs() < 0.08,
            "{}: {seen} {expected}",
            chip.name
        );
        assert!(losses.iter().all(|loss| *loss == Cause::Weak));
    }
}

#[test]
fn the_cc1000_is_as_sensitive_as_its_data_sheet_says() {
    // A bit error rate of 1e-3 at -101 dBm.
    let snr = Db(-101.0 - CC1000.noise_floor.0).factor();
    let hazard = Demodulator::default().hazard(CC1000.modem, snr);
    assert!((3e-4..3e-3).contains(&hazard), "{hazard}");
}

#[test]
fn capture_needs_five_to_six_decibels() {
    let with = |sir: f64| {
        let gain = move |a: usize, b: usize| match (a, b) {
            (0, 1) => Some(-80.0),
            (1, 2) => Some(-80.0 - sir),
            _ => None,
        };
        prr(&reach(&CC1000, 3, gain), 36, &[2])
    };
    let (weak, losses) = with(3.0);
    assert!(weak < 0.1, "{weak}");
    // The two cannot sense each other.
    assert!(losses.iter().all(|loss| *loss == Cause::Hidden));
    assert!(with(8.0).0 > 0.95);
}

#[test]
fn who_could_have_sensed_the_other_collides() {
    let reach = reach(&CC1000, 3, |_, _| Some(-80.0));
    let (good, losses) = prr(&reach, 36, &[2]);
    assert!(good < 0.05 && losses.iter().all(|loss| *loss == Cause::Collision));
}

#[test]
fn many_far_senders_raise_the_noise_floor() {
    // Each alone leaves the frame right; twelve together do not.
    let gain = |a: usize, b: usize| match (a, b) {
        (0, 1) => Some(-97.0),
        (1, _) => Some(-108.5),
        _ => None,
    };
    let reach = reach(&CC1000, 14, gain);
    assert!(prr(&reach, 36, &[2]).0 > 0.95);
    let others: Vec<u32> = (2..14).collect();
    let (good, losses) = prr(&reach, 36, &others);
    assert!(good < 0.2, "{good}");
    assert!(losses.iter().all(|loss| *loss == Cause::NoiseFloor));
}

#[test]
fn a_receiver_that_comes_on_finds_a_preamble_that_goes_on_and_no_other() {
    let reach = reach(&CC1000, 2, |_, _| Some(-80.0));
    for (later_us, found) in [(6_000, true), (8_000, false)] {
        let mut ether = Ether::new(reach.clone(), 1);
        let frame = ether.begin(at(0), &sending(&CC1000, 0, 1, 36), &mut Vec::new());
        ether.listen(at(later_us), EarId(1), Channel::LAST);
        assert_eq!(ether.receiving(EarId(1)).is_some(), found);
        let mut heard = Vec::new();
        let loss = ether.end(
            at(0) + CC1000.phy.air_time(36),
            frame,
            Explain::No,
            &mut heard,
            &mut Vec::new(),
        );
        assert_eq!(heard.len(), usize::from(found));
        assert_eq!(loss, (!found).then_some(Cause::Deaf));
    }
}

#[test]
fn an_acknowledgement_is_heard_by_the_one_that_waits_alone() {
    let reach = reach(&CC1000, 3, |_, _| Some(-80.0));
    let mut ether = Ether::new(reach, 1);
    ether.listen(at(0), EarId(1), Channel::LAST);
    ether.listen(at(0), EarId(2), Channel::LAST);
    let ack = Sending {
        lead: Lead::Expected,
        ..sending(&CC1000, 0, 1, 4)
    };
    let frame = ether.begin(at(10), &ack, &mut Vec::new());
    let mut heard = Vec::new();
    assert_eq!(
        ether.end(at(2_000), frame, Explain::No, &mut heard, &mut Vec::new()),
        None
    );
    assert_eq!(heard.len(), 1);
    assert!(heard[0].outcome == Outcome::Good && heard[0].ear == EarId(1));
}

/// Share of acknowledgements of node 0 that node 1 gets, which waits for them, beside what node 2 sends.
fn acknowledged(air: &mut impl Air, chip: &Chip, disturbed: bool) -> f64 {
    let (mut good, times) = (0, 400);
    for k in 1..=times {
        let now = at(k * 100_000);
        air.listen(now, EarId(1), Channel::LAST);
        let ack = Sending {
            lead: Lead::Expected,
            air: chip.phy.symbol * (8 * 14),
            ..sending(chip, 0, 1, 3)
        };
        let (got, none) = (&mut Vec::new(), &mut Vec::new());
        let frame = air.begin(now, &ack, none);
        let other = disturbed.then(|| air.begin(now, &sending(chip, 2, 9, 60), none));
        air.end(now + ack.air, frame, Explain::No, got, none);
        good += got.iter().filter(|r| r.outcome == Outcome::Good).count();
        let end = now + chip.phy.air_time(60);
        other.map(|other| air.end(end, other, Explain::No, &mut Vec::new(), none));
    }
    good as f64 / times as f64
}

#[test]
fn an_acknowledgement_is_lost_to_noise_and_to_others_as_any_frame_is() {
    // Of 14 bytes at 1e-3 a bit, .89 arrive.
    for (level, other, least, most) in [
        (-80.0, None, 1.0, 1.0),
        (-101.0, None, 0.83, 0.95),
        (-107.0, None, 0.0, 0.0),
        (-80.0, Some(-79.0), 0.0, 0.02),
        (-80.0, Some(-90.0), 0.98, 1.0),
    ] {
        let env = crate::Environment::from_gains(3, &CC1000, 1, |from, _, channel| {
            let level = if from == 2 { other? } else { level };
            (channel == Channel::LAST).then_some(Dbm(level))
        });
        let reach = Reach::of_environment(&env, &CC1000, Channel::LAST, Dbm(0.0));
        let mut medium = crate::Medium::new(std::sync::Arc::new(env), 3);
        let shares = [
            acknowledged(&mut Ether::new(reach, 3), &CC1000, other.is_some()),
            acknowledged(&mut medium, &CC1000, other.is_some()),
        ];
        for share in shares {
            assert!(
                (least..=most).contains(&share),
                "{level} {other:?}: {shares:?}"
            );
        }
    }
}

#[test]
fn links_are_found_through_the_grid_and_cost_little() {
    let places: Vec<(f64, f64)> = (0..300)
        .map(|k| (f64::from(k % 20) * 40.0, f64::from(k / 20) * 40.0))
        .collect();
    let reach = Reach::of_places(&places, &CC2420, Db(40.0), Db(30.0), Dbm(0.0));
    let limit = CC2420.noise_floor.0 - 20.0;
    let mut links = 0;
    for (i, a) in places.iter().enumerate() {
        for (j, b) in places.iter().enumerate().filter(|(j, _)| *j != i) {
            let d = ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt();
            let level = -40.0 - 30.0 * d.log10();
            let found = reach.gain(EarId(i as u32), EarId(j as u32));
            if (level - limit).abs() > 1e-6 {
                assert_eq!(found.is_some(), level > limit, "{i} {j}");
            }
            links += usize::from(found.is_some());
            assert!(found.is_none_or(|g| (g.0 - level).abs() < 1e-4));
        }
    }
    assert_eq!(reach.links(), links);
    assert!(std::mem::size_of::<reach::Path>() + std::mem::size_of::<(u32, Grains)>() < 64);
}

#[test]
fn a_long_preamble_is_found_at_any_time_before_its_end_and_not_after() {
    // 490 bytes of 417 us: 204 ms, before 2 bytes of sync word and 36 of frame.
    let reach = reach(&CC1000, 2, |_, _| Some(-80.0));
    let byte = CC1000.phy.symbol * u64::from(CC1000.phy.symbols_per_byte);
    let air = byte * (490 + 2 + 36);
    for (later_ms, found) in [(1, true), (100, true), (203, true), (205, false)] {
        let mut ether = Ether::new(reach.clone(), 1);
        let lead = Lead::Preamble(490);
        let frame = ether.begin(
            at(0),
            &Sending {
                lead,
                air,
                ..sending(&CC1000, 0, 1, 36)
            },
            &mut Vec::new(),
        );
        ether.listen(at(later_ms * 1_000), EarId(1), Channel::LAST);
        let mut heard = Vec::new();
        let loss = ether.end(at(0) + air, frame, Explain::No, &mut heard, &mut Vec::new());
        assert_eq!(
            heard.iter().any(|h| h.outcome == Outcome::Good),
            found,
            "{later_ms}"
        );
        assert_eq!(loss, (!found).then_some(Cause::Deaf));
    }
}

#[test]
fn who_found_a_long_preamble_late_did_not_lose_its_frame_by_having_slept() {
    let reach = reach(&CC1000, 2, |_, _| Some(-104.5));
    let byte = CC1000.phy.symbol * u64::from(CC1000.phy.symbols_per_byte);
    let air = byte * (490 + 2 + 36);
    let mut ether = Ether::new(reach, 1);
    let mut losses = std::collections::BTreeSet::new();
    for k in 0..20 {
        let begin = SimTime::from_nanos(k * 1_000_000_000);
        let lead = Lead::Preamble(490);
        let frame = ether.begin(
            begin,
            &Sending {
                lead,
                air,
                ..sending(&CC1000, 0, 1, 36)
            },
            &mut Vec::new(),
        );
        ether.listen(begin + byte * 200, EarId(1), Channel::LAST);
        assert!(ether.receiving(EarId(1)).is_some());
        let (got, locked) = (&mut Vec::new(), &mut Vec::new());
        losses.extend(ether.end(begin + air, frame, Explain::No, got, locked));
        ether.deafen(begin + air, EarId(1), Deaf::Sleeping);
    }
    assert_eq!(losses.into_iter().collect::<Vec<_>>(), [Cause::Weak]);
}
