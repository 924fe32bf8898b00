//! Copying by words. Core's own copies byte by byte where its two ends are not aligned alike, which frames seldom are: 14 us
//! of a relay's gap. A Cortex-M4 loads and stores unaligned words (ARMv7-M A3.2.1), so alignment need not be looked at.
//! `memmove`, which may overlap, and filling stay core's.

#![allow(unsafe_code)] // Assembly is.

core::arch::global_asm!(
    ".syntax unified",
    ".section .text.memcpy, \"ax\", %progbits",
    ".p2align 2",
    ".global memcpy, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8",
    ".type memcpy, %function",
    ".type __aeabi_memcpy, %function",
    ".type __aeabi_memcpy4, %function",
    ".type __aeabi_memcpy8, %function",
    ".thumb_func",
    "memcpy:",
    ".thumb_func",
    "__aeabi_memcpy:",
    ".thumb_func",
    "__aeabi_memcpy4:",
    ".thumb_func",
    "__aeabi_memcpy8:",
    // r0 is what `memcpy` gives back: r12 runs along the destination, r1 along the source, r2 counts down.
    "    mov   r12, r0",
    "    subs  r2, #8",
    "    blo   2f",
    // Eight bytes a turn.
    "1:  ldr   r3, [r1], #4",
    "    str   r3, [r12], #4",
    "    ldr   r3, [r1], #4",
    "    str   r3, [r12], #4",
    "    subs  r2, #8",
    "    bhs   1b",
    // Up to seven bytes are left: their number's bits say which.
    "2:  tst   r2, #4",
    "    itt   ne",
    "    ldrne r3, [r1], #4",
    "    strne r3, [r12], #4",
    "    tst   r2, #2",
    "    itt   ne",
    "    ldrhne r3, [r1], #2",
    "    strhne r3, [r12], #2",
    "    tst   r2, #1",
    "    itt   ne",
    "    ldrbne r3, [r1]",
    "    strbne r3, [r12]",
    "    bx    lr",
);
