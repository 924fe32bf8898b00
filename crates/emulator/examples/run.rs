//! Runs an image on motes in a line: `cargo run --release -p thalweg-emulator --example run -- ELF MOTES SECONDS`.
//!
//! Mote n finds n in UICR's first word for customers, and in the second whether it is the first. Neighbours and those
//! next to them hear each other. Prints what each mote has spent, its stack, and what it should not have done.

use std::error::Error;
use std::sync::Arc;
use thalweg_emulator::core::Costs;
use thalweg_emulator::crystal::Crystal;
use thalweg_emulator::machine::Machine;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::soc::{RadioTimes, Setup};
use thalweg_emulator::world::World;
use thalweg_emulator::{elf, Memory, UICR_BASE};
use thalweg_medium::{chip::NRF52840, Environment, Medium};
use thalweg_units::{Dbm, Duration, SimTime};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, count, seconds] = &arguments[..] else {
        return Err("expected: ELF MOTES SECONDS".into());
    };
    let (file, count, seconds) = (
        std::fs::read(path)?,
        count.parse::<usize>()?,
        seconds.parse()?,
    );
    let env = Environment::from_gains(count, &NRF52840, 1, |from, to, _| {
        let apart = from.abs_diff(to) as f64;
        (apart <= 2.0).then_some(Dbm(-52.0 - 8.0 * apart))
    });
    let mut world = World::new(Medium::new(Arc::new(env), 1), Perturbation::NONE, 1);
    let mut images = Vec::new();
    for number in 0..count {
        let mut memory = Memory::default();
        let image = elf::load(&file, &mut memory)?;
        let words = [number as u32, u32::from(number == 0)].map(u32::to_le_bytes);
        if !memory.program(UICR_BASE + 0x80, words.as_flattened()) {
            return Err("expected UICR".into());
        }
        let setup = Setup {
            identity: number as u64,
            radio: RadioTimes::TYPICAL,
        };
        let machine = Machine::new(memory, image.vectors, setup, Costs::CORTEX_M4);
        let boot = SimTime::from_nanos(37_000 * number as u64);
        let ppb = (number as i32 * 7_919 % 41 - 20) * 1_000;
        world.add(machine, Crystal::new(boot, ppb));
        images.push(image);
    }
    let begin = std::time::Instant::now();
    let end = SimTime::ZERO + Duration::from_secs_f64(seconds);
    let result = world.run_until(end);
    let took = begin.elapsed().as_secs_f64();
    let mut instructions = 0;
    for (number, image) in images.iter().enumerate() {
        let line = world.devices_mut(number);
        let line = line.map_or(0, |(_, devices)| devices.take_line().len());
        let (spent, misuse) = (world.spent(number), world.misuse(number));
        if let Some(machine) = world.chip(number) {
            let core = machine.core();
            instructions += core.instructions();
            let stack = image.stack_bytes(&core.memory);
            let (pc, resets) = (core.pc(), machine.resets());
            println!("{number}: {spent:?}\n   stack {stack} B, line {line} B, at {pc:#x}, {resets} resets, {misuse:?}");
            println!("   not modelled: {:x?}", core.peripherals.strangers());
        }
    }
    println!("{:?}", world.counts());
    let mips = instructions as f64 / took / 1e6;
    println!("{seconds} s in {took:.2} s, {mips:.1} MIPS");
    Ok(result?)
}
