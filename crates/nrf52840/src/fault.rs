//! Faults of the processor: a guard below the stack, and what is known when one was met (ARMv7-M B1.5.14, B3.5).
//!
//! A stack that runs over its guard faults instead of writing over statics. One that skips the guard in a single step does
//! not: functions keep frames below [`GUARD_BYTES`].

use crate::registers::system;
use crate::reset::{Kind, Remains};
use crate::Registers;
use core::ops::Range;

/// Bytes below the stack that nobody may touch.
pub const GUARD_BYTES: u32 = 4_096;
/// CFSR: an access, or the stacking of an exception's frame, that memory protection forbids. The guard is all it forbids.
const OVERRUN: u32 = 1 << 1 | 1 << 4;
/// CFSR: of these, and of the bus's, the frame that was not stacked.
const UNSTACKED: u32 = 1 << 4 | 1 << 12;
/// RAM, where frames are.
const RAM: Range<u32> = 0x2000_0000..0x2004_0000;

/// Forbids the first [`GUARD_BYTES`] above `statics`, the end of what the program has in RAM, as a region of their size
/// can begin. From the next instructions on; a barrier follows.
pub fn guard_stack(r: &mut impl Registers, statics: u32) {
    let base = statics.next_multiple_of(GUARD_BYTES);
    r.write(system::MPU_RBAR, base | 1 << 4);
    // Nobody has access, nobody executes; 2^(n + 1) bytes.
    r.write(
        system::MPU_RASR,
        1 << 28 | (GUARD_BYTES.ilog2() - 1) << 1 | 1,
    );
    // The map stays as it was elsewhere; HardFault may touch all.
    r.write(system::MPU_CTRL, 1 << 2 | 1);
}

/// What a HardFault's handler, whose frame is at `frame`, leaves for the next start.
pub fn remains(r: &mut impl Registers, frame: u32) -> Remains {
    let status = r.read(system::CFSR);
    let is_stacked = status & UNSTACKED == 0 && RAM.contains(&frame) && frame % 4 == 0;
    let at = is_stacked.then(|| r.read(frame + 24));
    match (status & OVERRUN, at) {
        (0, Some(at)) => Remains::new(Kind::Fault, format_args!("{status:#x} at {at:#x}")),
        (0, None) => Remains::new(Kind::Fault, format_args!("{status:#x}")),
        (_, Some(at)) => Remains::new(Kind::StackOverflow, format_args!("at {at:#x}")),
        (_, None) => Remains::new(Kind::StackOverflow, format_args!("")),
    }
}
