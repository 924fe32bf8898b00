//! A mote at rest draws what its board's file says.

use super::run::{images, motes20};
use std::sync::Arc;
use std::time::Instant;
use thalweg_emulator::network::{Flash, Network};
use thalweg_emulator::perturbation::Perturbation;
use thalweg_medium::{chip::NRF52840, Environment};
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_simnet::motes::currents;
use thalweg_units::{Duration, NodeId, SimTime};

/// The mean power of a mote that nobody asks anything of, over `time`, and by its board's file; in watts.
fn at_rest(time: Duration) -> (f64, f64) {
    let testbed = motes20();
    let ([mote, _], address) = images();
    let identity = Identity {
        node: NodeId::new(7).unwrap(),
        role: Role::Mote,
        channels: testbed.channels,
        floods: testbed.control,
    };
    let flash = Flash {
        image: &mote,
        identity: (address, &identity.bytes()),
        keys: None,
    };
    let alone = Environment::from_gains(1, &NRF52840, 1, |_, _, _| None);
    let mut network = Network::open(Arc::new(alone), &[flash], (1, Perturbation::NONE)).unwrap();
    let begin = SimTime::from_nanos(15_000_000_000);
    network.run_until(begin).unwrap();
    let drawn = testbed.board.currents;
    let before = network.spent(0).energy(&drawn);
    let wall = Instant::now();
    network.run_until(begin + time).unwrap();
    let used = network.spent(0).energy(&drawn).since(&before);
    assert_eq!(network.resets(0), 0);
    let radio = used.radio_sleep + used.radio_on();
    let apart = radio.as_secs_f64() - used.elapsed().as_secs_f64();
    assert!(apart.abs() < 1e-6, "{used:?}");
    let watts = used.joules() / used.elapsed().as_secs_f64();
    let file = currents(&testbed.board).resting_w;
    println!(
        "{:.1} uW, by the file {:.1} uW; {:.0} s in {:.1} s of wall time; {used:?}",
        1e6 * watts,
        1e6 * file,
        time.as_secs_f64(),
        wall.elapsed().as_secs_f64()
    );
    (watts, file)
}

fn as_the_file_says(time: Duration) {
    let (watts, file) = at_rest(time);
    assert!((watts / file - 1.0).abs() < 0.05, "{watts} {file}");
}

#[test]
#[ignore = "needs images"]
fn a_quarter_of_an_hour_at_rest_costs_what_the_boards_file_says() {
    as_the_file_says(Duration::from_secs(900));
}

#[test]
#[ignore = "needs images, and minutes"]
fn nightly_a_day_at_rest_costs_what_the_boards_file_says() {
    as_the_file_says(Duration::from_secs(86_400));
}
