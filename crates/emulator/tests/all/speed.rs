//! How fast a core runs: `cargo test --release -p thalweg-emulator --test all speed -- --ignored --nocapture`.

use std::time::Instant;
use thalweg_emulator::core::Costs;
use thalweg_emulator::machine::{Chip, Machine};
use thalweg_emulator::soc::{RadioTimes, Setup};
use thalweg_emulator::{Memory, RAM_BASE};

/// A copy of words with a sum and a call, for ever.
const PROGRAM: [u16; 16] = [
    0x2000, // movs r0, #0
    0x4604, // mov r4, r0
    0x2540, // movs r5, #64
    0xf8d6, 0x0004, // ldr.w r0, [r6, #4]
    0x1824, // adds r4, r4, r0
    0xf8c6, 0x4008, // str.w r4, [r6, #8]
    0xf000, 0xf804, // bl +8
    0x3d01, // subs r5, #1
    0xd1f6, // bne to the load
    0xe7f2, // b to the beginning
    0xbf00, // nop
    0xea84, 0x1444, // eor.w r4, r4, r4, lsl #5
];

#[test]
#[ignore = "measures"]
fn thirty_million_instructions_a_second() {
    let mut image = vec![0; 0x40];
    image[..4].copy_from_slice(&(RAM_BASE + 0x1000).to_le_bytes());
    image[4..8].copy_from_slice(&0x41u32.to_le_bytes());
    // The function that is called ends with bx lr.
    for half in PROGRAM.iter().chain(&[0x4770]) {
        image.extend(half.to_le_bytes());
    }
    let mut memory = Memory::default();
    assert!(memory.program(0, &image));
    let setup = Setup {
        identity: 0,
        radio: RadioTimes::TYPICAL,
    };
    let mut machine = Machine::new(memory, 0, setup, Costs::CORTEX_M4);
    let mut registers = machine.core().registers();
    registers[6] = RAM_BASE;
    machine.core_mut().set_registers(registers);
    let begin = Instant::now();
    machine.run(200_000_000).unwrap();
    let took = begin.elapsed().as_secs_f64();
    let mips = machine.core().instructions() as f64 / took / 1e6;
    println!("{mips:.1} MIPS");
    assert!(mips > 30.0, "{mips:.1} MIPS");
}
