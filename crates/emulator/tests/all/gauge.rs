//! What the driver measures of the chip's model, whose supply has 3.0 V, and which has 25 degrees.

use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::gauge::{supply, temperature};
use thalweg_nrf52840::Registers;
use thalweg_units::BatteryLevel;

const RAM: u32 = 0x2000_0000;

struct Chip(Soc);

impl Registers for Chip {
    fn read(&mut self, address: u32) -> u32 {
        self.0.read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        assert!(self.0.write(address, value), "{address:#x}");
    }
}

#[test]
fn the_supply_and_the_temperature_are_what_they_are() {
    let (identity, radio) = (7, RadioTimes::TYPICAL);
    let mut chip = Chip(Soc::new(Setup { identity, radio }, 8));
    for _ in 0..2 {
        let from = chip.0.now();
        // 12 bits are steps of .88 mV, and a report's are 10 mV.
        let level = supply(&mut chip, Region::at(RAM, 1)).unwrap();
        assert_eq!(level, BatteryLevel::of_millivolts(3_000));
        let took_us = (chip.0.now() - from) / 64;
        assert!(took_us < 30, "{took_us} us");
    }
    assert_eq!(temperature(&mut chip), Some(100));
    let none: &[u32] = &[];
    assert_eq!(chip.0.devices.strangers(), none);
}
