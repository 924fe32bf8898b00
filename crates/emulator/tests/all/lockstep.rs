//! The interpreter beside rsemu: one random instruction word at a time, from the same registers, flags and memory.
//!
//! What the architecture leaves open (UNPREDICTABLE) is not compared: [`is_open`] lists it with the clause. Where both
//! are definite and differ, the manual decides: [`is_theirs`] lists where it decides against rsemu.
//! `cargo test -p thalweg-emulator --test all lockstep -- --ignored` compares a hundred times as many.

use rsemu::core::device::Device;
use rsemu::core::space::{AddressSpace, RamStore, Region, RomStore, RomWrite, UnassignedPolicy};
use rsemu::core::ResetKind;
use rsemu::cpu::arm::v7m::{ArmV7m, Config, Regs};
use std::sync::Arc;
use thalweg_emulator::core::{Core, Costs, Fault, Peripherals, Stop, Written};
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
            // Not in the system space, whose registers are words.
            _ => match self.word() {
                word if word >> 24 == 0xe0 => word << 8,
                word => word,
            },
        }
    }
    /// A single: any bits, or a number near one.
    fn single(&mut self) -> u32 {
        match self.below(4) {
            0 => self.word(),
            1 => self.word() & 0xff80_0000 | self.below(4),
            _ => (0x3e00_0000 + self.below(0x0400_0000)) | (self.below(2) << 31),
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

const IT: u32 = 0x0600_fc00;
const STATUS: u32 = 0xf80f_0000 | IT;

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
        let theirs = ArmV7m::new(Config::CORTEX_M4F.with_bit_band(false));
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
            // B1.4.1: the low bits of the stack pointer are nought; rsemu keeps what a load puts there.
            r: std::array::from_fn(|n| if n == 13 { regs.r[n] & !3 } else { regs.r[n] }),
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
            let system = is_elsewhere(self.theirs.bus_faults().1);
            self.reset();
            self.restore();
            return match ours {
                Ok(()) if !svc && !system => Some(format!("theirs faults: {:x?}", state.r)),
                _ => None,
            };
        }
        let differs = match ours {
            // A5.1.1 lets either come first: that the condition fails, or that there is no such instruction.
            Err(stop)
                if state.status & IT != 0 && matches!(stop.fault, Fault::Undefined { .. }) =>
            {
                None
            }
            Err(Stop {
                fault: Fault::Unaligned { address } | Fault::Bus { address },
                ..
            }) if is_elsewhere(address) => None,
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

/// The system space and the pages of information, where one has registers that the other has not.
fn is_elsewhere(address: u32) -> bool {
    address >> 20 == 0xe00 || address >> 16 == 0x1000
}

/// What the manual leaves open (UNPREDICTABLE), so that both may be right.
fn is_open(word: u32) -> bool {
    match word {
        0x1_0000.. => is_loose(word) || is_open_wide(word),
        _ => {
            let high = word >> 4 & 8 | word & 7;
            let is = |mask, value| word & mask == value;
            // Half a wide instruction; MSR-like bits of CPS; empty lists (A7.7.41); the program counter, or two low
            // registers, where only high ones make sense (A7.7.4, A7.7.28, A7.7.19).
            is(0xe800, 0xe800)
                || is(0xffe0, 0xb660) && word & 0xc != 0
                || is(0xf7ff, 0xc000)
                || is(0xff00, 0x4400) && high == 15
                || is(0xff00, 0x4500) && (word & 0xc0 == 0 || high == 15 || is(0x78, 0x78))
                || is(0xff80, 0x4700) && word & 7 != 0
                || is(0xff80, 0x4780) && (word & 7 != 0 || is(0x78, 0x78))
        }
    }
}

/// Bits that should be nought or one and are not (A5.1.2).
fn is_loose(word: u32) -> bool {
    let is = |mask, value| word & mask == value;
    match word >> 24 {
        0xea | 0xeb => is(0x8000, 0x8000),
        0xf3 if is(0x0070_f0c0, 0x0020_0000) => word & 0x30 != 0,
        0xf2 | 0xf3 | 0xf6 | 0xf7 => is(0x0100_8000, 0x0100_0000) && word & 0x0400_0020 != 0,
        0xfa => !is(0xf000, 0xf000) || is(0x00c0_00c0, 0x00c0) || word & 0x80_0040 == 0x40,
        0xfb => is(0x0080_0000, 0) && word & 0xc0 != 0,
        0xe8 | 0xe9 => is(0x0040_2000, 0x2000) || is(0x0050_8000, 0x8000),
        // Two singles from S31 on; more bits behind the point than there are (A7.7.244, A7.7.228).
        0xec => is(0x0fe0_0f3f, 0x0c40_0a3f),
        0xee if is(0x00ba_0fd0, 0x00ba_0a40) => ((word & 0xf) << 1 | word >> 5 & 1) > 16,
        // Of the unit's registers only FPSCR can be reached (A7.7.246).
        0xee if is(0x00e0_0f10, 0x00e0_0a10) && word >> 16 & 15 != 1 => true,
        0xee if is(0x0f10, 0x0b10) => word & 0x6f != 0,
        0xee | 0xfe => is(0x0f10, 0x0a10) && word & 0x6f != 0,
        _ => false,
    }
}

/// Registers that a wide instruction must not name so.
fn is_open_wide(word: u32) -> bool {
    let [n, d, t, m] = [16, 8, 12, 0].map(|low| word >> low & 15);
    let is = |mask, value| word & mask == value;
    let special = |register| register == 13 || register == 15;
    match word >> 24 {
        // Data processing, both forms: A7.7.1 and after. The stack pointer takes sums of its own only.
        0xea | 0xeb | 0xf0 | 0xf1 | 0xf4 | 0xf5 if is(0x8000, 0) => {
            special(d) || special(n) || word >> 25 == 0xea >> 1 && special(m)
        }
        0xf2 | 0xf3 | 0xf6 | 0xf7 if is(0x8000, 0) => {
            let (low, last) = (word >> 6 & 3 | word >> 10 & 0x1c, word & 31);
            let field = is(0x0150_0000, 0x0140_0000);
            let inserts = is(0x0020_0000, 0x0020_0000);
            // Bit fields that leave the word (A7.7.126, A7.7.14).
            let leaves = if inserts { last < low } else { low + last > 31 };
            special(d) || n == 13 || field && leaves
        }
        // MSR and MRS of what is no register, hints and barriers with loose bits: B5.2.2, B5.2.3.
        0xf3 if is(0x00c0_d000, 0x0080_8000) || is(0x00c0_d000, 0x00c0_8000) => true,
        // Multiplication, register shifts and the like: no special register anywhere.
        0xfa => special(d) || special(m) || special(n),
        0xfb => {
            let long = is(0x0080_0000, 0x0080_0000);
            special(d) || special(m) || special(n) || t == 13 || long && (t == 15 || t == d)
        }
        0xf8 | 0xf9 => {
            let writes = is(0x0080_0900, 0x0900);
            let indexed = is(0x0080_0800, 0);
            let hint = t == 15 && word & 0x60_0000 != 0x40_0000;
            (t == 13 && word & 0x60_0000 != 0x40_0000)
                || t == 15 && is(0x0010_0000, 0)
                || hint && writes
                || writes && (n == t || n == 15)
                || indexed && special(m)
        }
        0xe8 | 0xe9 => is_open_transfer(word),
        _ => false,
    }
}

/// Multiple loads and stores, pairs, exclusives, table branches: A7.7.41, A7.7.50, A7.7.52, A7.7.182.
fn is_open_transfer(word: u32) -> bool {
    let [n, d, t, m] = [16, 8, 12, 0].map(|low| word >> low & 15);
    let is = |mask, value| word & mask == value;
    let special = |register| register == 13 || register == 15;
    if is(0x0040_0000, 0) {
        let (list, load) = (word & 0xffff, is(0x0010_0000, 0x0010_0000));
        return n == 15
            || list.count_ones() < 2
            || load && list >> 14 == 3
            || is(0x0020_0000, 0x0020_0000) && list >> n & 1 != 0
            || (list >> 15 != 0 && !load);
    }
    if is(0x0120_0000, 0) {
        let table = is(0x0090_00e0, 0x0090_0000);
        return !table || special(m) || n == 13 || t != 15 || d != 0;
    }
    let writes = is(0x0020_0000, 0x0020_0000);
    special(t)
        || special(d)
        || t == d && is(0x0010_0000, 0x0010_0000)
        || writes && (n == t || n == d || n == 15)
        || n == 15 && is(0x0010_0000, 0)
}

/// Where the manual decides against rsemu.
fn is_theirs(word: u32) -> bool {
    let is = |mask, value| word & mask == value;
    let single = is(0xfe00_0000, 0xf800_0000) && is(0x0080_0000, 0);
    // A7.7.43 and its kin: with neither index nor write-back it is UNDEFINED; rsemu does it.
    let neither = single && is(0x0d00, 0x0800) && word >> 16 & 15 != 15;
    // A5.3.9: such a hint there is not; rsemu takes it for one.
    let hint = single && is(0x0010_f800, 0x0010_f000) && word & 0x07c0 != 0;
    // A2.5.10: FPSub gives the NaN as it is; rsemu turns its sign.
    let subtracts = is(0xffb0_0f50, 0xee30_0a40);
    // A7.7.228: a signed result of 16 bits is extended with its sign; rsemu leaves the rest nought.
    let fixed = is(0xffbf_0fd0, 0xeebe_0a40);
    // Not modelled here, and refused: VMSR that sets other modes.
    let modes = is(0xffff_0f10, 0xeee1_0a10);
    // A7.7.240, A7.7.241: a core register to and from half a double; rsemu has none.
    let scalar = is(0xff40_0f10, 0xee00_0b10);
    scalar || neither || hint || subtracts || fixed || modes
}

/// What must not stand in an IT block, even last: A7.7.38, and the clauses of the others.
fn is_forbidden_in_it(word: u32) -> bool {
    let is = |mask, value| word & mask == value;
    match word {
        0x1_0000.. => is(0xf800_d000, 0xf000_8000),
        _ => is(0xf500, 0xb100) || is(0xff00, 0xbf00) || is(0xffe0, 0xb660) || is(0xf000, 0xd000),
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
        if random.below(8) == 0 && !is_forbidden_in_it(word) {
            // The last of an IT block, under any condition.
            let it = random.below(14) << 4 | 8;
            state.status |= (it & 3) << 25 | it >> 2 << 10;
        }
        if is_open(word) || is_theirs(word) {
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
    assert!(
        all == 0,
        "seed {seed}: {all} of {compared} differ: {some:#?}"
    );
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
