//! What the real mote's image does where power fails, and with a bad identity. It needs `firmware/images.sh none`:
//!
//!     cargo test -p thalweg-emulator --test all images:: -- --ignored

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use thalweg_emulator::core::Peripherals;
use thalweg_emulator::machine::{Chip, Machine};
use thalweg_emulator::network::{Flash as Written, Line, Network};
use thalweg_emulator::perturbation::{LateEnd, Perturbation};
use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_emulator::Memory;
use thalweg_medium::random::{normal, stream};
use thalweg_medium::{chip::NRF52840, Environment};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::flash::Flash;
use thalweg_nrf52840::identity::{Identity, Role};
use thalweg_nrf52840::layout::{BootLoader, Layout};
use thalweg_nrf52840::recording::Recording;
use thalweg_nrf52840::registers::clock::RESETREAS;
use thalweg_nrf52840::reset::{Before, BLOCK_WORDS};
use thalweg_nrf52840::Registers;
use thalweg_protocols::object::ObjectStore;
use thalweg_units::{Cause, Channel, ChannelSet, Dbm, Duration, NodeId, SimTime};

const LAYOUT: Layout = BootLoader::None.layout();

fn image_of(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/images");
    std::fs::read(format!("{folder}/{name}.elf")).unwrap()
}
fn image() -> Vec<u8> {
    image_of("mote")
}
fn identity() -> [u8; 28] {
    identity_of(7, Role::Mote)
}
fn identity_of(node: u16, role: Role) -> [u8; 28] {
    let identity = Identity {
        node: NodeId::new(node).unwrap(),
        role,
        channels: ChannelSet::ALL,
        floods: Channel::LAST,
    };
    identity.bytes()
}
/// One mote, switched on.
fn alone(identity: &[u8]) -> Network {
    alone_with("mote", identity)
}
fn alone_with(image: &str, identity: &[u8]) -> Network {
    let env = Environment::full_mesh(1, &NRF52840, Dbm(-60.0), 1);
    let image = &image_of(image);
    let identity = (LAYOUT.identity.first, identity);
    Network::open(
        Arc::new(env),
        &[Written {
            image,
            identity,
            keys: None,
        }],
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
    let (board, mut buffer) = (Board(Rc::new(RefCell::new(soc))), [0; 64]);
    let flash = Flash::of(LAYOUT.recordings).unwrap();
    let recording = Recording::new(board, flash, &mut buffer);
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
    let others = identity_of(7, Role::BaseStation);
    for identity in [[0xff; 28], [0; 28], damaged, newer, others] {
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

#[test]
#[ignore = "needs firmware/images.sh none"]
fn a_base_station_whose_identity_is_bad_says_so_to_who_speaks_to_it() {
    let mut damaged = identity_of(1, Role::BaseStation);
    damaged[20] ^= 1;
    for (identity, told) in [
        (
            [0xff; 28],
            "the image has no identity: `thalweg firmware` writes one",
        ),
        (damaged, "the identity's check sum is wrong"),
        (identity(), "a base station's image has a mote's identity"),
    ] {
        let mut network = alone_with("station", &identity);
        run_ms(&mut network, 1_000);
        network.send_line(0, Line::Uart, b"?");
        run_ms(&mut network, 100);
        let line = network.take_line(0, Line::Uart);
        assert_eq!(line, format!("{told}\n").as_bytes());
        assert_eq!(network.resets(0), 0);
    }
}

/// The address of the first symbol whose name has all `parts` (ELF 1.2, book I: sections' headers, the symbol table).
fn symbol(file: &[u8], parts: &[&str]) -> u32 {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (table, count) = (word(32), usize::from(file[48]));
    let place = |section: usize| {
        let header = table + 40 * section;
        (word(header + 16), word(header + 20), word(header + 24))
    };
    let symbols = (0..count).find(|n| word(table + 40 * n + 4) == 2).unwrap();
    let ((first, bytes, strings), name_of) = (place(symbols), |at: usize| {
        let end = file[at..].iter().position(|byte| *byte == 0).unwrap();
        std::str::from_utf8(&file[at..at + end]).unwrap()
    });
    let (strings, ..) = place(strings);
    (first..first + bytes)
        .step_by(16)
        .find(|at| {
            parts
                .iter()
                .all(|part| name_of(strings + word(*at)).contains(part))
        })
        .map(|at| word(at + 4) as u32)
        .unwrap()
}

/// Runs the image until it was reset; gives what its next start finds.
fn found_after_reset(network: &mut Network) -> Before {
    let machine = machine(network);
    while machine.resets() == 0 {
        let end = machine.now() + 100;
        machine.run(end).unwrap();
        assert!(end < 40 * 64_000_000, "it goes on");
    }
    let now = machine.now();
    let block = symbol(&image(), &["REMAINS"]);
    let (address, length) = (block, 4 * BLOCK_WORDS as usize);
    let kept = machine
        .core()
        .memory
        .read(address, length)
        .unwrap()
        .to_vec();
    let reasons = machine
        .devices_mut()
        .read(&mut Memory::default(), now, RESETREAS);
    let mut board = Left(kept, address, reasons.unwrap());
    Before::take(&mut board, Region::at(address, BLOCK_WORDS))
}

/// What is left over a reset: a block of RAM and where it is, and the reasons.
struct Left(Vec<u8>, u32, u32);

impl Registers for Left {
    fn read(&mut self, address: u32) -> u32 {
        let Self(kept, block, reasons) = self;
        match address {
            RESETREAS => *reasons,
            _ => {
                let at = (address - *block) as usize;
                u32::from_le_bytes(kept[at..at + 4].try_into().unwrap())
            }
        }
    }
    fn write(&mut self, _: u32, _: u32) {}
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn each_end_of_a_program_is_told_to_its_next_start() {
    // Where an update would be: a file's name and the place of a panic; a loop; pushes for ever; no instruction.
    const FREE: u32 = 0x3_0000;
    let mut code = [0xff; 0x40];
    code[..4].copy_from_slice(b"a.rs");
    for (at, word) in [FREE, 4, 12, 5].into_iter().enumerate() {
        code[16 + 4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    for (at, half) in [
        (0x20, 0xe7fe),
        (0x24, 0xb4ff),
        (0x26, 0xe7fd),
        (0x28, 0xde00_u16),
    ] {
        code[at..at + 2].copy_from_slice(&half.to_le_bytes());
    }
    let file = image();
    let panic = symbol(&file, &["panicking", "panic_const_div_by_zero"]);
    let asked = symbol(&file, &["SCB", "sys_reset"]);
    let handler = symbol(&file, &["HardFault"]) & !1;
    for (pc, cause, message) in [
        (
            panic,
            Cause::Panic,
            "panicked at a.rs:12:5:\nattempt to divide by zero",
        ),
        (FREE + 0x20, Cause::Watchdog, ""),
        (FREE + 0x24, Cause::StackOverflow, ""),
        (FREE + 0x28, Cause::Fault, "0x10000 at 0x30028"),
        (asked, Cause::Asked, ""),
        (FREE + 0x28, Cause::Lockup, ""),
    ] {
        let mut network = alone(&identity());
        run_ms(&mut network, 3_000);
        assert_eq!(network.resets(0), 0);
        let core = machine(&mut network).core_mut();
        assert!(core.memory.program(FREE, &code));
        if cause == Cause::Lockup {
            assert!(core.memory.program(handler, &[0x00, 0xde]));
        }
        let mut registers = core.registers();
        (registers[0], registers[15]) = (FREE + 16, pc);
        core.set_registers(registers);
        let before = found_after_reset(&mut network);
        let restarts = before.restarts().unwrap();
        assert_eq!((restarts.last(), restarts.count()), (cause, 1));
        let told = before
            .remains
            .as_ref()
            .map_or("", |remains| remains.message());
        assert_eq!(told, message, "{cause}");
        // And the next start goes well.
        run_ms(&mut network, 5_000);
        assert_eq!(
            (network.resets(0), sealed(&mut network)),
            (1, Some(sample()))
        );
    }
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn the_example_records_what_it_senses() {
    let mut network = alone_with("vibration", &identity());
    // A recording takes 32 s, and what waits in RAM until the radio sleeps some more.
    run_ms(&mut network, 45_000);
    let samples = (0..8_192_u16).flat_map(u16::to_le_bytes);
    assert_eq!(sealed(&mut network), Some(samples.collect()));
}

/// What the two boards of a self-test tell.
fn selftest(perturbation: Perturbation) -> [String; 2] {
    let env = Environment::full_mesh(2, &NRF52840, Dbm(-60.0), 1);
    let image = &image_of("selftest");
    let identities = [
        identity_of(1, Role::BaseStation),
        identity_of(7, Role::Mote),
    ];
    let flash = identities.each_ref().map(|identity| Written {
        image,
        identity: (LAYOUT.identity.first, identity),
        keys: None,
    });
    let mut network = Network::open(Arc::new(env), &flash, (1, perturbation)).unwrap();
    let mut told = [String::new(), String::new()];
    while !told[0].ends_with("end of the selftest\n") {
        assert!(
            network.now() < SimTime::from_nanos(20_000_000_000),
            "{told:?}"
        );
        run_ms(&mut network, 100);
        for (mote, text) in told.iter_mut().enumerate() {
            text.push_str(std::str::from_utf8(&network.take_line(mote, Line::Uart)).unwrap());
        }
    }
    assert_eq!(network.resets(0) + network.resets(1), 0);
    told
}
/// The first number behind `name` in a table.
fn number(table: &str, name: &str) -> f64 {
    let line = table
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let line = line.unwrap_or_else(|| panic!("{name} is not in\n{table}"));
    let word = line
        .split(' ')
        .find_map(|word| word.trim_end_matches(',').parse().ok());
    word.unwrap_or_else(|| panic!("no number: {line}"))
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn a_selftest_of_two_boards_tells_what_the_emulator_was_told() {
    let [asks, answers] = selftest(Perturbation::NONE);
    println!("{asks}{answers}");
    for (name, low, high) in [
        // 14 and a subtraction of a cycle, and a jump of three, in 16 instructions.
        ("plain instruction", 1.12, 1.13),
        ("flash", 42.0, 44.0),
        ("thermometer", 100.0, 100.0),
        ("chance", 120.0, 122.0),
        ("32.768 kHz", -2.0, 2.0),
        ("answers", 250.0, 256.0),
        ("ramp-up", 40.0, 40.1),
        // 22, and half of the microsecond to the antenna.
        ("air to event", 22.3, 22.7),
        // The clocks' steps, of 62.5 ns each.
        ("jitter of two receptions", 0.0, 190.0),
    ] {
        let told = number(&asks, name);
        assert!((low..=high).contains(&told), "{name}: {told}\n{asks}");
    }
    for end in ["here", "there"] {
        assert!(asks.contains(&format!("FRAMESTART {end}: at the end of the length")));
    }
    assert!(asks.ends_with("end of the selftest\n"));
    assert!(answers.ends_with("answers on channel 26\n"));
    // As the network drew both, with a sigma of 10 ppm.
    let drawn = |mote| 10.0 * normal(&mut stream(1, "crystal", &[mote]));
    let told = number(&asks, "crystal there");
    assert!((told - (drawn(1) - drawn(0))).abs() < 1.0, "{told}");
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn what_differs_from_the_emulators_is_seen_in_a_selftests_table() {
    let differs = Perturbation {
        chain: Some(Duration::from_micros(25)),
        chain_spread: Duration::ZERO,
        ramp: Duration::from_nanos(500),
        stretch: std::num::NonZeroU32::new(3),
        late_end: Some(LateEnd {
            one_in: std::num::NonZeroU32::new(10).unwrap(),
            by: Duration::from_micros(2),
        }),
        ..Perturbation::NONE
    };
    let [asks, _] = selftest(differs);
    println!("{asks}");
    for (name, low, high) in [
        ("plain instruction", 1.45, 1.47),
        ("ramp-up", 40.4, 40.6),
        ("air to event", 25.3, 25.7),
        ("jitter of two receptions", 1_900.0, 4_200.0),
    ] {
        let told = number(&asks, name);
        assert!((low..=high).contains(&told), "{name}: {told}\n{asks}");
    }
}

/// How many pages of the ring begin as erased ones do.
fn erased(network: &mut Network) -> usize {
    let pages = 0..u32::from(LAYOUT.recordings.pages);
    let memory = &machine(network).core().memory;
    let begin = |page: u32| memory.read(LAYOUT.recordings.first + page * 4_096, 4);
    pages
        .filter(|page| begin(*page) == Some(&[0xFF; 4]))
        .count()
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn power_that_fails_between_a_pages_erasure_and_its_mark_loses_nothing_sealed() {
    let mut network = alone_with("vibration", &identity());
    // An older ring, whose pages are erased one after the other.
    let old = vec![0xA5; usize::from(LAYOUT.recordings.pages) * 4_096];
    let memory = &mut machine(&mut network).core_mut().memory;
    assert!(memory.program(LAYOUT.recordings.first, &old));
    run_ms(&mut network, 45_000);
    let samples: Vec<u8> = (0..8_192_u16).flat_map(u16::to_le_bytes).collect();
    assert_eq!(sealed(&mut network), Some(samples));
    for cut in 0..4 {
        let (before, were) = (sealed(&mut network), erased(&mut network));
        // The mark follows an erasure by 42 us, of which a step is less.
        let is_erased = (0..4_000_000).any(|_| {
            let end = machine(&mut network).now() + 1_000;
            machine(&mut network).run(end).unwrap();
            erased(&mut network) > were
        });
        assert!(is_erased, "cut {cut}");
        machine(&mut network).cut_power(cut);
        assert_eq!(sealed(&mut network), before, "cut {cut}");
        let end = machine(&mut network).now() + 64_000_000;
        machine(&mut network).run(end).unwrap();
        assert_eq!((sealed(&mut network), network.resets(0)), (before, 0));
    }
    // And it records on.
    let end = machine(&mut network).now() + 45 * 64_000_000;
    machine(&mut network).run(end).unwrap();
    assert!(sealed(&mut network).is_some_and(|all| all.len() == 16_384));
}
