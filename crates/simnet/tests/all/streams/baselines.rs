//! The single-radio protocols, whose shares of the radio's rate follow from their slots and copies.

use super::*;

fn share(got: &Stream) -> f64 {
    got.throughput().kbps() / 2.5
}

#[test]
fn bursts_halve_the_rate_and_pay_for_their_wake_ups() {
    let ground = row(1);
    let got: Vec<Stream> = [1, 2, 4]
        .map(|hops| {
            go(
                &ground,
                &path(&ground, hops),
                240,
                &terms(Carrier::Burst),
                1,
            )
        })
        .into();
    assert!(got.iter().all(|o| o.verified && o.repeated == 0), "{got:?}");
    // One hop: bursts of 12 packets of 5.15 ms and half a wake-up interval each, 62.5 ms.
    assert!((30.0..42.0).contains(&share(&got[0])), "{}", share(&got[0]));
    assert!((15.0..23.0).contains(&share(&got[1])), "{}", share(&got[1]));
    assert!((15.0..23.0).contains(&share(&got[2])), "{}", share(&got[2]));
}

#[test]
fn pips_share_follows_from_its_boards_slots() {
    let ground = row(1);
    // Two frames of 115 bytes on the air, and per board two ways between radio and buffer:
    // 13.4 ms a packet behind Contiki's driver, 8.3 ms on the Opal's bus.
    for (board, share_pct) in [(PipBoard::Contiki, 27.4), (PipBoard::Opal, 44.4)] {
        for hops in [2, 5] {
            let terms = terms(Carrier::Pip(board));
            let got = go(&ground, &path(&ground, hops), 400, &terms, 1);
            assert!(got.verified && got.received == 400, "{got:?}");
            let of_slots = share(&got) / share_pct;
            assert!(
                (0.97..=1.01).contains(&of_slots),
                "{board:?} {hops}: {}",
                share(&got)
            );
        }
    }
}

#[test]
fn two_radios_are_four_times_as_fast() {
    let ground = row(1);
    let plan = path(&ground, 4);
    let one = share(&go(&ground, &plan, 240, &terms(Carrier::Burst), 1));
    let two = share(&go(&ground, &plan, 240, &terms(FULL), 1));
    assert!((3.3..5.0).contains(&(two / one)), "{two} {one}");
}
