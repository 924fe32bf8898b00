//! The system space: NVIC, system control block, SysTick, cycle counter, memory protection (ARMv7-M ARM, B3, C1.8).
//!
//! Exceptions have the architecture's numbers; interrupt n is exception 16 + n, and the nRF52840 has 48 with
//! three bits of priority (product specification, 7.1.1), so a set of exceptions is one word of 64 bits.
//! Not modelled: debug, and of the MPU all but the first region without access.

use super::faults::{Status, HARD};

/// Exceptions that there are.
pub(super) const EXCEPTIONS: usize = 64;
pub(super) const SVCALL: u16 = 11;
const NMI: u16 = 2;
const PENDSV: u16 = 14;
const SYSTICK: u16 = 15;
/// Exceptions that no `ISER` governs.
const ALWAYS: u64 = 0xffff;
/// Bits of priority.
const PRIORITY_MASK: u32 = 0xe0;
/// A priority below all that can be set.
pub(super) const LOWEST: i32 = 256;
/// Regions of the MPU.
const REGIONS: usize = 8;

/// Whether the FPU saves its registers at an exception, and when (B1.5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stacking {
    /// Not at all.
    Off,
    /// When the exception is taken.
    Eager,
    /// When the handler first uses one.
    Lazy,
}

/// What a write to the system space asks of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Look for exceptions.
    Look,
    /// Reset the chip.
    Reset,
}

#[derive(Debug, Clone, Copy, Default)]
struct Region {
    base: u32,
    attributes: u32,
}

/// A range without access; empty where its size is nought.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Guard {
    base: u32,
    bytes: u32,
}

impl Guard {
    #[inline]
    pub(super) const fn forbids(self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }
}

#[derive(Debug)]
pub(super) struct System {
    pub(super) pending: u64,
    enabled: u64,
    pub(super) active: u64,
    lines: u64,
    priority: [u8; EXCEPTIONS],
    pub(super) vtor: u32,
    group_bits: u32,
    scr: u32,
    ccr: u32,
    shcsr: u32,
    pub(super) cpacr: u32,
    fpccr: u32,
    pub(super) fpcar: u32,
    /// `EXCTRCENA`, then the cycle at which `CYCCNT` was nought.
    demcr: u32,
    dwt: u32,
    cycle_origin: u64,
    systick: SysTick,
    mpu_on: u32,
    region: usize,
    regions: [Region; REGIONS],
    pub(super) guard: Guard,
    pub(super) faults: Status,
}

impl System {
    /// After a reset, with the vector table at `vtor` (B3.2.2).
    pub(super) fn new(vtor: u32) -> Self {
        Self {
            pending: 0,
            enabled: ALWAYS,
            active: 0,
            lines: 0,
            priority: [0; EXCEPTIONS],
            vtor,
            group_bits: 0,
            scr: 0,
            ccr: 0x200,
            shcsr: 0,
            cpacr: 0,
            fpccr: 0xc000_0000,
            fpcar: 0,
            demcr: 0,
            dwt: 0,
            cycle_origin: 0,
            systick: SysTick::default(),
            mpu_on: 0,
            region: 0,
            regions: [Region::default(); REGIONS],
            guard: Guard::default(),
            faults: Status::default(),
        }
    }
}

const fn bit(exception: u16) -> u64 {
    1 << (exception & 63)
}

impl System {
    /// The levels of the chip's interrupt lines. A line that rises pends (B3.4.1).
    pub(super) fn set_lines(&mut self, lines: u64) {
        let lines = lines << 16;
        self.pending |= lines & !self.lines;
        self.lines = lines;
    }

    pub(super) fn pend(&mut self, exception: u16) {
        self.pending |= bit(exception);
    }

    /// The exception begins.
    pub(super) fn enter(&mut self, exception: u16) {
        self.pending &= !bit(exception);
        self.active |= bit(exception);
        if exception <= HARD {
            self.set_guard();
        }
    }

    /// The exception is over; a line that is still up pends again (B3.4.1).
    pub(super) fn leave(&mut self, exception: u16) {
        self.active &= !bit(exception);
        self.pending |= self.lines & bit(exception);
        if exception <= HARD {
            self.set_guard();
        }
    }

    /// Whether a fault has its own handler: SHCSR's bits for MemManage, BusFault and UsageFault (B3.2.13).
    pub(super) const fn handles(&self, fault: u16) -> bool {
        match fault {
            4..=6 => self.shcsr >> (12 + fault) & 1 != 0,
            _ => true,
        }
    }

    pub(super) const fn is_active(&self, exception: u16) -> bool {
        self.active & bit(exception) != 0
    }

    const fn fixed_priority(&self, exception: u16) -> i32 {
        match exception {
            1 => -3,
            NMI => -2,
            3 => -1,
            n => self.priority[(n & 63) as usize] as i32,
        }
    }

    /// The part of a priority that decides about preemption (B1.5.4).
    const fn group(&self, priority: i32) -> i32 {
        match priority {
            0.. => priority >> (self.group_bits + 1) << (self.group_bits + 1),
            _ => priority,
        }
    }

    pub(super) const fn group_of(&self, exception: u16) -> i32 {
        self.group(self.fixed_priority(exception))
    }

    /// `basepri` as a priority; none where it masks nothing.
    pub(super) const fn masked(&self, basepri: u8) -> i32 {
        match basepri {
            0 => LOWEST,
            basepri => self.group(basepri as i32),
        }
    }

    fn numbers(mut set: u64) -> impl Iterator<Item = u16> {
        std::iter::from_fn(move || {
            let number = set.trailing_zeros() as u16;
            set &= set.wrapping_sub(1);
            (number < 64).then_some(number)
        })
    }

    /// The priority of what runs, without masks (B1.5.4).
    pub(super) fn running(&self) -> i32 {
        let active = Self::numbers(self.active);
        active.map(|n| self.group_of(n)).min().unwrap_or(LOWEST)
    }

    /// The most urgent exception that waits (B1.5.4).
    pub(super) fn most_urgent(&self) -> Option<u16> {
        let waiting = Self::numbers(self.pending & self.enabled);
        waiting.min_by_key(|&n| (self.fixed_priority(n), n))
    }

    /// Whether anything waits, enabled or not: `SEVONPEND` (B1.5.18).
    pub(super) const fn wakes_by_pending(&self) -> bool {
        self.scr & 1 << 4 != 0 && self.pending != 0
    }
    pub(super) const fn sleeps_on_exit(&self) -> bool {
        self.scr & 1 << 1 != 0
    }
    /// `CCR.STKALIGN` is always 1 on a Cortex-M4 (its TRM, 4.3), `UNALIGN_TRP` is asked for here.
    pub(super) const fn traps_unaligned(&self) -> bool {
        self.ccr & 1 << 3 != 0
    }
    pub(super) const fn traps_division(&self) -> bool {
        self.ccr & 1 << 4 != 0
    }

    pub(super) const fn stacking(&self) -> Stacking {
        match self.fpccr >> 30 {
            3 => Stacking::Lazy,
            2 => Stacking::Eager,
            _ => Stacking::Off,
        }
    }
    /// `FPCCR.LSPACT`.
    pub(super) fn set_lazy(&mut self, waits: u32) {
        self.fpccr = self.fpccr & !1 | waits;
    }
    pub(super) const fn is_lazy(&self) -> bool {
        self.fpccr & 1 != 0
    }

    /// When SysTick next asks for its exception.
    pub(super) fn due(&self) -> u64 {
        self.systick.due()
    }
    pub(super) fn tick(&mut self, now: u64) {
        if self.systick.tick(now) {
            self.pend(SYSTICK);
        }
    }

    /// Reads a register of the system space, whose access is private (B3.1.1); reserved ones are nought.
    pub(super) fn read(&mut self, now: u64, address: u32) -> u32 {
        let offset = address & 0xffc;
        match address & !0xfff {
            0xe000_1000 => match offset {
                0 => 0x4000_0000 | self.dwt,
                4 => (now - self.cycle_origin) as u32,
                _ => 0,
            },
            0xe000_e000 => self.read_control(now, offset),
            _ => 0,
        }
    }

    fn read_control(&mut self, now: u64, offset: u32) -> u32 {
        let word = |set: u64| (set >> 16 >> (32 * (offset >> 2 & 1))) as u32;
        match offset {
            0x10 => self.systick.read_control(now),
            0x14 => self.systick.reload,
            0x18 => self.systick.value(now),
            0x1c => 0x8000_0000,
            0x100..=0x104 | 0x180..=0x184 => word(self.enabled),
            0x200..=0x204 | 0x280..=0x284 => word(self.pending),
            0x300..=0x304 => word(self.active),
            0x400..=0x42c => self.priorities(16 + (offset as usize - 0x400)),
            0xd00 => 0x410f_c241,
            0xd04 => self.icsr(),
            0xd08 => self.vtor,
            0xd0c => 0xfa05_0000 | self.group_bits << 8,
            0xd10 => self.scr,
            0xd14 => self.ccr,
            0xd18..=0xd20 => self.priorities(4 + (offset as usize - 0xd18)),
            0xd24 => self.shcsr,
            0xd28..=0xd38 => self.faults.read(offset).unwrap_or(0),
            0xd88 => self.cpacr,
            0xd90 => 0x0800,
            0xd94 => self.mpu_on,
            0xd98 => self.region as u32,
            0xd9c => self.regions[self.region].base | self.region as u32,
            0xda0 => self.regions[self.region].attributes,
            0xdfc => self.demcr,
            0xf34 => self.fpccr,
            0xf38 => self.fpcar,
            // MVFR0 and MVFR1 of a Cortex-M4F (its TRM, 7.2).
            0xf40 => 0x1011_0021,
            0xf44 => 0x1100_0011,
            _ => 0,
        }
    }

    fn icsr(&self) -> u32 {
        let of = |exception| u32::from(self.pending & bit(exception) != 0);
        let running = Self::numbers(self.active).min_by_key(|&n| (self.fixed_priority(n), n));
        let vector = self.most_urgent().unwrap_or(0);
        of(PENDSV) << 28
            | of(SYSTICK) << 26
            | u32::from(vector) << 12
            | u32::from(running.unwrap_or(0))
    }

    fn priorities(&self, first: usize) -> u32 {
        let four = self
            .priority
            .get(first..first + 4)
            .and_then(|p| p.try_into().ok());
        four.map_or(0, u32::from_le_bytes)
    }

    fn set_priorities(&mut self, first: usize, value: u32) {
        let value = value & (PRIORITY_MASK * 0x0101_0101);
        if let Some(four) = self.priority.get_mut(first..first + 4) {
            four.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes a register of the system space.
    pub(super) fn write(&mut self, now: u64, address: u32, value: u32) -> Asked {
        let offset = address & 0xffc;
        match (address & !0xfff, offset) {
            (0xe000_1000, 0) => self.dwt = value & 1,
            (0xe000_1000, 4) => self.cycle_origin = now.wrapping_sub(u64::from(value)),
            // AIRCR with its key (B3.2.6).
            (0xe000_e000, 0xd0c) if value >> 16 == 0x05fa => {
                self.group_bits = value >> 8 & 7;
                if value & 1 << 2 != 0 {
                    return Asked::Reset;
                }
            }
            (0xe000_e000, 0xd0c) => (),
            (0xe000_e000, 0xd90..=0xdb8) => self.write_mpu(offset, value),
            (0xe000_e000, _) => self.write_control(now, offset, value),
            _ => (),
        }
        Asked::Look
    }

    fn write_control(&mut self, now: u64, offset: u32, value: u32) {
        let set = u64::from(value) << 16 << (32 * (offset >> 2 & 1));
        match offset {
            0x10 => self.systick.write_control(now, value),
            0x14 => self.systick.reload = value & 0xff_ffff,
            0x18 => self.systick.restart(now),
            0x100..=0x104 => self.enabled |= set,
            0x180..=0x184 => self.enabled &= !set | ALWAYS,
            0x200..=0x204 => self.pending |= set,
            // A line that is up pends again at once (B3.4.1).
            0x280..=0x284 => self.pending = self.pending & !set | self.lines & set & !self.active,
            0x400..=0x42c => self.set_priorities(16 + (offset as usize - 0x400), value),
            0xd04 => self.write_icsr(value),
            0xd08 => self.vtor = value & 0xffff_ff80,
            0xd10 => self.scr = value & 0x16,
            0xd14 => self.ccr = value & 0x11b | 0x200,
            0xd18..=0xd20 => self.set_priorities(4 + (offset as usize - 0xd18), value),
            0xd24 => self.shcsr = value & 0x7_0000,
            0xd28..=0xd38 => self.faults.clear(offset, value),
            0xd88 => self.cpacr = value & 0x00f0_0000,
            0xdfc => self.demcr = value & 0x0100_0000,
            0xf00 => self.pend(16 + (value as u16 & 0x1ff).min(47)),
            0xf34 => self.fpccr = self.fpccr & 1 | value & 0xc000_0000,
            _ => (),
        }
    }

    fn write_icsr(&mut self, value: u32) {
        for (set, clear, exception) in [(31, 31, NMI), (28, 27, PENDSV), (26, 25, SYSTICK)] {
            if value >> set & 1 != 0 {
                self.pend(exception);
            } else if value >> clear & 1 != 0 {
                self.pending &= !bit(exception);
            }
        }
    }

    /// B3.5. Of the regions only the first without access counts.
    fn write_mpu(&mut self, offset: u32, value: u32) {
        match offset {
            0xd94 => self.mpu_on = value & 7,
            0xd98 => self.region = value as usize & (REGIONS - 1),
            0xd9c | 0xda4 | 0xdac | 0xdb4 => {
                if value & 1 << 4 != 0 {
                    self.region = value as usize & (REGIONS - 1);
                }
                self.regions[self.region].base = value & !0x1f;
            }
            0xda0 | 0xda8 | 0xdb0 | 0xdb8 => self.regions[self.region].attributes = value,
            _ => (),
        }
        self.set_guard();
    }

    /// Sets the addresses that the MPU closes now. The handlers of HardFault and NMI may use them all the same, but for
    /// MPU_CTRL.HFNMIENA (B3.5.5).
    fn set_guard(&mut self) {
        const ABOVE: u64 = bit(NMI) | bit(HARD);
        let is_on = self.mpu_on & 1 != 0 && (self.mpu_on & 2 != 0 || self.active & ABOVE == 0);
        let closed =
            |region: &&Region| region.attributes & 1 != 0 && region.attributes >> 24 & 7 == 0;
        let closed = self.regions.iter().filter(|_| is_on).find(closed);
        self.guard = closed.map_or(Guard::default(), |region| Guard {
            base: region.base,
            bytes: 2u32
                .checked_shl(region.attributes >> 1 & 0x1f)
                .unwrap_or(u32::MAX),
        });
    }
}

/// The system timer (B3.3), which counts processor cycles.
#[derive(Debug, Default)]
struct SysTick {
    control: u32,
    reload: u32,
    /// When it last was at its reload value, where it counts.
    since: Option<u64>,
    /// `COUNTFLAG`.
    wrapped: u32,
}

impl SysTick {
    const fn period(&self) -> u64 {
        self.reload as u64 + 1
    }
    fn due(&self) -> u64 {
        let counts = self.since.filter(|_| self.reload > 0);
        counts.map_or(u64::MAX, |since| since + self.period())
    }
    /// Says whether the exception is asked for.
    fn tick(&mut self, now: u64) -> bool {
        let due = self.due();
        if now < due {
            return false;
        }
        let periods = (now - due) / self.period() + 1;
        self.since = self.since.map(|since| since + periods * self.period());
        self.wrapped = 1;
        self.control & 2 != 0
    }
    fn value(&self, now: u64) -> u32 {
        let past = self.since.map_or(0, |since| (now - since) % self.period());
        (self.period() - 1 - past) as u32 & 0xff_ffff
    }
    fn read_control(&mut self, now: u64) -> u32 {
        self.tick(now);
        std::mem::take(&mut self.wrapped) << 16 | self.control
    }
    fn write_control(&mut self, now: u64, value: u32) {
        let ran = self.control & 1;
        self.control = value & 7;
        match (ran, value & 1) {
            (0, 1) => self.since = Some(now),
            (_, 0) => self.since = None,
            _ => (),
        }
    }
    fn restart(&mut self, now: u64) {
        self.since = self.since.map(|_| now);
        self.wrapped = 0;
    }
}
