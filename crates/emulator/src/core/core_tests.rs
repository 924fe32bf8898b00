//! Exceptions, exclusives, sleep, faults: what lock-step of single instructions does not see.

use super::*;
use crate::memory::RAM_BASE;

/// Interrupt lines that tests pull, and a place where stores are noted.
#[derive(Debug, Default)]
struct Lines {
    levels: u64,
    /// From this cycle on, these lines are up.
    then: Option<(u64, u64)>,
}

/// Writing here sets the levels.
const LEVELS: u32 = 0x4000_0000;

impl Peripherals for Lines {
    fn read(&mut self, _: &mut Memory, _: u64, address: u32) -> Option<u32> {
        (address == LEVELS).then_some(self.levels as u32)
    }
    fn write(&mut self, _: &mut Memory, _: u64, address: u32, value: u32) -> Option<Written> {
        (address == LEVELS).then(|| self.levels = u64::from(value))?;
        Some(Written::Done)
    }
    fn advance(&mut self, _: &mut Memory, now: u64) -> Written {
        if let Some((_, levels)) = self.then.take_if(|(at, _)| *at <= now) {
            self.levels = levels;
        }
        Written::Done
    }
    fn due(&self) -> u64 {
        self.then.map_or(u64::MAX, |(at, _)| at)
    }
    fn lines(&self) -> u64 {
        self.levels
    }
}

const STACK: u32 = RAM_BASE + 0x1000;
const MAIN: u32 = 0x200;
const HANDLERS: u32 = 0x400;
/// Bytes of a handler.
const ROOM: u32 = 0x40;

/// A core with `main` at its entry and handlers by exception number.
fn core(main: &[u16], handlers: &[(u32, &[u16])]) -> Core<Lines> {
    let mut memory = Memory::default();
    let mut put = |at: u32, halves: &[u16]| {
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        assert!(memory.program(at, &bytes));
    };
    put(MAIN, main);
    put(0, &[STACK as u16, (STACK >> 16) as u16, MAIN as u16 | 1, 0]);
    for exception in 2..64 {
        let handler = HANDLERS + exception * ROOM;
        put(4 * exception, &[handler as u16 | 1, 0]);
    }
    for (exception, code) in handlers {
        put(HANDLERS + exception * ROOM, code);
    }
    Core::new(memory, Lines::default(), 0, Costs::CORTEX_M4)
}

fn system(core: &mut Core<Lines>, address: u32, value: u32) {
    let _ = core.system.write(core.cycles, address, value);
    core.nudge();
}
/// Enables interrupt `number` with a priority.
fn enable(core: &mut Core<Lines>, number: u32, priority: u32) {
    let shift = 8 * (number & 3);
    let at = 0xe000_e400 + (number & !3);
    let others = core.system.read(0, at) & !(0xff << shift);
    system(core, at, others | priority << shift);
    system(core, 0xe000_e100 + 4 * (number / 32), 1 << (number & 31));
}

const NOP: u16 = 0xbf00;
const WFI: u16 = 0xbf30;
const BX_LR: u16 = 0x4770;
/// `b .`
const STAY: u16 = 0xe7fe;

#[test]
fn an_exception_stacks_eight_words_and_returns() {
    let mut core = core(&[NOP, NOP, STAY], &[(17, &[0x2000, BX_LR])]);
    enable(&mut core, 1, 0x40);
    let mut registers = core.registers();
    (registers[0], registers[12], registers[14]) = (77, 88, 99);
    // An odd number of words below the top: the frame is moved to a multiple of eight.
    registers[13] = STACK - 4;
    core.set_registers(registers);
    core.set_status(0xa000_0000);
    core.run(2).unwrap();
    core.peripherals.levels = 1 << 1;
    core.nudge();
    core.run(3).unwrap();
    let sp = STACK - 40;
    assert_eq!(core.registers()[13], sp);
    assert_eq!(core.registers()[14], 0xffff_fff9);
    assert_eq!(core.exception, 17);
    let word = |core: &Core<Lines>, at| u32::from_le_bytes(core.memory.ram(at).unwrap());
    assert_eq!(word(&core, sp), 77);
    assert_eq!(word(&core, sp + 16), 88);
    assert_eq!(word(&core, sp + 20), 99);
    assert_eq!(word(&core, sp + 24), MAIN + 4);
    assert_eq!(word(&core, sp + 28), 0xa100_0200);
    core.peripherals.levels = 0;
    core.nudge();
    core.run(core.cycles() + 40).unwrap();
    assert_eq!(core.exception, 0);
    assert_eq!(core.registers()[..1], [77]);
    assert_eq!(core.registers()[13], STACK - 4);
    assert_eq!(core.status(), 0xa000_0000);
    assert_eq!(core.pc(), MAIN + 4);
}

#[test]
fn the_more_urgent_interrupts_the_less_urgent_and_masks_hold_both() {
    let mut core = core(&[STAY], &[(16, &[STAY]), (17, &[STAY]), (18, &[STAY])]);
    for (number, priority) in [(0, 0x80), (1, 0x40), (2, 0x40)] {
        enable(&mut core, number, priority);
    }
    core.peripherals.levels = 0b001;
    core.primask = 1;
    core.nudge();
    core.run(10).unwrap();
    assert_eq!(core.exception, 0);
    core.primask = 0;
    core.nudge();
    core.run(30).unwrap();
    assert_eq!(core.exception, 16);
    core.basepri = 0x40;
    core.peripherals.levels = 0b111;
    core.nudge();
    core.run(60).unwrap();
    assert_eq!(core.exception, 16, "BASEPRI holds what is not more urgent");
    core.basepri = 0;
    core.nudge();
    core.run(90).unwrap();
    assert_eq!(core.exception, 17, "of equals the lower number");
    core.run(120).unwrap();
    assert_eq!(core.exception, 17, "an equal does not interrupt");
    assert_eq!(core.registers()[14], 0xffff_fff1);
}

#[test]
fn a_line_that_stays_up_comes_again_by_tail_chaining() {
    let mut core = core(&[STAY], &[(16, &[0x3401, BX_LR])]);
    enable(&mut core, 0, 0);
    core.peripherals.levels = 1;
    core.nudge();
    // adds r4, #1; bx lr: each time with the next entry 2 + 6 cycles.
    core.run(12 + 10 * 8).unwrap();
    let count = core.registers()[4];
    assert!((9..=11).contains(&count), "{count}");
}

#[test]
fn floats_are_stacked_only_where_the_handler_uses_them() {
    // vmov s0, r0; b .   and in the handler: vmov s0, r1; bx lr
    let main = [0xee00, 0x0a10, STAY];
    let mut core = core(&main, &[(16, &[NOP, 0xee00, 0x1a10, BX_LR])]);
    system(&mut core, 0xe000_ed88, 0x00f0_0000);
    enable(&mut core, 0, 0);
    let mut registers = core.registers();
    (registers[0], registers[1]) = (0x1234_5678, 0x9abc_def0);
    core.set_registers(registers);
    core.run(5).unwrap();
    core.peripherals.levels = 1;
    core.nudge();
    core.run(core.cycles() + 1).unwrap();
    assert_eq!(core.registers()[13], STACK - 0x68);
    assert_eq!(core.registers()[14], 0xffff_ffe9);
    assert!(core.system.is_lazy());
    let saved = |core: &Core<Lines>| core.memory.ram(STACK - 0x68 + 0x20).map(u32::from_le_bytes);
    assert_ne!(saved(&core), Some(0x1234_5678), "not yet");
    core.peripherals.levels = 0;
    core.nudge();
    core.step_once().unwrap();
    core.step_once().unwrap();
    assert_eq!(core.singles()[0], 0x9abc_def0);
    assert_eq!(saved(&core), Some(0x1234_5678));
    core.run(core.cycles() + 40).unwrap();
    assert_eq!((core.exception, core.singles()[0]), (0, 0x1234_5678));
    assert_eq!(core.registers()[13], STACK);
    assert!(core.control & 4 != 0, "the thread uses floats again");
}

#[test]
fn floats_may_be_stacked_at_once_or_never() {
    for (fpccr, bytes) in [(0x8000_0000u32, 0x68), (0, 0x20)] {
        let mut core = core(&[0xee00, 0x0a10, STAY], &[(16, &[STAY])]);
        system(&mut core, 0xe000_ed88, 0x00f0_0000);
        system(&mut core, 0xe000_ef34, fpccr);
        enable(&mut core, 0, 0);
        core.run(5).unwrap();
        core.peripherals.levels = 1;
        core.nudge();
        core.run(core.cycles() + 1).unwrap();
        assert_eq!(core.registers()[13], STACK - bytes);
        assert!(!core.system.is_lazy());
    }
}

#[test]
fn a_thread_may_have_a_stack_of_its_own() {
    // msr psp, r0; movs r1, #2; msr control, r1; svc 0; b .
    let main = [0xf380, 0x8809, 0x2102, 0xf381, 0x8814, 0xdf00, STAY];
    let mut core = core(&main, &[(11, &[0xf3ef, 0x8409, BX_LR])]);
    let mut registers = core.registers();
    registers[0] = RAM_BASE + 0x800;
    core.set_registers(registers);
    core.run(3).unwrap();
    assert_eq!(core.registers()[13], RAM_BASE + 0x800);
    core.run(200).unwrap();
    // mrs r4, psp in the handler, which has the main stack.
    assert_eq!(core.registers()[4], RAM_BASE + 0x800 - 0x20);
    assert_eq!(core.registers()[13], RAM_BASE + 0x800);
    assert_eq!(core.stacks().0, STACK);
}

#[test]
fn sleep_ends_with_an_interrupt_even_a_masked_one() {
    for primask in [0, 1] {
        let mut core = core(&[WFI, 0x3401, STAY], &[(16, &[STAY])]);
        enable(&mut core, 0, 0);
        core.primask = primask;
        core.peripherals.then = Some((1_000_000, 1));
        core.run(999_999).unwrap();
        assert_eq!(core.instructions(), 1);
        assert_eq!(core.idle_until(), 1_000_000);
        core.run(1_000_100).unwrap();
        assert_eq!(u32::from(core.exception), if primask == 0 { 16 } else { 0 });
        assert_eq!(core.registers()[4], primask);
        assert!(core.cycles_asleep() > 999_000);
    }
}

#[test]
fn an_event_is_kept_for_the_next_wait() {
    // sev; wfe; adds r4, #1; wfe; adds r4, #1
    let mut core = core(&[0xbf40, 0xbf20, 0x3401, 0xbf20, 0x3401, STAY], &[]);
    core.run(10_000).unwrap();
    assert_eq!(core.registers()[4], 1);
}

#[test]
fn an_exclusive_store_needs_its_load() {
    // ldrex r1, [r0]; strex r2, r3, [r0]; strex r4, r3, [r0]
    let main = [0xe850, 0x1f00, 0xe840, 0x3200, 0xe840, 0x3400, STAY];
    let mut core = core(&main, &[]);
    let mut registers = core.registers();
    (registers[0], registers[3], registers[2]) = (RAM_BASE, 5, 9);
    core.set_registers(registers);
    core.run(20).unwrap();
    assert_eq!((core.registers()[2], core.registers()[4]), (0, 1));
    assert_eq!(core.memory.ram(RAM_BASE).map(u32::from_le_bytes), Some(5));
}

#[test]
fn an_it_block_runs_what_it_says() {
    // cmp r0, #0; ite eq; moveq r1, #1; movne r1, #2; itttt ne, four additions
    let main = [
        0x2800, 0xbf0c, 0x2101, 0x2102, 0xbf1f, 0x3201, 0x3201, 0x3201, 0x3201, STAY,
    ];
    for (r0, r1, r2) in [(0, 1, 0), (1, 2, 4)] {
        let mut core = core(&main, &[]);
        let mut registers = core.registers();
        registers[0] = r0;
        core.set_registers(registers);
        core.run(30).unwrap();
        assert_eq!(core.registers()[1..3], [r1, r2]);
        // Additions in an IT block leave the flags.
        assert_eq!(core.flags.z, r0 == 0);
    }
}

#[test]
fn faults_tell_where_and_why() {
    let stops = [
        (vec![NOP, 0xde00], 2, Fault::Undefined { word: 0xde00 }),
        (vec![0xbe2a], 0, Fault::Breakpoint { number: 42 }),
        // ldr r0, [r1] of nowhere; ldm r1 not aligned; bx r2 without Thumb; vmov with the unit off.
        (
            vec![0x6808],
            0,
            Fault::Bus {
                address: 0x6000_0000,
            },
        ),
        (
            vec![0x3101, 0xc90c],
            2,
            Fault::Unaligned {
                address: 0x6000_0001,
            },
        ),
        (vec![0x4710], 0, Fault::NotThumb { address: 0x100 }),
        (vec![0xee00, 0x0a10], 0, Fault::FloatOff),
        // str r1, [r3] into flash.
        (vec![0x6019], 0, Fault::Bus { address: 0x400 }),
    ];
    for (main, offset, fault) in stops {
        let mut core = core(&main, &[(3, &[STAY])]);
        let mut registers = core.registers();
        (registers[1], registers[2], registers[3]) = (0x6000_0000, 0x100, 0x400);
        core.set_registers(registers);
        let pc = MAIN + offset;
        assert_eq!(core.run(100), Ok(Running::On));
        assert_eq!(core.last_fault(), Some(Stop { pc, fault }));
        // Its handler was entered, HardFault's as no other is enabled, and would return to where it happened.
        assert_eq!(core.exception, 3);
        let frame = core.registers()[13];
        assert_eq!(
            core.memory.ram(frame + 24).map(u32::from_le_bytes),
            Some(pc)
        );
    }
}

/// 32 bytes without access, from `guard` on.
fn guard(core: &mut Core<Lines>, guard: u32) {
    system(core, 0xe000_ed9c, guard | 1 << 4);
    system(core, 0xe000_eda0, 4 << 1 | 1);
    system(core, 0xe000_ed94, 5);
}

#[test]
fn a_stack_guard_stops_what_runs_over_it() {
    // push {r0}; b .-2. The handler, whose stack is where it must not be, may write there.
    let mut core = core(&[0xb401, 0xe7fd], &[(3, &[0xb401, STAY])]);
    let guarded = STACK - 0x100;
    guard(&mut core, guarded);
    core.run(10_000).unwrap();
    let fault = Fault::Protected {
        address: guarded + 28,
    };
    let frame = guarded + 32 - 32;
    assert_eq!(core.registers()[13], frame - 4);
    assert_eq!(core.exception, 3);
    // Of the frame nothing is there; the handler's own word is.
    assert_eq!(core.memory.lowest_written(RAM_BASE..STACK), frame - 4);
    assert_eq!(core.memory.lowest_written(frame..STACK), guarded + 32);
    // Access, stacking, and the address of the access; forced.
    let [status, hard, address] =
        [0xd28, 0xd2c, 0xd34].map(|offset| core.system.read(0, 0xe000_e000 + offset));
    assert_eq!(status, 1 << 1 | 1 << 4 | 1 << 7);
    assert_eq!((hard, address), (1 << 30, guarded + 28));
    // It was the stacking that failed last.
    assert_ne!(core.last_fault(), Some(Stop { pc: MAIN, fault }));
    assert!(!core.is_locked_up());
}

#[test]
fn a_fault_has_its_own_handler_where_that_is_enabled_and_urgent_enough() {
    // udf; the handlers stay. At an interrupt of the same priority it is a HardFault.
    let main: &[u16] = &[NOP, NOP, 0xde00];
    let handlers: [(u32, &[u16]); 3] = [(3, &[STAY]), (6, &[STAY]), (17, &[0xde00])];
    for (enabled, in_handler, exception) in [(0, 0, 3), (1 << 18, 0, 6), (1 << 18, 2, 3)] {
        let mut core = core(main, &handlers);
        enable(&mut core, 1, 0);
        system(&mut core, 0xe000_ed24, enabled);
        core.peripherals.levels = in_handler;
        core.nudge();
        core.run(100).unwrap();
        assert_eq!(core.exception, exception);
        assert_eq!(core.system.read(0, 0xe000_ed28), 1 << 16);
    }
}

#[test]
fn a_fault_within_a_hard_fault_locks_up_and_resets() {
    let mut core = core(&[0xde00], &[(3, &[0xde00])]);
    assert_eq!(core.run(100), Ok(Running::Reset));
    assert!(core.is_locked_up());
    core.reset(0);
    assert!(!core.is_locked_up());
    // Where there is no handler, too.
    assert!(core.memory.program(12, &[0; 4]));
    assert_eq!(core.run(200), Ok(Running::Reset));
}

#[test]
fn systick_counts_and_interrupts() {
    let mut core = core(&[WFI, 0xe7fd], &[(15, &[0x3401, BX_LR])]);
    system(&mut core, 0xe000_e014, 999);
    system(&mut core, 0xe000_e018, 0);
    system(&mut core, 0xe000_e010, 7);
    core.run(10_500).unwrap();
    assert_eq!(core.registers()[4], 10);
    let value = core.system.read(core.cycles, 0xe000_e018);
    assert!((480..520).contains(&value), "{value}");
}

#[test]
fn software_asks_for_a_reset() {
    let mut core = core(&[0x6001, STAY], &[]);
    let mut registers = core.registers();
    (registers[0], registers[1]) = (0xe000_ed0c, 0x05fa_0004);
    core.set_registers(registers);
    assert_eq!(core.run(100), Ok(Running::Reset));
    core.reset(0);
    assert_eq!((core.pc(), core.registers()[13]), (MAIN, STACK));
}

#[test]
fn silicon_may_be_slower_by_a_cycle_every_few_instructions() {
    for (every, cycles) in [(0, 100), (4, 125), (3, 133), (2, 150)] {
        let mut core = core(&[NOP; 120], &[]);
        core.costs.stretch = NonZeroU32::new(every);
        core.until_stretch = every;
        for _ in 0..100 {
            core.step_once().unwrap();
        }
        assert_eq!(core.cycles(), cycles);
    }
}

/// A bus on which every store stops the processor for a thousand cycles.
#[derive(Debug, Default)]
struct Slow(Lines);

impl Peripherals for Slow {
    fn read(&mut self, memory: &mut Memory, now: u64, address: u32) -> Option<u32> {
        self.0.read(memory, now, address)
    }
    fn write(&mut self, _: &mut Memory, _: u64, _: u32, _: u32) -> Option<Written> {
        Some(Written::Stalls(1_000))
    }
    fn advance(&mut self, memory: &mut Memory, now: u64) -> Written {
        self.0.advance(memory, now)
    }
    fn due(&self) -> u64 {
        self.0.due()
    }
    fn lines(&self) -> u64 {
        self.0.lines()
    }
}

#[test]
fn a_processor_that_stands_still_takes_no_interrupt_and_does_not_run_ahead() {
    let fast = core(&[0x6001, 0x3401, STAY], &[(16, &[STAY])]);
    let mut core = Core::new(fast.memory, Slow::default(), 0, Costs::CORTEX_M4);
    let _ = core.system.write(0, 0xe000_e100, 1);
    core.peripherals.0.then = Some((500, 1));
    let mut registers = core.registers();
    registers[0] = LEVELS;
    core.set_registers(registers);
    core.run(600).unwrap();
    assert_eq!((core.cycles(), core.exception), (600, 0));
    assert_eq!(core.peripherals.0.levels, 1, "the rest of the chip goes on");
    assert_eq!(core.idle_until(), 1_001);
    core.run(1_030).unwrap();
    assert_eq!((core.exception, core.registers()[4]), (16, 0));
}
