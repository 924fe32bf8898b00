//! Two chips run a program of fourteen half-words: one sends a frame by writing registers, the other receives it.

use std::sync::Arc;
use thalweg_emulator::core::Costs;
use thalweg_emulator::crystal::Crystal;
use thalweg_emulator::machine::{Chip, Machine};
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::soc::{Misuse, RadioTimes, Setup};
use thalweg_emulator::world::World;
use thalweg_emulator::{Memory, RAM_BASE};
use thalweg_medium::{chip::NRF52840, Environment, Medium};
use thalweg_sim::Currents;
use thalweg_units::{Channel, Dbm, Duration, SimTime};

/// Writes the second word of each pair to the address in the first; waits at an odd address until the register below
/// is not nought; sleeps after a pair that begins with nought.
const PROGRAM: [u16; 14] = [
    0x4806, // 40: ldr r0, [pc, #24]
    0xc806, // 42: ldmia r0!, {r1, r2}
    0xb141, // 44: cbz r1, 58
    0x084b, // 46: lsrs r3, r1, #1
    0xd201, // 48: bcs 4e
    0x600a, // 4a: str r2, [r1]
    0xe7f9, // 4c: b 42
    0x3901, // 4e: subs r1, #1
    0x680b, // 50: ldr r3, [r1]
    0x2b00, // 52: cmp r3, #0
    0xd0fc, // 54: beq 50
    0xe7f4, // 56: b 42
    0xbf30, // 58: wfi
    0xe7fd, // 5a: b 58
];
const TABLE: u32 = 0x60;
const STACK: u32 = RAM_BASE + 0x1000;
const BUFFER: u32 = RAM_BASE + 0x2000;

const CLOCK: u32 = 0x4000_0000;
const RADIO: u32 = 0x4000_1000;
const TIMER: u32 = 0x4000_8000;
const WAIT: u32 = 1;

/// Crystal and radio for IEEE 802.15.4 on channel 11, the buffer for its DMA.
const SET_UP: [(u32, u32); 9] = [
    (CLOCK, 1),
    (CLOCK + 0x100 + WAIT, 0),
    (RADIO + 0x510, 15),
    (RADIO + 0x650, 1),
    (RADIO + 0x508, 5),
    (RADIO + 0x504, BUFFER),
    (TIMER + 0x508, 3),
    (TIMER + 0x510, 0),
    (TIMER + 0x540, 16_000),
];
/// A millisecond, then TXEN with TXREADY_START and PHYEND_DISABLE.
const SEND: [(u32, u32); 6] = [
    (TIMER, 1),
    (TIMER + 0x140 + WAIT, 0),
    (RADIO + 0x200, 1 << 18 | 1 << 20),
    (RADIO, 1),
    (RADIO + 0x110 + WAIT, 0),
    (BUFFER + 0x100, 0x5e27),
];
/// RXEN with RXREADY_START and PHYEND_DISABLE.
const RECEIVE: [(u32, u32); 4] = [
    (RADIO + 0x200, 1 << 19 | 1 << 20),
    (RADIO + 4, 1),
    (RADIO + 0x110 + WAIT, 0),
    (BUFFER + 0x100, 0x6e75),
];

fn machine(pairs: &[(u32, u32)], costs: Costs, radio: RadioTimes, identity: u64) -> Machine {
    let mut image = vec![0; TABLE as usize];
    image[..4].copy_from_slice(&STACK.to_le_bytes());
    image[4..8].copy_from_slice(&0x41u32.to_le_bytes());
    for (at, half) in PROGRAM.iter().enumerate() {
        image[0x40 + 2 * at..][..2].copy_from_slice(&half.to_le_bytes());
    }
    image[0x5c..].copy_from_slice(&TABLE.to_le_bytes());
    for (address, value) in SET_UP.iter().chain(pairs).chain(&[(0, 0)]) {
        image.extend(address.to_le_bytes());
        image.extend(value.to_le_bytes());
    }
    let mut memory = Memory::default();
    assert!(memory.program(0, &image));
    Machine::new(memory, 0, Setup { identity, radio }, costs)
}

fn mpdu() -> Vec<u8> {
    (0..40).map(|n| n * 5 + 1).collect()
}

fn world(perturbation: Perturbation) -> World<Machine> {
    let env = Environment::full_mesh(2, &NRF52840, Dbm(-60.0), 1);
    let mut world = World::new(Medium::new(Arc::new(env), 1), perturbation, 1);
    let costs = perturbation.costs(Costs::CORTEX_M4);
    for (number, pairs) in [&SEND[..], &RECEIVE[..]].into_iter().enumerate() {
        let radio = perturbation.radio(RadioTimes::TYPICAL, number, 1);
        let mut machine = machine(pairs, costs, radio, number as u64);
        if number == 0 {
            let frame = [vec![42], mpdu()].concat();
            assert!(machine.core_mut().memory.write_ram(BUFFER, &frame));
        }
        let ppb = if number == 0 { 20_000 } else { -20_000 };
        let boot = SimTime::from_nanos(1_234 * number as u64);
        assert_eq!(world.add(machine, Crystal::new(boot, ppb)), number);
    }
    world
}

fn received(world: &World<Machine>) -> Option<Vec<u8>> {
    let memory = &world.chip(1)?.core().memory;
    Some(memory.read(BUFFER, 41)?.to_vec())
}

#[test]
fn one_sends_and_the_other_receives() {
    let mut world = world(Perturbation::NONE);
    world.record();
    world.run_until(SimTime::from_nanos(5_000_000)).unwrap();
    let frames = world.take_frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].mpdu, mpdu());
    assert_eq!(frames[0].channel, Channel::FIRST);
    assert_eq!(received(&world).unwrap(), [vec![42], mpdu()].concat());
    assert_eq!((world.counts().good, world.counts().corrupt), (1, 0));
    for (mote, mark) in [(0, 0x5e27), (1, 0x6e75u32)] {
        let machine = world.chip(mote).unwrap();
        let memory = &machine.core().memory;
        assert_eq!(
            memory.read(BUFFER + 0x100, 4),
            Some(&mark.to_le_bytes()[..])
        );
        assert_eq!(world.misuse(mote), Misuse::default());
        assert_eq!(machine.devices().strangers(), [0u32; 0]);
    }
}

#[test]
fn time_in_each_state_is_told() {
    let mut world = world(Perturbation::NONE);
    let end = SimTime::from_nanos(5_000_000);
    world.run_until(end).unwrap();
    let (sender, receiver) = (world.spent(0), world.spent(1));
    // 192 us of synchronisation and length, 42 bytes, a microsecond before.
    let air = Duration::from_micros(192 + 32 * 42 + 1);
    let near = |a: Duration, b: Duration| a.as_nanos().abs_diff(b.as_nanos()) < 200;
    assert!(near(sender.sending, air), "{sender:?}");
    assert!(
        near(sender.between, Duration::from_micros(61)),
        "{sender:?}"
    );
    assert_eq!(receiver.sending, Duration::ZERO);
    assert!(receiver.receiving > air, "{receiver:?}");
    let currents = Currents {
        supply_v: 3.0,
        radio_sleep_ma: 0.0,
        radio_idle_ma: 0.0,
        radio_calibrate_ma: 0.0,
        radio_receive_ma: 0.0,
        radio_transmit_ma: 5.0,
        mcu_active_ma: 0.0,
        mcu_low_power_ma: 0.0,
    };
    let sent_j = 3.0 * 5e-3 * sender.sending.as_secs_f64();
    assert!((sender.energy(&currents).joules() - sent_j).abs() < 1e-12);
    for (mote, spent) in [(0, sender), (1, receiver)] {
        let all = end.since(SimTime::from_nanos(1_234 * mote));
        let radio = spent.receiving + spent.sending + spent.between + spent.off;
        assert!(near(radio, all), "{spent:?}");
        assert!(near(spent.running + spent.asleep, all), "{spent:?}");
        // The radio is idle while its crystal runs for nothing else.
        let energy = spent.energy(&currents);
        assert!(near(energy.radio_on(), spent.crystal), "{energy:?}");
        assert!(
            near(energy.radio_sleep + energy.radio_on(), all),
            "{energy:?}"
        );
        let on = spent.crystal.as_nanos().abs_diff(all.as_nanos());
        assert!(on < 2_000, "{spent:?}");
    }
}

#[test]
fn the_same_happens_each_time_whatever_the_steps() {
    let frames = |step: u64| {
        let mut world = world(Perturbation::NONE);
        world.record();
        for end in (step..=5_000_000).step_by(step as usize) {
            world.run_until(SimTime::from_nanos(end)).unwrap();
        }
        let registers = world.chip(1).unwrap().core().registers();
        (world.take_frames(), registers, received(&world))
    };
    let once = frames(5_000_000);
    assert_eq!(once, frames(5_000_000));
    assert_eq!(once.0, frames(12_500).0);
    assert_eq!(once.2, frames(12_500).2);
}

#[test]
fn it_is_received_under_every_perturbation() {
    let perturbations = [20, 24, 26].map(|chain| Perturbation {
        chain: Some(Duration::from_micros(chain)),
        chain_spread: Duration::from_micros(1),
        ramp: Duration::from_nanos(500),
        stretch: std::num::NonZeroU32::new(3),
        ..Perturbation::NONE
    });
    for perturbation in perturbations {
        let mut world = world(perturbation);
        world.run_until(SimTime::from_nanos(5_000_000)).unwrap();
        assert_eq!(received(&world).unwrap()[1..], mpdu());
    }
}

#[test]
fn a_day_asleep_costs_nothing() {
    let mut world = world(Perturbation::NONE);
    world.run_until(SimTime::from_nanos(5_000_000)).unwrap();
    let before = world.chip(0).unwrap().core().instructions();
    let day = SimTime::from_nanos(86_400_000_000_000);
    world.run_until(day).unwrap();
    assert_eq!(world.chip(0).unwrap().core().instructions(), before);
    assert!(world.spent(0).asleep > Duration::from_secs(86_399));
}
