//! Two relays answer the same frame in hardware, together: a capture of its end, and a compare that starts the
//! transmitter. Software runs on the host; registers, air and crystals are the emulator's.

use std::num::NonZeroU32;
use std::sync::Arc;
use thalweg_emulator::crystal::Crystal;
use thalweg_emulator::perturbation::{LateEnd, Perturbation};
use thalweg_emulator::soc::{FrameStart, Native, Program, RadioTimes, Setup, Soc};
use thalweg_emulator::world::World;
use thalweg_emulator::RAM_BASE;
use thalweg_medium::{chip::NRF52840, Environment, Medium};
use thalweg_units::{Dbm, Duration, SimTime};

const RADIO: u32 = 0x4000_1000;
const TIMER3: u32 = 0x4001_a000;
const PPI: u32 = 0x4001_f000;
const BUFFER: u32 = RAM_BASE;
const DISABLED: u32 = RADIO + 0x110;
const SHORTS: u32 = RADIO + 0x200;
/// PHYEND_DISABLE with the shortcut that starts what is ready.
const SENDS: u32 = 1 << 20 | 1 << 18;
const RECEIVES: u32 = 1 << 20 | 1 << 19;
/// Air to air, and what of it the receive chain and the ramp-up take, in ticks of 16 MHz.
const GAP: u32 = 160 * 16;
const AHEAD: u32 = (22 + 41) * 16;
const ROUNDS: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    Relay,
    Sink,
}

#[derive(Debug)]
struct Software {
    role: Role,
    sends: bool,
    got: u32,
}

impl Software {
    fn start(&self, soc: &mut Soc) {
        for (address, value) in [
            (0x4000_0000, 1),
            (RADIO + 0x510, 15),
            (RADIO + 0x650, 1),
            (RADIO + 0x508, 5),
            (RADIO + 0x504, BUFFER),
            (RADIO + 0x304, 1 << 4),
            (TIMER3 + 0x508, 3),
            (TIMER3 + 0x510, 0),
            (TIMER3, 1),
            // 0: COMPARE0 to TXEN. 1: PHYEND to CAPTURE2.
            (PPI + 0x510, TIMER3 + 0x140),
            (PPI + 0x514, RADIO),
            (PPI + 0x518, RADIO + 0x16c),
            (PPI + 0x51c, TIMER3 + 0x48),
            (PPI + 0x504, 2),
        ] {
            assert!(soc.write(address, value));
        }
        soc.advance(400 * 64);
        match self.role {
            Role::Source => self.send(soc, 0, 16_000),
            Role::Relay | Role::Sink => self.listen(soc),
        }
    }
    fn listen(&self, soc: &mut Soc) {
        soc.write(PPI + 0x508, 1);
        soc.write(SHORTS, RECEIVES);
        soc.write(RADIO + 4, 1);
    }
    /// Starts the transmitter so many ticks after tick `from`.
    fn send(&self, soc: &mut Soc, from: u32, ticks: u32) {
        soc.write(SHORTS, SENDS);
        soc.write(TIMER3 + 0x540, from.wrapping_add(ticks));
        soc.write(PPI + 0x504, 1);
    }
}

impl Program for Software {
    fn mask(&self) -> u64 {
        1 << 1
    }
    fn interrupt(&mut self, soc: &mut Soc, _lines: u64) {
        soc.write(DISABLED, 0);
        let right = soc.read(RADIO + 0x400) == 1;
        let end = soc.read(TIMER3 + 0x548);
        match self.role {
            Role::Source => self.send(soc, end, 64_000),
            Role::Relay if !self.sends && right => {
                (self.sends, self.got) = (true, self.got + 1);
                self.send(soc, end, GAP - AHEAD);
            }
            Role::Relay => {
                self.sends = false;
                self.listen(soc);
            }
            Role::Sink => {
                self.got += u32::from(right);
                self.listen(soc);
            }
        }
    }
}

/// A chip that runs the software of `role`; a source has its frame.
fn chip(number: usize, role: Role, radio: RadioTimes) -> Native<Software> {
    let identity = number as u64;
    let mut soc = Soc::new(Setup { identity, radio }, 2);
    let frame: Vec<u8> = std::iter::once(60).chain(1..59).collect();
    assert!(role != Role::Source || soc.memory.write_ram(BUFFER, &frame));
    let program = Software {
        role,
        sends: false,
        got: 0,
    };
    program.start(&mut soc);
    Native { soc, program }
}

/// Source, two relays that do not differ in distance, and a sink that hears the relays only.
fn world(perturbation: Perturbation, frame_start: FrameStart) -> World<Native<Software>> {
    let env = Environment::from_gains(4, &NRF52840, 1, |from, to, _| match (from, to) {
        (0, 1 | 2) | (1 | 2, 0) | (3, 1 | 2) => Some(Dbm(-60.0)),
        (1, 3) => Some(Dbm(-60.0)),
        (2, 3) => Some(Dbm(-63.0)),
        _ => None,
    });
    let mut world = World::new(Medium::new(Arc::new(env), 1), perturbation, 1);
    let roles = [Role::Source, Role::Relay, Role::Relay, Role::Sink];
    for (number, role) in roles.into_iter().enumerate() {
        let base = RadioTimes {
            frame_start,
            ..RadioTimes::TYPICAL
        };
        let chip = chip(number, role, perturbation.radio(base, number, 1));
        let boot = SimTime::from_nanos(777 * number as u64);
        let ppb = [0, 20_000, -20_000, 5_000][number];
        world.add(chip, Crystal::new(boot, ppb));
    }
    world
}

/// Two sources that do not know of each other, and a sink that hears the second, which begins `after` the first, louder.
fn strangers(after: Duration) -> u32 {
    let env = Environment::from_gains(3, &NRF52840, 1, |from, to, _| match (from, to) {
        (0, 2) => Some(Dbm(-80.0)),
        (1, 2) => Some(Dbm(-60.0)),
        _ => None,
    });
    let mut world = World::new(Medium::new(Arc::new(env), 1), Perturbation::NONE, 1);
    for (number, role) in [Role::Source, Role::Source, Role::Sink]
        .into_iter()
        .enumerate()
    {
        let boot = SimTime::ZERO + after * u64::from(number == 1);
        world.add(
            chip(number, role, RadioTimes::TYPICAL),
            Crystal::new(boot, 0),
        );
    }
    world.run_until(SimTime::from_nanos(130_000_000)).unwrap();
    world.chip(2).unwrap().program.got
}

/// Differences between the two relays' frames, in nanoseconds, and how many the sink got.
fn run(perturbation: Perturbation, frame_start: FrameStart) -> (Vec<u64>, u32) {
    let mut world = world(perturbation, frame_start);
    world.record();
    let round = Duration::from_micros(2_112 + 41 + 4_000);
    let end = SimTime::ZERO + round * u64::from(ROUNDS) + Duration::from_micros(5_000);
    world.run_until(end).unwrap();
    let frames = world.take_frames();
    let of = |mote| frames.iter().filter(move |frame| frame.from == mote);
    let pairs = of(1).zip(of(2));
    let spread = pairs.map(|(a, b)| a.at.as_nanos().abs_diff(b.at.as_nanos()));
    (spread.collect(), world.chip(3).unwrap().program.got)
}

#[test]
fn relays_send_together_and_the_sink_hears_one_frame() {
    for frame_start in [FrameStart::Delimiter, FrameStart::Length] {
        let (spread, got) = run(Perturbation::NONE, frame_start);
        assert!(spread.len() as u32 >= ROUNDS, "{spread:?}");
        assert!(spread.iter().all(|ns| *ns < 200), "{spread:?}");
        assert!(got >= ROUNDS, "{got}");
    }
}

#[test]
fn the_gap_on_the_air_is_what_software_asked_for() {
    // The source knows of a chain of 22 us; one that is shorter makes relays early.
    for chain in [22, 20] {
        let perturbation = Perturbation {
            chain: Some(Duration::from_micros(chain)),
            ..Perturbation::NONE
        };
        let mut world = world(perturbation, FrameStart::Length);
        world.record();
        world.run_until(SimTime::from_nanos(8_000_000)).unwrap();
        let frames = world.take_frames();
        let at = |mote| {
            frames
                .iter()
                .find(|frame| frame.from == mote)
                .map(|frame| frame.at)
        };
        let air = 192_000 + 32_000 * 60;
        let apart = at(1).unwrap().since(at(0).unwrap()).as_nanos();
        let wanted = air + 160_000 - 1_000 * (22 - chain);
        assert!(apart.abs_diff(wanted) < 300, "{apart} {wanted}");
    }
}

#[test]
fn starts_are_timed_from_the_end_of_the_frame_that_they_answer() {
    let mut world = world(Perturbation::NONE, FrameStart::Length);
    world.run_until(SimTime::from_nanos(30_000_000)).unwrap();
    let times = |mote: usize| world.chip(mote).unwrap().soc.devices.starts();
    // The software of this test takes no time; the radio takes half a microsecond to go off, and more after sending.
    let [received, sent] = times(1);
    assert!(received.count() >= 3, "{received:?}");
    assert_eq!(
        received.percentile_us(50),
        received.percentile_us(100),
        "{received:?}"
    );
    assert!(received.percentile_us(100) <= Some(2), "{received:?}");
    assert_eq!(sent.count(), 0, "a relay answers what it receives");
    // A source starts 4 ms after its frame, which is no answer.
    assert!(times(0).iter().all(|times| times.count() == 0));
}

#[test]
fn what_differs_at_all_nodes_alike_does_no_harm() {
    for chain in [20, 26] {
        let perturbation = Perturbation {
            chain: Some(Duration::from_micros(chain)),
            ramp: Duration::from_nanos(500),
            ..Perturbation::NONE
        };
        let (spread, got) = run(perturbation, FrameStart::Length);
        assert!(spread.iter().all(|ns| *ns < 200), "{spread:?}");
        assert!(got >= ROUNDS, "{got}");
    }
}

#[test]
fn an_end_that_is_told_late_shows_in_the_spread() {
    let late = LateEnd {
        one_in: NonZeroU32::new(4).unwrap(),
        by: Duration::from_micros(3),
    };
    let perturbation = Perturbation {
        late_end: Some(late),
        ..Perturbation::NONE
    };
    let (spread, _) = run(perturbation, FrameStart::Length);
    let apart = spread.iter().filter(|ns| **ns > 2_500).count();
    assert!(apart > 0 && apart < spread.len(), "{spread:?}");
}

#[test]
fn a_louder_frame_within_a_preamble_is_heard_whole() {
    for after_ns in [300, 3_000, 60_000] {
        let got = strangers(Duration::from_nanos(after_ns));
        assert!(got >= ROUNDS, "{after_ns} ns: {got}");
    }
}
