//! Exceptions: when they are taken, what is stacked, how they return (ARMv7-M ARM, B1.5).

use super::access::places;
use super::system::{Stacking, LOWEST, SVCALL};
use super::{Core, Done, Fault, Flags, Peripherals, Sleep, LR, SP};

/// Bytes of a frame without and with floating-point registers (B1.5.6).
const BASIC: u32 = 0x20;
const EXTENDED: u32 = 0x68;
/// From a frame's beginning to its floating-point registers.
const SINGLES: u32 = 0x20;
/// Registers S0 to S15 are stacked, `FPSCR` behind them.
const STACKED_SINGLES: usize = 16;
/// `CONTROL.SPSEL` and `CONTROL.FPCA`.
const SPSEL: u32 = 2;
const FPCA: u32 = 4;
/// Stacked program status: the stack was moved to a multiple of 8.
const PADDED: u32 = 1 << 9;
/// `EXC_RETURN`: no floating-point registers in the frame.
const BASIC_FRAME: u32 = 1 << 4;
/// A tail-chained exception costs so many cycles (Cortex-M4 TRM, 3.9.1).
const TAIL_CHAIN: u32 = 6;

impl<P: Peripherals + 'static> Core<P> {
    /// Takes the most urgent exception, where it is more urgent than what runs.
    pub(super) fn take_exception(&mut self) -> Done {
        let ended = std::mem::take(&mut self.ended);
        if self.sleep == Sleep::Event && (self.event || self.system.wakes_by_pending()) {
            (self.event, self.sleep) = (false, Sleep::Awake);
        }
        let (masked, present) = (self.unmasked(), self.present());
        let urgent = self.system.most_urgent();
        let priority = urgent.map_or(LOWEST, |urgent| self.system.group_of(urgent));
        // PRIMASK keeps no core asleep (B1.5.19).
        if priority < masked {
            self.sleep = Sleep::Awake;
        }
        match urgent {
            Some(urgent) if priority < present => {
                self.more(if ended {
                    TAIL_CHAIN
                } else {
                    self.costs.exception
                });
                self.enter(urgent, self.pc);
                Ok(())
            }
            Some(SVCALL) => Err(Fault::Escalated { exception: SVCALL }),
            _ => {
                self.more(if ended { self.costs.exception } else { 0 });
                Ok(())
            }
        }
    }

    fn uses_process_stack(&self) -> bool {
        self.exception == 0 && self.control & SPSEL != 0
    }

    /// The priority of what runs, with BASEPRI and without PRIMASK and FAULTMASK (B1.5.4).
    fn unmasked(&self) -> i32 {
        let running = self.system.running();
        self.system.masked(self.basepri).min(running)
    }
    /// The priority of what runs, with all masks.
    pub(super) fn present(&self) -> i32 {
        let masked = self.unmasked();
        match (self.faultmask, self.primask) {
            (0, 0) => masked,
            (0, _) => masked.min(0),
            _ => masked.min(-1),
        }
    }

    /// `ExceptionEntry` (B1.5.6), which returns to `returns_to`.
    pub(super) fn enter(&mut self, mut exception: u16, returns_to: u32) {
        self.pc = returns_to;
        let process = self.uses_process_stack();
        let returns = match (self.exception, process) {
            (0, false) => 0xffff_fff9,
            (0, true) => 0xffff_fffd,
            _ => 0xffff_fff1,
        };
        let with_floats = self.control & FPCA != 0;
        if let Err(fault) = self.push_frame(if with_floats { EXTENDED } else { BASIC }) {
            exception = self.not_stacked(exception, self.present(), fault);
        }
        if process {
            std::mem::swap(&mut self.r[SP], &mut self.other_sp);
        }
        self.r[LR] = match with_floats {
            true => returns & !BASIC_FRAME,
            false => returns,
        };
        self.exception = exception;
        self.control &= !(SPSEL | FPCA);
        (self.it, self.monitor, self.event) = (0, None, true);
        self.sleep = Sleep::Awake;
        self.system.enter(exception);
        let vector = self.system.vtor.wrapping_add(4 * u32::from(exception));
        let vector = self.load_free::<4>(vector);
        match vector {
            Ok(vector) if vector & 1 != 0 => self.pc = vector & !1,
            // There is no handler: nothing is lost by not looking for that fault's own.
            _ => self.lock_up(),
        }
    }

    fn push_frame(&mut self, bytes: u32) -> Done {
        let sp = self.r[SP];
        // CCR.STKALIGN is 1.
        let frame = sp.wrapping_sub(bytes) & !7;
        let padded = if sp & 4 != 0 { PADDED } else { 0 };
        // T is stacked as 1.
        let status = self.status() | 1 << 24 | padded;
        let [r0, r1, r2, r3, ..] = self.r;
        let words = [r0, r1, r2, r3, self.r[12], self.r[LR], self.pc, status];
        self.r[SP] = frame;
        for (at, word) in places(frame).zip(words) {
            self.store_aligned(at, word)?;
        }
        if bytes == EXTENDED {
            self.system.fpcar = frame + SINGLES;
            match self.system.stacking() {
                Stacking::Lazy => self.system.set_lazy(1),
                _ => self.save_singles()?,
            }
        }
        Ok(())
    }

    fn save_singles(&mut self) -> Done {
        let words = self.s.into_iter().take(STACKED_SINGLES).chain([self.fpscr]);
        for (at, word) in places(self.system.fpcar).zip(words) {
            self.store_aligned(at, word)?;
        }
        Ok(())
    }

    /// `ExecuteFPCheck` (B1.5.7): saves what an exception has left unsaved.
    #[inline]
    pub(super) fn use_float(&mut self) -> Done {
        if self.system.cpacr == 0 {
            return Err(Fault::FloatOff);
        }
        if self.system.is_lazy() {
            self.save_singles()?;
            self.system.set_lazy(0);
        }
        if self.system.stacking() != Stacking::Off {
            self.control |= FPCA;
        }
        Ok(())
    }

    /// `ExceptionReturn` (B1.5.8).
    fn leave(&mut self, value: u32) -> Done {
        let bad = Err(Fault::BadReturn { value });
        if value < 0xffff_ffe0 || !self.system.is_active(self.exception) {
            return bad;
        }
        let process = match value & 0xf {
            0x1 | 0x9 => false,
            0xd => true,
            _ => return bad,
        };
        self.system.leave(self.exception);
        self.faultmask = 0;
        self.control = self.control & !(SPSEL | FPCA)
            | if process { SPSEL } else { 0 }
            | if value & BASIC_FRAME == 0 { FPCA } else { 0 };
        if process {
            std::mem::swap(&mut self.r[SP], &mut self.other_sp);
        }
        let frame = self.r[SP];
        let mut words = [0; 8];
        for (at, word) in places(frame).zip(&mut words) {
            *word = self.load_aligned(at)?;
        }
        let [r0, r1, r2, r3, r12, lr, pc, status] = words;
        (self.r[0], self.r[1], self.r[2], self.r[3]) = (r0, r1, r2, r3);
        (self.r[12], self.r[LR], self.next) = (r12, lr, pc & !1);
        let bytes = match value & BASIC_FRAME {
            0 => self.pop_singles(frame + SINGLES)?,
            _ => BASIC,
        };
        let padding = if status & PADDED != 0 { 4 } else { 0 };
        self.r[SP] = frame.wrapping_add(bytes) | padding;
        self.set_status(status);
        self.exception = (status & 0x1ff) as u16;
        // To Thread mode with F1, or to a handler with another: not consistent (B1.5.8).
        if (self.exception == 0) == (value & 0xf == 0x1) {
            return bad;
        }
        self.flags = Flags::of(status);
        self.event = true;
        if self.exception == 0 && self.system.sleeps_on_exit() {
            self.sleep = Sleep::Exception;
        }
        (self.monitor, self.ended) = (None, true);
        self.nudge();
        Ok(())
    }

    fn pop_singles(&mut self, from: u32) -> Result<u32, Fault> {
        if self.system.is_lazy() {
            // They were never saved, so they still stand.
            self.system.set_lazy(0);
            return Ok(EXTENDED);
        }
        for number in 0..STACKED_SINGLES {
            self.s[number] = self.load_aligned(from + 4 * number as u32)?;
        }
        self.fpscr = self.load_aligned(from + 4 * STACKED_SINGLES as u32)?;
        Ok(EXTENDED)
    }

    /// `BXWritePC`: a branch, or the end of an exception (A2.3.1, B1.4.7).
    #[inline]
    pub(super) fn branch_exchange(&mut self, target: u32) -> Done {
        if target >= 0xf000_0000 && self.exception != 0 {
            return self.leave(target);
        }
        if target & 1 == 0 {
            return Err(Fault::NotThumb { address: target });
        }
        self.branch(target);
        Ok(())
    }

    /// `BranchWritePC`.
    #[inline]
    pub(super) fn branch(&mut self, target: u32) {
        self.next = target & !1;
        self.more(self.costs.taken);
    }

    /// The stack pointers: main and process.
    pub(super) fn stacks(&self) -> (u32, u32) {
        match self.uses_process_stack() {
            true => (self.other_sp, self.r[SP]),
            false => (self.r[SP], self.other_sp),
        }
    }
    pub(super) fn set_main_stack(&mut self, value: u32) {
        match self.uses_process_stack() {
            true => self.other_sp = value & !3,
            false => self.r[SP] = value & !3,
        }
    }
    pub(super) fn set_process_stack(&mut self, value: u32) {
        match self.uses_process_stack() {
            true => self.r[SP] = value & !3,
            false => self.other_sp = value & !3,
        }
    }

    /// Writes `CONTROL`: which stack Thread mode uses (B1.4.4). Handlers cannot change it.
    pub(super) fn set_control(&mut self, value: u32) {
        let before = self.uses_process_stack();
        let spsel = match self.exception {
            0 => value & SPSEL,
            _ => self.control & SPSEL,
        };
        self.control = value & (1 | FPCA) | spsel;
        if before != self.uses_process_stack() {
            std::mem::swap(&mut self.r[SP], &mut self.other_sp);
        }
    }
}
