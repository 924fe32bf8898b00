//! A fault leaves word of where it was, and resets. A stack that ran over is no place for a handler: it begins the stack anew,
//! over a program that does not go on.

#![allow(unsafe_code)] // Assembly is.

use crate::{chip, leave};
use thalweg_nrf52840::fault::remains;

core::arch::global_asm!(
    ".syntax unified",
    ".section .HardFault.own, \"ax\", %progbits",
    ".global HardFault",
    ".type HardFault, %function",
    ".thumb_func",
    "HardFault:",
    "    mrs   r0, msp",
    "    ldr   r1, =_stack_start",
    "    msr   msp, r1",
    "    bl    {told}",
    "    .ltorg",
    told = sym told,
);

extern "C" fn told(frame: u32) -> ! {
    leave(&remains(&mut chip(), frame))
}
