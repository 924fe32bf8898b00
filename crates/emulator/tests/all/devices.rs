//! Peripherals one by one, by their registers: timers, RTC, PPI, UARTE, watchdog.

use thalweg_emulator::core::Costs;
use thalweg_emulator::machine::{Chip, Machine};
use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_emulator::{Memory, RAM_BASE};

const SETUP: Setup = Setup {
    identity: 3,
    radio: RadioTimes::TYPICAL,
};
const CLOCK: u32 = 0x4000_0000;
const RADIO: u32 = 0x4000_1000;
const UARTE: u32 = 0x4000_2000;
const TIMER0: u32 = 0x4000_8000;
const TIMER1: u32 = 0x4000_9000;
const WDT: u32 = 0x4001_0000;
const RTC1: u32 = 0x4001_1000;
const EGU0: u32 = 0x4001_4000;
const TIMER3: u32 = 0x4001_a000;
const PPI: u32 = 0x4001_f000;
const MICROSECOND: u64 = 64;

fn soc() -> Soc {
    Soc::new(SETUP, 0)
}
fn set(soc: &mut Soc, pairs: &[(u32, u32)]) {
    for &(address, value) in pairs {
        assert!(soc.write(address, value), "{address:#x}");
    }
}
/// Connects an event to a task by a channel.
fn connect(soc: &mut Soc, channel: u32, event: u32, task: u32) {
    let at = PPI + 0x510 + 8 * channel;
    set(
        soc,
        &[(at, event), (at + 4, task), (PPI + 0x504, 1 << channel)],
    );
}

#[test]
fn a_timer_counts_captures_and_compares_on_its_tick() {
    let mut soc = soc();
    set(
        &mut soc,
        &[
            (TIMER3 + 0x508, 3),
            (TIMER3 + 0x510, 0),
            (TIMER3 + 0x304, 1 << 16),
        ],
    );
    set(&mut soc, &[(TIMER3 + 0x540, 1_000), (TIMER3, 1)]);
    assert_eq!(soc.wait(1 << 26, 10_000_000), 1 << 26);
    assert_eq!(soc.now(), 4_000);
    set(&mut soc, &[(TIMER3 + 0x54, 1)]);
    assert_eq!(soc.read(TIMER3 + 0x554), 1_000);
    // The same value again is a whole round away: none in a second.
    set(&mut soc, &[(TIMER3 + 0x140, 0), (TIMER3 + 0x540, 1_000)]);
    assert_eq!(soc.wait(1 << 26, soc.now() + 64_000_000), 0);
    // COMPARE0_CLEAR makes it periodic.
    set(&mut soc, &[(TIMER3 + 0xc, 1), (TIMER3 + 0x200, 1)]);
    for _ in 0..3 {
        let begin = soc.now();
        assert_ne!(soc.wait(1 << 26, begin + 10_000), 0);
        assert_eq!(soc.now() - begin, 4_000);
        set(&mut soc, &[(TIMER3 + 0x140, 0)]);
    }
}

#[test]
fn a_timer_of_16_bits_wraps_and_a_prescaler_divides() {
    let mut soc = soc();
    set(&mut soc, &[(TIMER0 + 0x510, 4), (TIMER0, 1)]);
    soc.advance(64 * 70_000);
    set(&mut soc, &[(TIMER0 + 0x40, 1)]);
    assert_eq!(soc.read(TIMER0 + 0x540), 70_000 - 65_536);
    set(&mut soc, &[(TIMER0 + 4, 1)]);
    soc.advance(64 * 1_000);
    set(&mut soc, &[(TIMER0 + 0x40, 1)]);
    assert_eq!(soc.read(TIMER0 + 0x540), 70_000 - 65_536, "it stands");
}

#[test]
fn an_event_goes_to_a_task_and_a_fork_and_groups_switch_channels() {
    let mut soc = soc();
    set(&mut soc, &[(TIMER1 + 0x504, 1), (TIMER0 + 0x504, 1)]);
    connect(&mut soc, 3, EGU0 + 0x100, TIMER1 + 8);
    set(&mut soc, &[(PPI + 0x910 + 12, TIMER0 + 8)]);
    // Group 1 holds channel 3; channel 4 disables it at the second event.
    set(&mut soc, &[(PPI + 0x804, 1 << 3)]);
    connect(&mut soc, 4, EGU0 + 0x104, PPI + 0xc);
    set(&mut soc, &[(EGU0, 1), (EGU0, 1), (EGU0 + 4, 1), (EGU0, 1)]);
    for timer in [TIMER0, TIMER1] {
        set(&mut soc, &[(timer + 0x40, 1)]);
        assert_eq!(soc.read(timer + 0x540), 2);
    }
    assert_eq!(soc.read(PPI + 0x500), 1 << 4);
}

#[test]
fn an_rtc_counts_at_32_768_hertz() {
    let mut soc = soc();
    set(
        &mut soc,
        &[(RTC1 + 0x304, 1 << 16), (RTC1 + 0x344, 1 << 16)],
    );
    set(&mut soc, &[(RTC1 + 0x540, 32_768), (RTC1, 1)]);
    assert_ne!(soc.wait(1 << 17, 65_000_000), 0);
    assert_eq!(soc.now(), 64_000_000);
    assert_eq!(soc.read(RTC1 + 0x504), 32_768);
    // The next count may be missed, the one after it never (RTC, 6.22.7).
    set(&mut soc, &[(RTC1 + 0x140, 0), (RTC1 + 0x540, 32_769)]);
    assert_eq!(soc.wait(1 << 17, soc.now() + 640_000), 0);
    let next = soc.read(RTC1 + 0x504) + 2;
    set(&mut soc, &[(RTC1 + 0x540, next)]);
    assert_ne!(soc.wait(1 << 17, soc.now() + 4_000), 0);
}

/// UARTE0 at 1 Mbaud with a buffer of `most` bytes.
fn line(most: u32) -> Soc {
    let mut soc = soc();
    set(
        &mut soc,
        &[
            (UARTE + 0x524, 0x1000_0000),
            (UARTE + 0x500, 8),
            (UARTE + 0x534, RAM_BASE),
            (UARTE + 0x538, most),
            (UARTE + 0x304, 1 << 4 | 1 << 8),
        ],
    );
    soc
}

#[test]
fn bytes_come_in_at_the_rate_of_the_line() {
    let mut soc = line(4);
    set(&mut soc, &[(UARTE, 1)]);
    let now = soc.now();
    soc.devices.send_line(now, b"abcdefgh");
    assert_eq!(soc.wait(1 << 2, 10_000), 1 << 2);
    assert_eq!(soc.now() - now, 40 * MICROSECOND);
    assert_eq!(soc.read(UARTE + 0x53c), 4);
    assert_eq!(soc.memory.read(RAM_BASE, 4), Some(&b"abcd"[..]));
    // Late for the second buffer: the FIFO has kept what came meanwhile.
    set(
        &mut soc,
        &[(UARTE + 0x110, 0), (UARTE + 0x534, RAM_BASE + 8)],
    );
    soc.advance(30 * MICROSECOND);
    set(&mut soc, &[(UARTE, 1)]);
    assert_eq!(soc.wait(1 << 2, soc.now() + 10_000), 1 << 2);
    assert_eq!(soc.memory.read(RAM_BASE + 8, 4), Some(&b"efgh"[..]));
    assert_eq!(soc.devices.misuse().lost_bytes, 0);
}

#[test]
fn bytes_that_find_neither_buffer_nor_room_are_lost() {
    let mut soc = line(2);
    set(&mut soc, &[(UARTE, 1)]);
    soc.devices.send_line(0, &[7; 20]);
    soc.advance(1_000 * MICROSECOND);
    assert_eq!(soc.devices.misuse().lost_bytes, 20 - 2 - 6);
    assert_eq!(soc.read(UARTE + 0x124), 1);
}

#[test]
fn two_buffers_and_a_shortcut_lose_nothing() {
    let mut soc = line(4);
    // ENDRX_STARTRX.
    set(
        &mut soc,
        &[
            (UARTE + 0x200, 1 << 5),
            (UARTE, 1),
            (UARTE + 0x534, RAM_BASE + 4),
        ],
    );
    let bytes: Vec<u8> = (0..8).collect();
    soc.devices.send_line(0, &bytes);
    soc.advance(100 * MICROSECOND);
    assert_eq!(soc.memory.read(RAM_BASE, 8), Some(&bytes[..]));
}

#[test]
fn sent_bytes_reach_the_host() {
    let mut soc = line(4);
    assert!(soc.memory.write_ram(RAM_BASE, b"hello"));
    set(
        &mut soc,
        &[
            (UARTE + 0x544, RAM_BASE),
            (UARTE + 0x548, 5),
            (UARTE + 8, 1),
        ],
    );
    assert_eq!(soc.wait(1 << 2, 100_000), 1 << 2);
    assert_eq!(soc.now(), 50 * MICROSECOND);
    assert_eq!(soc.devices.take_line(), b"hello");
    assert_eq!(soc.read(UARTE + 0x54c), 5);
}

#[test]
fn the_radio_without_its_crystal_is_told() {
    let mut soc = soc();
    set(&mut soc, &[(RADIO + 0x510, 15), (RADIO + 4, 1)]);
    assert_eq!(soc.devices.misuse().without_crystal, 1);
    set(&mut soc, &[(RADIO + 0x7f0, 1)]);
    assert_eq!(soc.devices.strangers(), [RADIO + 0x7f0]);
}

/// A chip that runs `program`, behind which is the watchdog's address.
fn watched(program: &[u16]) -> Machine {
    let mut image = vec![0; 0x40];
    image[..4].copy_from_slice(&(RAM_BASE + 0x100).to_le_bytes());
    image[4..8].copy_from_slice(&0x41u32.to_le_bytes());
    image.extend(program.iter().flat_map(|half| half.to_le_bytes()));
    image.extend(WDT.to_le_bytes());
    let mut memory = Memory::default();
    assert!(memory.program(0, &image));
    Machine::new(memory, 0, SETUP, Costs::CORTEX_M4)
}

#[test]
fn a_watchdog_that_is_not_fed_resets_the_chip() {
    // ldr r0, [pc, #12]; movs r1, #100; str.w r1, [r0, #0x504]; movs r1, #1; str r1, [r0]; b .
    let mut machine = watched(&[
        0x4803u16, 0x2164, 0xf8c0, 0x1504, 0x2101, 0x6001, 0xe7fe, 0xbf00,
    ]);
    // 101 ticks of 32.768 kHz, and two more.
    let cycles = 103 * 15_625 / 8;
    machine.run(cycles - 5_000).unwrap();
    assert_eq!(machine.resets(), 0);
    machine.run(cycles + 5_000).unwrap();
    assert_eq!(machine.resets(), 1);
    machine.run(10 * cycles).unwrap();
    assert!((8..=10).contains(&machine.resets()), "{}", machine.resets());
    // RESETREAS.DOG.
    let mut memory = Memory::default();
    let now = machine.now();
    let devices = machine.devices_mut();
    use thalweg_emulator::core::Peripherals;
    assert_eq!(devices.read(&mut memory, now, CLOCK + 0x400), Some(1 << 1));
}

#[test]
fn a_watchdog_may_stand_still_while_the_processor_sleeps() {
    // ldr r0, [pc, #20]; movs r1, #100; str.w r1, [r0, #0x504]; movs r1, #CONFIG; str.w r1, [r0, #0x50c];
    // movs r1, #1; str r1, [r0]; wfi; b to it
    for (config, resets) in [(0x2100, 0), (0x2101, 9)] {
        let mut machine = watched(&[
            0x4805, 0x2164, 0xf8c0, 0x1504, config, 0xf8c0, 0x150c, 0x2101, 0x6001, 0xbf30, 0xe7fd,
            0xbf00,
        ]);
        machine.run(10 * 103 * 15_625 / 8).unwrap();
        assert_eq!(machine.resets(), resets, "{config:#x}");
    }
}
