//! What the medium does on small benches, against closed forms and what is known of CC2420
//! radios: sensitivity, capture, and synchronous senders (P3, section II; Glossy). The table of
//! all of it: `cargo test -p thalweg-medium --release --test all facts -- --ignored --nocapture`.

use crate::common::{against, bench, bench_each, equal, Sender};
use std::sync::Arc;
use thalweg_medium::chip::{CC1000, CC2420};
use thalweg_medium::{Air, Cause, EarId, Environment, Explain, Medium, Outcome, Sending};
use thalweg_units::{Channel, Db, Dbm, Duration, SimTime};

const LATE: Duration = Duration::from_micros(400);

#[test]
fn sensitivity_is_the_data_sheets() {
    // PER 1 % of 20 bytes at -95.3 dBm; long frames fall within 3 dB.
    for (level, psdu, low, high) in [
        (-95.3, 20, 0.975, 0.998),
        (-97.5, 127, 0.0, 0.15),
        (-96.6, 127, 0.42, 0.58),
        (-95.5, 127, 0.88, 0.95),
        (-94.5, 127, 0.985, 1.0),
    ] {
        let prr = bench(&equal(1, Dbm(level)), psdu, 2000, 0.0);
        // Below the lock threshold (-97 dBm) nothing is received at all.
        assert!(
            (low..=high).contains(&prr),
            "{psdu} B at {level} dBm: {prr}"
        );
    }
}

#[test]
fn capture_takes_three_decibels() {
    for (sir, psdu, low, high) in [
        (0.0, 20, 0.0, 0.03),
        (1.0, 20, 0.03, 0.16),
        (2.0, 20, 0.74, 0.90),
        (3.0, 20, 0.97, 1.0),
        (1.0, 127, 0.0, 0.02),
        (2.0, 127, 0.22, 0.44),
        (3.0, 127, 0.90, 0.98),
    ] {
        // The interferer begins after the lock, and lasts as long.
        let prr = bench(&against(Db(sir), Duration::from_micros(5)), psdu, 2000, 0.0);
        assert!(
            (low..=high).contains(&prr),
            "{psdu} B at SIR {sir} dB: {prr}"
        );
    }
}

#[test]
fn only_the_preamble_can_be_stolen() {
    // An interferer 6 dB stronger: takes the receiver while the first frame's SFD is not over.
    let second = |late| {
        let mut of_first = 0;
        let senders = [
            Sender {
                level: Dbm(-60.0),
                delay: late,
                frame: 0,
            },
            Sender {
                level: Dbm(-66.0),
                delay: Duration::ZERO,
                frame: 1,
            },
        ];
        bench_each(&senders, 60, 100, 0.0, |r| {
            of_first += u32::from(r.outcome == Outcome::Good);
        });
        of_first
    };
    assert_eq!(second(Duration::from_micros(100)), 100);
    assert_eq!(second(Duration::from_micros(400)), 0);
}

#[test]
fn two_equal_synchronous_senders_are_the_worst_case() {
    let prr = |n, psdu, sigma| bench(&equal(n, Dbm(-70.0)), psdu, 1500, sigma);
    let two = prr(2, 127, 100.0);
    assert!((0.68..0.84).contains(&two), "{two}");
    let short = prr(2, 8, 100.0);
    assert!((0.87..0.97).contains(&short), "{short}");
    assert!(prr(3, 127, 100.0) > two);
    // More timing error, more loss; and more senders, more loss.
    assert!(prr(10, 127, 150.0) < prr(3, 127, 150.0) - 0.1);
    assert!(prr(3, 127, 200.0) < prr(3, 127, 100.0) - 0.1);
}

#[test]
fn capture_repairs_two_synchronous_senders() {
    let mut senders = equal(2, Dbm(-70.0));
    senders[1].level = Dbm(-75.0);
    assert!(bench(&senders, 127, 1000, 100.0) > 0.93);
}

#[test]
fn a_copy_eight_microseconds_late_is_interference() {
    let mut senders = equal(2, Dbm(-70.0));
    senders[1].delay = Duration::from_micros(8);
    assert!(bench(&senders, 127, 500, 0.0) < 0.05);
    assert!(bench(&senders, 8, 500, 0.0) < 0.15);
}

#[test]
fn losses_have_the_cause_that_made_them() {
    let causes = |senders: &[Sender], sigma| {
        let mut causes = Vec::new();
        bench_each(senders, 127, 400, sigma, |r| {
            if let Outcome::Corrupt(cause) = r.outcome {
                causes.extend(cause);
            }
        });
        causes
    };
    let mostly = |causes: &[Cause], cause| {
        let share = causes.iter().filter(|c| **c == cause).count();
        assert!(
            share * 10 >= causes.len() * 9 && causes.len() > 20,
            "{causes:?}"
        );
    };
    mostly(&causes(&equal(1, Dbm(-96.6)), 0.0), Cause::Weak);
    mostly(&causes(&equal(2, Dbm(-70.0)), 100.0), Cause::BeatNull);
    // The two do not hear each other.
    mostly(&causes(&against(Db(-3.0), LATE), 0.0), Cause::Hidden);
}

#[test]
fn mica2_frames_take_their_time_and_capture_its_power() {
    let prr = |levels: &[f64]| {
        let env = Environment::from_gains(levels.len() + 1, &CC1000, 1, |from, to, _| {
            (to == 0 && from > 0).then(|| Dbm(levels[from - 1]))
        });
        let mut medium = Medium::new(Arc::new(env), 1);
        assert_eq!(CC1000.phy.air_time(36).as_micros(), 23_333);
        let (mut locked, mut received) = (Vec::new(), Vec::new());
        medium.listen(SimTime::ZERO, EarId(0), Channel::FIRST);
        for i in 1..=400u64 {
            let at = SimTime::from_nanos(i * 50_000_000);
            let mut send = |from: u32, late| {
                let at = at + Duration::from_millis(late);
                let mpdu = [from as u8; 36];
                let channel = Channel::FIRST;
                let tx = medium.begin(
                    at,
                    &Sending::of(&CC1000, EarId(from), channel, Dbm(0.0), &mpdu),
                    &mut locked,
                );
                (at + CC1000.phy.air_time(36), tx)
            };
            let mut sent = vec![send(1, 0)];
            if levels.len() > 1 {
                // After the preamble.
                sent.push(send(2, 12));
            }
            for (at, tx) in sent {
                medium.end(at, tx, Explain::Losses, &mut received, &mut locked);
            }
        }
        received
            .iter()
            .filter(|r| r.outcome == Outcome::Good)
            .count() as f64
            / 400.0
    };
    // Bit error rate 1e-3 at -101 dBm: (1 - 1e-3)^(8 * 39).
    assert!((prr(&[-101.0]) - 0.73).abs() < 0.08);
    assert!(prr(&[-95.0]) > 0.99);
    assert!(prr(&[-70.0, -71.0]) < 0.05);
    assert!(prr(&[-70.0, -79.0]) > 0.9);
}

#[test]
#[ignore = "prints the whole table; takes some seconds in release"]
fn the_table() {
    let frames = 6000;
    println!("single link, PRR 127 B (closed form .08 .50 .92 .994):");
    for level in [-97.5, -96.6, -95.5, -94.5] {
        println!(
            "  {level:6.1} dBm  {:.3}",
            bench(&equal(1, Dbm(level)), 127, frames, 0.0)
        );
    }
    println!(
        "  PRR 20 B at -95.3 dBm {:.3}",
        bench(&equal(1, Dbm(-95.3)), 20, frames, 0.0)
    );
    println!("capture, SIR 0 1 2 3 dB:");
    for psdu in [20, 127] {
        let row: Vec<_> = (0..4)
            .map(|sir| {
                let senders = against(Db(f64::from(sir)), Duration::from_micros(5));
                format!("{:.2}", bench(&senders, psdu, frames, 0.0))
            })
            .collect();
        println!("  {psdu:3} B  {}", row.join(" "));
    }
    println!("synchronous, -70 dBm each, n = 1 2 3 4 6 8 10:");
    for (sigma, spread) in [
        (50.0, 0.0),
        (100.0, 0.0),
        (150.0, 0.0),
        (200.0, 0.0),
        (150.0, 4.0),
    ] {
        for psdu in [8, 32, 127] {
            let row: Vec<_> = [1, 2, 3, 4, 6, 8, 10]
                .into_iter()
                .map(|n| {
                    let mut senders = equal(n, Dbm(-70.0));
                    for (i, sender) in senders.iter_mut().enumerate() {
                        let step = if n > 1 {
                            i as f64 / (n - 1) as f64
                        } else {
                            0.0
                        };
                        sender.level = Dbm(-70.0 - spread * step);
                    }
                    format!("{:.2}", bench(&senders, psdu, frames, sigma))
                })
                .collect();
            println!(
                "  sigma {sigma:3} ns, spread {spread} dB, {psdu:3} B  {}",
                row.join(" ")
            );
        }
    }
    println!("two equal senders, fixed offset 0 .1 .2 .3 .4 .5 us, 8 us:");
    for psdu in [8, 127] {
        let row: Vec<_> = [0, 100, 200, 300, 400, 500, 8000]
            .into_iter()
            .map(|offset| {
                let mut senders = equal(2, Dbm(-70.0));
                senders[1].delay = Duration::from_nanos(offset);
                format!("{:.2}", bench(&senders, psdu, frames, 0.0))
            })
            .collect();
        println!("  {psdu:3} B  {}", row.join(" "));
    }
}

/// A third frame finds the receiver free where, and only where, the header of the first was wrong.
#[test]
fn a_wrong_header_frees_the_receiver_and_a_right_one_does_not() {
    // The first frame's sender, a synchronous one, a jammer of the header, and who comes later.
    let levels = [-70.0, -72.0, -70.4, -60.0];
    let env = Environment::from_gains(5, &CC2420, 1, |from, to, _| {
        (to == 0 && from > 0).then(|| Dbm(levels[from - 1]))
    });
    let (env, ear, ch) = (Arc::new(env), EarId(0), Channel::LAST);
    for starts_us in [
        &[(1, 0), (3, 20), (4, 600)][..],
        &[(1, 0), (2, 0), (3, 20), (4, 600)],
    ] {
        let mut air = Medium::new(Arc::clone(&env), 1);
        air.listen(SimTime::ZERO, ear, ch);
        let (mut freed, frames) = (0, 500);
        for n in 1..=frames {
            let at = SimTime::from_nanos(n * 10_000_000);
            let (mut sent, mut received, mut wrong) = (Vec::new(), Vec::new(), false);
            let mut locked = Vec::new();
            for &(from, us) in starts_us {
                let start = at + Duration::from_micros(us);
                if let (4, Some((first, _))) = (from, sent.first()) {
                    wrong = air.troubles(start, ear, *first).0.is_some();
                }
                locked.clear();
                // Synchronous senders send the same.
                let mpdu = [if from < 3 { 1 } else { from as u8 }; 60];
                let tx = air.begin(
                    start,
                    &Sending::of(&CC2420, EarId(from), ch, Dbm(0.0), &mpdu),
                    &mut locked,
                );
                let locks = from == 1 || from == 4 && wrong;
                assert_eq!(
                    locked.iter().any(|l| l.ear == ear),
                    locks,
                    "frame {n}, sender {from}"
                );
                sent.push((tx, start + CC2420.phy.air_time(60)));
            }
            for (tx, end) in sent {
                air.end(end, tx, Explain::Losses, &mut received, &mut locked);
            }
            freed += u32::from(wrong);
        }
        let share = f64::from(freed) / frames as f64;
        assert!((0.4..0.9).contains(&share), "{share}");
    }
}
