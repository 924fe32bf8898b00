//! The interpreter beside rsemu: one random instruction word at a time, from the same registers, flags and memory.
//!
//! What the architecture leaves open (UNPREDICTABLE) is not compared: [`is_open`] lists it with the clause. Where both
//! are definite and differ, the manual decides: [`is_theirs`] lists where it decides against rsemu.
//! `cargo test -p thalweg-emulator --test lockstep -- --ignored` compares a hundred times as many.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use rsemu::core::device::Device;
use rsemu::core::space::{AddressSpace, RamStore, Region, RomStore, RomWrite, UnassignedPolicy};
use rsemu::core::ResetKind;
use rsemu::cpu::arm::v7m::{ArmV7m, Config, Regs};
use std::sync::Arc;
use thalweg_emulator::core::{Core, Costs, Peripherals, Written};
use thalweg_emulator::{Memory, FLASH_BYTES, RAM_BASE, RAM_BYTES};

/// Registers that point somewhere point here, and so far on either side is compared.
const MIDDLE: u32 = RAM_BASE + 0x4000;
const WINDOW: usize = 0x8000;
/// Where the instruction stands: beyond the window.
const CODE: u32 = RAM_BASE + 0x2_0000;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    fn below(&mut self, end: u32) -> u32 {
        self.word() % end
    }
    /// A register: an address, a small number, a number at an edge, or any.
    fn register(&mut self) -> u32 {
        match self.below(8) {
            0..=3 => MIDDLE + (self.below(0x200) << 2),
            4 => self.below(256),
            5 => 0x7fff_ff00_u32.wrapping_add(self.below(512)),
            6 => 0u32.wrapping_sub(self.below(256)),
            _ => self.word(),
        }
    }
    /// A single: any bits, or a number near one.
    fn single(&mut self) -> u32 {
        match self.below(4) {
            0 => self.word(),
            1 => self.word() & 0xff80_0000 | self.below(4),
            _ => 0x3e00_0000 + self.below(0x0400_0000) | self.below(2) << 31,
        }
    }
    /// An instruction word; narrow ones in the low half.
    fn instruction(&mut self) -> u32 {
        let word = self.word();
        match self.below(4) {
            0 => word >> 16,
            // Most of the wide space is coprocessors that are not there.
            1 => word & 0x0fff_f0ff | 0xe000_0a00 | (self.below(3) + 0xd) << 25 & 0x0e00_0000,
            2 => word & 0x07ff_ffff | 0xf800_0000,
            _ => word & 0x1fff_ffff | 0xe000_0000,
        }
    }
}

struct Nothing;

impl Peripherals for Nothing {
    fn read(&mut self, _: &mut Memory, _: u64, _: u32) -> Option<u32> {
        None
    }
    fn write(&mut self, _: &mut Memory, _: u64, _: u32, _: u32) -> Option<Written> {
        None
    }
    fn advance(&mut self, _: &mut Memory, _: u64) -> Written {
        Written::Done
    }
    fn due(&self) -> u64 {
        u64::MAX
    }
    fn lines(&self) -> u64 {
        0
    }
}

/// Registers, status, singles and the floating-point status before or after an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
struct State {
    r: [u32; 16],
    status: u32,
    s: [u32; 32],
    fpscr: u32,
}

const STATUS: u32 = 0xf80f_0000 | 0x0600_fc00;

struct Pair {
    ours: Core<Nothing>,
    theirs: ArmV7m,
    ram: Arc<RamStore>,
    window: Vec<u8>,
}

impl Pair {
    fn new() -> Self {
        let ram = Arc::new(RamStore::new(RAM_BYTES as u64));
        let flash = Arc::new(RomStore::new(vec![0xff; FLASH_BYTES]));
        let space = AddressSpace::new("memory", 32).with_unassigned(UnassignedPolicy::FAULT);
        let flash = Region::rom("flash", flash, RomWrite::Fault);
        space.topology().map(flash, 0).unwrap();
        let region = Region::ram("ram", Arc::clone(&ram));
        space.topology().map(region, u64::from(RAM_BASE)).unwrap();
        let theirs = ArmV7m::new(Config::CORTEX_M4F);
        theirs.attach_space(Arc::new(space));
        let ours = Core::new(Memory::default(), Nothing, 0, Costs::CORTEX_M4);
        let mut pair = Self {
            ours,
            theirs,
            ram,
            window: (0..WINDOW).map(|n| (n * 7 + n / 256) as u8).collect(),
        };
        pair.ram.write_at(0, &vec![0xa5; RAM_BYTES]).unwrap();
        pair.restore();
        pair.enable_floats();
        pair
    }

    fn enable_floats(&mut self) {
        // str r1, [r0] to CPACR.
        assert!(self.ours.memory.write_ram(CODE, &0x6001u16.to_le_bytes()));
        let mut r = [0; 16];
        (r[0], r[1], r[15]) = (0xe000_ed88, 0x00f0_0000, CODE);
        self.ours.set_registers(r);
        self.ours.step_once().unwrap();
        self.reset();
    }
    fn reset(&mut self) {
        Device::reset(&self.theirs, ResetKind::Cold);
        self.theirs.step();
        self.theirs.with_sys(|sys| sys.cpacr = 0x00f0_0000);
    }
    fn restore(&mut self) {
        assert!(self.ours.memory.write_ram(RAM_BASE, &self.window));
        self.ram.write_at(0, &self.window).unwrap();
    }

    fn set(&mut self, state: &State, word: u32) {
        let bytes = match word {
            0x1_0000.. => word.rotate_left(16).to_le_bytes(),
            _ => (0xbf00_0000 | word).to_le_bytes(),
        };
        assert!(self.ours.memory.write_ram(CODE, &bytes));
        let code = u64::from(CODE - RAM_BASE);
        self.ram.write_at(code, &bytes).unwrap();
        self.ours.set_registers(state.r);
        self.ours.set_status(state.status);
        self.ours.set_singles(state.s);
        let mut regs = Regs::new();
        (regs.r, regs.msp) = (state.r, state.r[13]);
        regs.xpsr = state.status | 1 << 24;
        self.theirs.set_regs(regs);
        for (number, single) in state.s.iter().enumerate() {
            self.theirs.set_s(number as u8, *single);
        }
        self.theirs.set_fpscr(self.ours.float_status());
    }

    fn ours(&self) -> State {
        State {
            r: self.ours.registers(),
            status: self.ours.status() & STATUS,
            s: self.ours.singles(),
            fpscr: self.ours.float_status() & 0xf000_0000,
        }
    }
    fn theirs(&self) -> State {
        let regs = self.theirs.regs();
        State {
            r: regs.r,
            status: regs.xpsr & STATUS,
            s: std::array::from_fn(|number| self.theirs.s(number as u8)),
            fpscr: self.theirs.fpscr() & 0xf000_0000,
        }
    }

    /// Does `word` on both; says how they differ.
    fn compare(&mut self, state: &State, word: u32) -> Option<String> {
        self.set(state, word);
        let ours = self.ours.step_once();
        self.theirs.step();
        let regs = self.theirs.regs();
        let svc = word & 0xff00 == 0xdf00 && word < 0x1_0000;
        if self.theirs.is_asleep() {
            self.reset();
            return None;
        }
        if regs.in_handler() || self.theirs.is_locked_up() || svc {
            self.reset();
            self.restore();
            return match ours {
                Ok(()) if !svc => Some("theirs faults".to_owned()),
                _ => None,
            };
        }
        let differs = match ours {
            Err(stop) => Some(format!("ours stops: {stop}")),
            Ok(()) => self.difference(),
        };
        self.restore();
        differs
    }

    fn difference(&mut self) -> Option<String> {
        let (ours, theirs) = (self.ours(), self.theirs());
        let mut text = String::new();
        for n in 0..16 {
            if ours.r[n] != theirs.r[n] {
                text += &format!(" r{n} {:#x}/{:#x}", ours.r[n], theirs.r[n]);
            }
        }
        for n in 0..32 {
            if ours.s[n] != theirs.s[n] {
                text += &format!(" s{n} {:#x}/{:#x}", ours.s[n], theirs.s[n]);
            }
        }
        if (ours.status, ours.fpscr) != (theirs.status, theirs.fpscr) {
            let both = (ours.status, theirs.status, ours.fpscr, theirs.fpscr);
            text += &format!(" status {both:x?}");
        }
        let mut memory = vec![0; WINDOW];
        self.ram.read_at(0, &mut memory).unwrap();
        if self.ours.memory.read(RAM_BASE, WINDOW) != Some(&memory) {
            text += " memory";
        }
        (!text.is_empty()).then_some(text)
    }
}

/// What the manual leaves open, so that both may be right.
fn is_open(word: u32, state: &State) -> bool {
    let _ = state;
    let fixed = word & 0xffba_0f50 == 0xeeba_0a40;
    // A7.7.228: more bits behind the point than there are.
    if fixed && word & 1 << 7 == 0 && ((word & 0xf) << 1 | word >> 5 & 1) > 16 {
        return true;
    }
    is_loose(word)
}

/// Bits that should be nought or one and are not: A5.1.2 leaves such words open.
fn is_loose(word: u32) -> bool {
    let is = |mask, value| word & mask == value;
    match word >> 24 {
        0xea | 0xeb => is(0x8000, 0x8000),
        0xf2 | 0xf3 | 0xf6 | 0xf7 => is(0x0100_8000, 0x0100_0000) && word & 0x0400_0020 != 0,
        0xfa => !is(0xf000, 0xf000),
        0xfb => is(0x0080_0000, 0) && word & 0xc0 != 0,
        0xe8 | 0xe9 => is(0x0040_2000, 0x2000) || is(0x0050_8000, 0x8000),
        0xee | 0xfe => is(0x0f10, 0x0a10) && word & 0x6f != 0,
        _ => false,
    }
}

/// Compares `count` words drawn from `seed`.
fn compare(count: u32, seed: u64) {
    let mut random = Random(seed);
    let mut pair = Pair::new();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for _ in 0..count {
        let word = random.instruction();
        let mut state = State {
            r: std::array::from_fn(|_| random.register()),
            status: random.word() & 0xf80f_0000,
            s: std::array::from_fn(|_| random.single()),
            fpscr: 0,
        };
        state.r[13] = MIDDLE + (random.below(0x200) << 2);
        state.r[15] = CODE;
        if is_open(word, &state) {
            continue;
        }
        compared += 1;
        if let Some(how) = pair.compare(&state, word) {
            wrong.push(format!("{word:08x}:{how}"));
            pair.reset();
        }
    }
    wrong.sort();
    let some: Vec<&String> = wrong.iter().step_by(1 + wrong.len() / 60).collect();
    let all = wrong.len();
    assert!(all == 0, "seed {seed}: {all} of {compared} differ: {some:#?}");
    assert!(compared > count / 2);
}

#[test]
fn random_instructions_do_what_they_do_elsewhere() {
    compare(100_000, 0x8021_5401);
}

#[test]
#[ignore = "minutes"]
fn many_more_random_instructions_do() {
    compare(10_000_000, 0x8021_5402);
}
