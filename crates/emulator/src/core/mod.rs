//! An interpreter of a Cortex-M4F: ARMv7E-M with FPv4-SP, as the ARMv7-M Architecture Reference Manual (DDI 0403) has it.
//!
//! Each instruction is a row of a table (`narrow.rs`, `wide.rs`) with the function that does it; a row is looked up
//! once for each place in flash. Time base: processor cycles, of which [`Costs`] says how many an instruction takes.
//! Faults run their handlers (`faults.rs`); an instruction that is not modelled stops the core ([`Stop`]). Not modelled:
//! rounding modes but the nearest, flush to zero, the cumulative exception flags of `FPSCR`, debug. Tests: `tests/all/lockstep.rs`, `core_tests.rs`.

mod access;
mod alu;
mod cache;
mod control;
mod data;
mod exception;
mod faults;
mod float;
mod float_moves;
mod loads;
mod media;
mod multiply;
mod narrow;
mod narrow_memory;
mod row;
mod stop;
mod system;
mod wide;

use crate::memory::Memory;
use cache::Cache;
use std::num::NonZeroU32;
pub use stop::{Fault, Stop};
use system::System;

/// What a peripheral's register does to the processor that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Nothing.
    Done,
    /// It stands still for so many cycles, as it does while flash is written (NVMC 4.3).
    Stalls(u64),
    /// The chip is reset.
    Resets,
}

/// What lies behind the core's bus.
pub trait Peripherals {
    /// Reads a word at cycle `now`; none where nothing answers.
    fn read(&mut self, memory: &mut Memory, now: u64, address: u32) -> Option<u32>;
    /// Writes a word at cycle `now`; none where nothing answers.
    fn write(&mut self, memory: &mut Memory, now: u64, address: u32, value: u32)
        -> Option<Written>;
    /// Brings everything behind the bus to cycle `now`.
    fn advance(&mut self, memory: &mut Memory, now: u64) -> Written;
    /// When [`Peripherals::advance`] is next wanted, in cycles.
    fn due(&self) -> u64;
    /// Levels of the interrupt lines, interrupt 0 lowest.
    fn lines(&self) -> u64;
    /// The processor goes to sleep at cycle `now`, or runs again.
    fn turns(&mut self, _now: u64, _to: Activity) {}
}

/// What the processor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or stands still while flash is written.
    Runs,
    /// It sleeps.
    Sleeps,
}

/// What instructions cost, in processor cycles (Cortex-M4 TRM, 3.3.1; flash without waiting).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Any instruction.
    pub instruction: u32,
    /// More for a load; a store goes through the write buffer.
    pub load: u32,
    /// More for each register of a multiple load or store.
    pub register: u32,
    /// More for a branch that is taken: the pipeline fills again.
    pub taken: u32,
    /// More for an integer division, on average (2 to 12 in all).
    pub divide: u32,
    /// More for a division or a square root in single precision (14 in all).
    pub float_divide: u32,
    /// More for a multiplication with addition in single precision (3 in all).
    pub float_multiply_add: u32,
    /// Entry to an exception, and as much for the return.
    pub exception: u32,
    /// One more cycle every so many instructions: how much slower silicon may be.
    pub stretch: Option<NonZeroU32>,
}

impl Costs {
    /// A Cortex-M4 whose flash never makes it wait.
    pub const CORTEX_M4: Self = Self {
        instruction: 1,
        load: 1,
        register: 1,
        taken: 2,
        divide: 5,
        float_divide: 13,
        float_multiply_add: 2,
        exception: 12,
        stretch: None,
    };
}

/// N, Z, C, V, Q and GE of the program status register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Flags {
    n: bool,
    z: bool,
    c: bool,
    v: bool,
    q: bool,
    ge: u8,
}

impl Flags {
    const fn bits(self) -> u32 {
        (self.n as u32) << 31
            | (self.z as u32) << 30
            | (self.c as u32) << 29
            | (self.v as u32) << 28
            | (self.q as u32) << 27
            | (self.ge as u32) << 16
    }
    const fn of(bits: u32) -> Self {
        Self {
            n: bits >> 31 != 0,
            z: bits >> 30 & 1 != 0,
            c: bits >> 29 & 1 != 0,
            v: bits >> 28 & 1 != 0,
            q: bits >> 27 & 1 != 0,
            ge: (bits >> 16 & 0xf) as u8,
        }
    }
}

/// What a sleeping core waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sleep {
    /// It does not sleep.
    Awake,
    /// An exception that it would take (`WFI`).
    Exception,
    /// The same, or an event (`WFE`).
    Event,
}

/// Whether the core goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// It does.
    On,
    /// Software or the watchdog has asked for a reset of the chip.
    Reset,
}

/// Program counter of an instruction ahead of it, as it reads it (A2.3.1).
const PC_AHEAD: u32 = 4;
const SP: usize = 13;
const LR: usize = 14;
const PC: usize = 15;

type Done = Result<(), Fault>;
type Handler<P> = fn(&mut Core<P>, u32) -> Done;

/// A core with its memory and what lies behind its bus.
#[derive(Debug)]
pub struct Core<P> {
    r: [u32; 16],
    /// The stack pointer that is not in use.
    other_sp: u32,
    pc: u32,
    next: u32,
    flags: Flags,
    /// `ITSTATE`, and whether the instruction that runs is in an IT block.
    it: u8,
    in_it: bool,
    s: [u32; 32],
    fpscr: u32,
    /// `IPSR`.
    exception: u16,
    /// `PRIMASK`, `FAULTMASK`: their one bit.
    primask: u32,
    faultmask: u32,
    basepri: u8,
    /// `CONTROL`: nPRIV, SPSEL, FPCA.
    control: u32,
    monitor: Option<u32>,
    event: bool,
    sleep: Sleep,
    /// What was last written to the peripherals.
    told: Activity,
    reset_asked: bool,
    locked_up: bool,
    last_fault: Option<Stop>,
    look: bool,
    cycles: u64,
    slept: u64,
    /// For so many cycles more it stands still, and the rest of the chip does not.
    stall: u64,
    /// An exception has ended and no instruction has run since: the next one is tail-chained.
    ended: bool,
    instructions: u64,
    until_stretch: u32,
    /// Instructions run until this cycle without a look at anything else.
    horizon: u64,
    end: u64,
    costs: Costs,
    system: System,
    cache: Cache<P>,
    /// The chip's memories.
    pub memory: Memory,
    /// What lies behind the bus.
    pub peripherals: P,
}

impl<P: Peripherals + 'static> Core<P> {
    /// A core that has been reset: stack pointer and entry from the vector table at `vectors`.
    pub fn new(memory: Memory, peripherals: P, vectors: u32, costs: Costs) -> Self {
        let mut core = Self {
            r: [0; 16],
            other_sp: 0,
            pc: 0,
            next: 0,
            flags: Flags::default(),
            it: 0,
            in_it: false,
            s: [0; 32],
            fpscr: 0,
            exception: 0,
            primask: 0,
            faultmask: 0,
            basepri: 0,
            control: 0,
            monitor: None,
            event: false,
            sleep: Sleep::Awake,
            told: Activity::Runs,
            reset_asked: false,
            locked_up: false,
            last_fault: None,
            look: true,
            cycles: 0,
            slept: 0,
            stall: 0,
            ended: false,
            instructions: 0,
            until_stretch: costs.stretch.map_or(0, NonZeroU32::get),
            horizon: 0,
            end: 0,
            costs,
            system: System::new(vectors),
            cache: Cache::default(),
            memory,
            peripherals,
        };
        core.reset(vectors);
        core
    }

    /// Resets the core, not the chip around it (B1.5.5). Time goes on.
    pub fn reset(&mut self, vectors: u32) {
        let word = |at: u32| self.memory.fixed(at).map_or(u32::MAX, u32::from_le_bytes);
        let (stack, entry) = (word(vectors), word(vectors.wrapping_add(4)));
        self.r = [0; 16];
        self.r[SP] = stack & !3;
        self.r[LR] = u32::MAX;
        (self.pc, self.it, self.exception) = (entry & !1, 0, 0);
        (self.primask, self.faultmask, self.basepri, self.control) = (0, 0, 0, 0);
        (self.monitor, self.event, self.sleep) = (None, false, Sleep::Awake);
        self.stall = 0;
        (self.flags, self.fpscr, self.reset_asked) = (Flags::default(), 0, false);
        self.system = System::new(vectors);
        (self.look, self.locked_up) = (true, false);
    }

    /// Processor cycles since power-on, those asleep included.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }
    /// Of these, cycles asleep.
    pub fn cycles_asleep(&self) -> u64 {
        self.slept
    }
    /// Instructions that have run.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }
    /// Address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }
    /// R0 to R15 as they stand between two instructions.
    pub fn registers(&self) -> [u32; 16] {
        let mut registers = self.r;
        registers[PC] = self.pc;
        registers
    }
    /// Sets R0 to R15.
    pub fn set_registers(&mut self, registers: [u32; 16]) {
        self.r = registers;
        self.pc = registers[PC] & !1;
    }
    /// Program status without T: flags, `ITSTATE` and the exception's number (B1.4.2).
    pub fn status(&self) -> u32 {
        let it = u32::from(self.it);
        self.flags.bits() | (it & 3) << 25 | it >> 2 << 10 | u32::from(self.exception)
    }
    /// Sets the flags and `ITSTATE` of the program status.
    pub fn set_status(&mut self, status: u32) {
        self.flags = Flags::of(status);
        self.it = (status >> 25 & 3 | status >> 8 & 0xfc) as u8;
    }
    /// S0 to S31.
    pub fn singles(&self) -> [u32; 32] {
        self.s
    }
    /// Sets S0 to S31.
    pub fn set_singles(&mut self, singles: [u32; 32]) {
        self.s = singles;
    }
    /// `FPSCR`, without its cumulative flags.
    pub fn float_status(&self) -> u32 {
        self.fpscr
    }
    /// Until which cycle nothing can happen by itself: the present where the core runs.
    pub fn idle_until(&self) -> u64 {
        let next = self.peripherals.due().min(self.system.due());
        match self.sleep {
            _ if self.stall > 0 => next.min(self.cycles + self.stall),
            Sleep::Awake => self.cycles,
            _ if self.look || self.reset_asked => self.cycles,
            _ => next,
        }
    }

    /// Something outside has changed what the peripherals ask for: see at once.
    pub fn nudge(&mut self) {
        self.horizon = 0;
        self.look = true;
    }

    /// Runs to cycle `end`; the last instruction may go beyond it.
    ///
    /// # Errors
    /// [`Stop`] at an instruction that is not modelled.
    pub fn run(&mut self, end: u64) -> Result<Running, Stop> {
        self.end = end;
        self.refresh();
        while self.cycles < end {
            self.attend()?;
            if self.reset_asked {
                return Ok(Running::Reset);
            }
            if self.stall > 0 {
                let next = self.peripherals.due().min(self.system.due()).min(end);
                let until = next.min(self.cycles + self.stall).max(self.cycles);
                self.stall -= until - self.cycles;
                self.cycles = until;
                continue;
            }
            if self.sleep != Sleep::Awake {
                self.tell(Activity::Sleeps);
                let until = self.peripherals.due().min(self.system.due()).min(end);
                let slept = until.saturating_sub(self.cycles);
                self.slept += slept;
                self.cycles += slept;
                continue;
            }
            self.tell(Activity::Runs);
            while self.cycles < self.horizon {
                if let Err(stop) = self.step() {
                    self.fault(stop)?;
                }
            }
        }
        // What fell due with the last instruction is seen now, so a reader finds no register behind.
        self.attend()?;
        Ok(match self.reset_asked {
            true => Running::Reset,
            false => Running::On,
        })
    }

    fn tell(&mut self, what: Activity) {
        if self.told != what {
            self.told = what;
            self.peripherals.turns(self.cycles, what);
            // What is due has changed.
            self.horizon = self.horizon.min(self.peripherals.due());
        }
    }

    /// Forgets what is no longer in flash.
    fn refresh(&mut self) {
        while let Some(page) = self.memory.take_stale() {
            self.cache.forget(page);
        }
    }

    /// Brings the peripherals to the present and takes the exceptions that they ask for.
    fn attend(&mut self) -> Result<(), Stop> {
        if self.cycles >= self.peripherals.due() {
            let effect = self.peripherals.advance(&mut self.memory, self.cycles);
            self.effect(effect);
            self.look = true;
        }
        if self.cycles >= self.system.due() {
            self.system.tick(self.cycles);
            self.look = true;
        }
        if self.look && self.stall == 0 {
            self.look = false;
            self.system.set_lines(self.peripherals.lines());
            if let Err(fault) = self.take_exception() {
                self.fault(Stop { pc: self.pc, fault })?;
            }
        }
        self.horizon = self.peripherals.due().min(self.system.due()).min(self.end);
        if self.look || self.reset_asked {
            self.horizon = 0;
        }
        Ok(())
    }

    /// Runs one instruction.
    #[inline]
    fn step(&mut self) -> Result<(), Stop> {
        let pc = self.pc;
        let done = self.fetch(pc).and_then(|row| {
            self.next = pc.wrapping_add(row.bytes);
            self.r[PC] = pc.wrapping_add(PC_AHEAD);
            self.cycles += u64::from(self.costs.instruction);
            self.instructions += 1;
            if let Some(every) = self.costs.stretch {
                self.until_stretch -= 1;
                if self.until_stretch == 0 {
                    self.until_stretch = every.get();
                    self.cycles += 1;
                }
            }
            let it = self.it;
            self.in_it = it != 0;
            if it != 0 {
                // ITAdvance (A7.3.2).
                self.it = if it & 7 == 0 {
                    0
                } else {
                    it & 0xe0 | it << 1 & 0x1f
                };
                if !self.holds(u32::from(it >> 4)) {
                    return Ok(());
                }
            }
            (row.handler)(self, row.word)
        });
        match done {
            Ok(()) => {
                self.pc = self.next;
                Ok(())
            }
            Err(fault) => Err(Stop { pc, fault }),
        }
    }

    /// Runs one instruction and nothing else: for tests that compare cores.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn step_once(&mut self) -> Result<(), Stop> {
        self.refresh();
        self.step()
    }

    /// `ConditionPassed` (A7.3).
    #[inline]
    fn holds(&self, condition: u32) -> bool {
        let Flags { n, z, c, v, .. } = self.flags;
        let holds = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => c && !z,
            5 => n == v,
            6 => n == v && !z,
            _ => return true,
        };
        holds != (condition & 1 != 0)
    }

    /// What a peripheral did to the processor.
    fn effect(&mut self, written: Written) {
        match written {
            Written::Done => (),
            Written::Stalls(cycles) => self.stall += cycles,
            Written::Resets => self.reset_asked = true,
        }
    }

    /// Reads a register; the program counter reads 4 ahead.
    #[inline]
    fn get(&self, register: usize) -> u32 {
        self.r[register & 15]
    }

    /// Writes a register that is not the program counter; the stack pointer's low bits are nought (B1.4.1).
    #[inline]
    fn put(&mut self, register: usize, value: u32) {
        let value = if register == SP { value & !3 } else { value };
        self.r[register & 15] = value;
    }

    fn more(&mut self, cycles: u32) {
        self.cycles += u64::from(cycles);
    }

    /// N and Z of a result.
    #[inline]
    fn set_nz(&mut self, value: u32) {
        self.flags.n = value >> 31 != 0;
        self.flags.z = value == 0;
    }

    /// N, Z, C and V of a sum.
    #[inline]
    fn set_nzcv(&mut self, sum: alu::Sum) {
        self.set_nz(sum.value);
        self.flags.c = sum.carry;
        self.flags.v = sum.overflow;
    }
}

/// `bits` bits of an instruction from `low` on.
#[inline]
const fn field(word: u32, low: u32, bits: u32) -> usize {
    (word >> low & ((1 << bits) - 1)) as usize
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
