//! What the real mote's image does where power fails, and with a bad identity. It needs `firmware/images.sh none`:
//!
//!     cargo test --release -p thalweg-emulator --test images -- --ignored

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use thalweg_emulator::machine::{Chip, Machine};
use thalweg_emulator::network::{Flash as Written, Network};
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_medium::{chip::NRF52840, Environment};
use thalweg_nrf52840::flash::Flash;
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::layout::{BootLoader, Layout};
use thalweg_nrf52840::recording::Recording;
use thalweg_nrf52840::Registers;
use thalweg_protocols::object::ObjectStore;
use thalweg_units::{Channel, ChannelSet, Dbm, NodeId, SimTime};

const LAYOUT: Layout = BootLoader::None.layout();

fn image() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../firmware/images/mote.elf"
    );
    std::fs::read(path).expect("firmware/images.sh builds it")
}
fn identity() -> [u8; 28] {
    let identity = Identity {
        node: NodeId::new(7).unwrap(),
        role: Role::Mote,
        channels: ChannelSet::ALL,
        floods: Channel::LAST,
    };
    identity.bytes()
}
/// One mote, switched on.
fn alone(identity: &[u8]) -> Network {
    let env = Environment::full_mesh(1, &NRF52840, Dbm(-60.0), 1);
    let image = &image();
    let identity = (LAYOUT.identity.first, identity);
    Network::open(
        Arc::new(env),
        &[Written { image, identity }],
        (1, Perturbation::NONE),
    )
    .unwrap()
}
fn machine(network: &mut Network) -> &mut Machine {
    network.world_mut().chip_mut(0).unwrap()
}
fn run_ms(network: &mut Network, ms: u64) {
    let end = network.now().as_nanos() + ms * 1_000_000;
    network.run_until(SimTime::from_nanos(end)).unwrap();
}

/// A chip that the driver reads natively.
#[derive(Clone)]
struct Board(Rc<RefCell<Soc>>);

impl Registers for Board {
    fn read(&mut self, address: u32) -> u32 {
        self.0.borrow_mut().read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        self.0.borrow_mut().write(address, value);
    }
}

/// What a mote's flash has to hand out.
fn sealed(network: &mut Network) -> Option<Vec<u8>> {
    let (first, pages) = (LAYOUT.recordings.first, LAYOUT.recordings.pages);
    let bytes = usize::from(pages) * 4_096;
    let flash = machine(network)
        .core()
        .memory
        .read(first, bytes)
        .unwrap()
        .to_vec();
    let mut soc = Soc::new(
        Setup {
            identity: 1,
            radio: RadioTimes::TYPICAL,
        },
        8,
    );
    assert!(soc.memory.program(first, &flash));
    let recording: Recording<Board, 64> = Recording::new(
        Board(Rc::new(RefCell::new(soc))),
        Flash::of(LAYOUT.recordings).unwrap(),
    );
    let mut all = vec![0; recording.sealed()?.len as usize];
    recording.read(0, &mut all);
    Some(all)
}
fn sample() -> Vec<u8> {
    (0..59_000_u32).map(|n| (n as u8).wrapping_mul(7)).collect()
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn power_that_fails_at_any_instruction_costs_at_most_a_recording_that_was_not_sealed() {
    let mut draw = 802_154_u64;
    let mut next = |below: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (draw >> 33) % below
    };
    let mut was_sealed = 0;
    for round in 0..20 {
        let mut network = alone(&identity());
        // Switched on within half a second; the recording takes two.
        run_ms(&mut network, 500);
        for cut in 0..4 {
            // An instruction, and then one after a cut that is not at a step of the world.
            let cycles = machine(&mut network).now() + next(180_000_000);
            let run = machine(&mut network).run(cycles);
            run.unwrap();
            let before = sealed(&mut network).is_some();
            machine(&mut network).cut_power(next(u64::MAX >> 33));
            was_sealed += u32::from(before);
            let after = sealed(&mut network);
            assert!(after.is_none_or(|all| all == sample()), "{round}, {cut}");
        }
        let end = machine(&mut network).now() + 4 * 64_000_000;
        machine(&mut network).run(end).unwrap();
        assert_eq!(sealed(&mut network), Some(sample()), "round {round}");
        // It listens, or rests: it did not begin again by itself.
        assert_eq!(network.resets(0), 0, "round {round}");
    }
    assert!(was_sealed > 5, "{was_sealed}");
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn garbage_where_recordings_go_is_no_recording_and_no_obstacle() {
    for pattern in [0, 1, 2] {
        let mut network = alone(&identity());
        let mut state = 7_u64;
        let bytes = usize::from(LAYOUT.recordings.pages) * 4_096;
        let garbage: Vec<u8> = (0..bytes)
            .map(|at| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                match pattern {
                    0 => (state >> 56) as u8,
                    1 => 0,
                    // A programmer that was unplugged: pages of another program, then erased ones.
                    _ => {
                        if at < bytes / 3 + 77 {
                            at as u8
                        } else {
                            0xff
                        }
                    }
                }
            })
            .collect();
        let memory = &mut machine(&mut network).core_mut().memory;
        assert!(memory.program(LAYOUT.recordings.first, &garbage));
        run_ms(&mut network, 5_000);
        assert_eq!(sealed(&mut network), Some(sample()), "{pattern}");
        assert_eq!(network.resets(0), 0);
    }
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn a_mote_whose_identity_is_bad_keeps_still_and_loses_nothing() {
    let mut damaged = identity();
    damaged[20] ^= 1;
    let mut newer = identity();
    newer[16] = 9;
    for identity in [[0xff; 28], [0; 28], damaged, newer] {
        let mut network = alone(&identity);
        let recordings = LAYOUT.recordings.first;
        let memory = &mut machine(&mut network).core_mut().memory;
        assert!(memory.program(recordings, b"what was recorded"));
        run_ms(&mut network, 10_000);
        assert_eq!((network.resets(0), network.counts().sent), (0, 0));
        let memory = &machine(&mut network).core().memory;
        assert_eq!(memory.read(recordings, 17).unwrap(), b"what was recorded");
        // It sleeps: no instruction in a second.
        let before = machine(&mut network).core().instructions();
        run_ms(&mut network, 1_000);
        assert_eq!(machine(&mut network).core().instructions(), before);
    }
}
