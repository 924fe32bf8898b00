//! Faults as exceptions (ARMv7-M ARM, B1.5.14): which one, what the status registers say (B3.2.15 to B3.2.19), when a core
//! locks up.
//!
//! Where a handler's own frame cannot be stacked, the frame is lost and the fault's handler runs, HardFault's too: so other
//! models have it. A core that locks up asks for a reset, as the nRF52840's does (product specification, 5.3.6).

use super::stop::{Fault, Stop};
use super::{Core, Peripherals};

pub(super) const HARD: u16 = 3;
const MEMORY: u16 = 4;
const BUS: u16 = 5;
const USAGE: u16 = 6;
/// HFSR.FORCED: another fault has become this one. HFSR.DEBUGEVT: a breakpoint that no debugger takes.
const FORCED: u32 = 1 << 30;
const DEBUG_EVENT: u32 = 1 << 31;
/// CFSR: frames that could not be stacked, for MemManage and BusFault.
const MEMORY_STACKING: u32 = 1 << 4;
const BUS_STACKING: u32 = 1 << 12;

/// CFSR, HFSR, MMFAR, BFAR.
#[derive(Debug, Default)]
pub(super) struct Status {
    configurable: u32,
    hard: u32,
    memory_address: u32,
    bus_address: u32,
}

impl Status {
    /// The register at `offset` of the system control space, where it is one of these.
    pub(super) const fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0xd28 => self.configurable,
            0xd2c => self.hard,
            0xd34 => self.memory_address,
            0xd38 => self.bus_address,
            _ => return None,
        })
    }
    /// Bits are cleared by writing ones.
    pub(super) fn clear(&mut self, offset: u32, value: u32) {
        match offset {
            0xd28 => self.configurable &= !value,
            0xd2c => self.hard &= !value,
            _ => (),
        }
    }
    /// Notes `fault` of the instruction at `pc`. Gives its exception.
    fn note(&mut self, pc: u32, fault: Fault) -> u16 {
        let (exception, bits) = match fault {
            Fault::Protected { address } => {
                self.memory_address = address;
                (MEMORY, 1 << 1 | 1 << 7)
            }
            Fault::Bus { address } if address.wrapping_sub(pc) < 4 => (BUS, 1 << 8),
            Fault::Bus { address } => {
                self.bus_address = address;
                (BUS, 1 << 9 | 1 << 15)
            }
            Fault::Undefined { .. } | Fault::Unsupported { .. } => (USAGE, 1 << 16),
            Fault::NotThumb { .. } => (USAGE, 1 << 17),
            Fault::BadReturn { .. } => (USAGE, 1 << 18),
            Fault::FloatOff => (USAGE, 1 << 19),
            Fault::Unaligned { .. } => (USAGE, 1 << 24),
            Fault::Breakpoint { .. } => {
                self.hard |= DEBUG_EVENT;
                (HARD, 0)
            }
            Fault::Escalated { .. } => (HARD, 0),
        };
        self.configurable |= bits;
        exception
    }
    /// Notes that a frame was not stacked. Gives its exception.
    fn note_stacking(&mut self, fault: Fault) -> u16 {
        let (exception, bit) = match fault {
            Fault::Protected { .. } => (MEMORY, MEMORY_STACKING),
            _ => (BUS, BUS_STACKING),
        };
        self.configurable |= bit;
        exception
    }
}

impl<P: Peripherals + 'static> Core<P> {
    /// The instruction at `stop` faults: its handler is entered, or the core locks up.
    ///
    /// # Errors
    /// [`Stop`] where this interpreter lacks the instruction.
    pub(super) fn fault(&mut self, stop: Stop) -> Result<(), Stop> {
        let Stop { pc, fault } = stop;
        if matches!(fault, Fault::Unsupported { .. }) {
            return Err(stop);
        }
        self.last_fault = Some(stop);
        self.pc = pc;
        let exception = self.system.faults.note(pc, fault);
        let present = self.present();
        match self.handled_as(exception, present) {
            Some(exception) => self.enter(exception, pc),
            None => self.lock_up(),
        }
        self.nudge();
        Ok(())
    }

    /// The exception that a fault becomes at priority `present`: itself, HardFault, or none.
    fn handled_as(&mut self, exception: u16, present: i32) -> Option<u16> {
        let enabled = self.system.handles(exception) && self.system.group_of(exception) < present;
        match (enabled, present) {
            (true, _) => Some(exception),
            (false, ..=-1) => None,
            (false, _) => {
                self.system.faults.hard |= if exception == HARD { 0 } else { FORCED };
                Some(HARD)
            }
        }
    }

    /// A frame could not be stacked while `exception` was entered at priority `present`. Gives what is entered: the more
    /// urgent one of both.
    pub(super) fn not_stacked(&mut self, exception: u16, present: i32, fault: Fault) -> u16 {
        self.last_fault = Some(Stop { pc: self.pc, fault });
        let derived = self.system.faults.note_stacking(fault);
        let derived = self.handled_as(derived, present).unwrap_or(HARD);
        let urgency = |n: u16| (self.system.group_of(n), n);
        let (first, other) = match urgency(derived) < urgency(exception) {
            true => (derived, exception),
            false => (exception, derived),
        };
        if first != other && other != HARD {
            self.system.pend(other);
        }
        first
    }

    /// Nothing goes on (B1.5.15), and the chip is reset.
    pub(super) fn lock_up(&mut self) {
        self.locked_up = true;
        self.reset_asked = true;
    }

    /// The fault that came last since power-on: for who looks for its cause.
    pub const fn last_fault(&self) -> Option<Stop> {
        self.last_fault
    }
    /// Whether it was a fault within a fault that asked for the reset.
    pub const fn is_locked_up(&self) -> bool {
        self.locked_up
    }
}
