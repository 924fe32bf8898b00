//! The driver's cipher on the chip's model: FIPS-197, and how long a block takes.

use thalweg_emulator::soc::{RadioTimes, Setup, Soc};
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::ecb::Ecb;
use thalweg_nrf52840::registers::ecb;
use thalweg_nrf52840::Registers;
use thalweg_wire::seal::{Cipher, Key};

const RAM: u32 = 0x2000_0000;
const WORDS: u32 = 12;

struct Chip(Soc);

impl Registers for Chip {
    fn read(&mut self, address: u32) -> u32 {
        self.0.read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        assert!(self.0.write(address, value), "{address:#x}");
    }
}

fn chip() -> Chip {
    let (identity, radio) = (7, RadioTimes::TYPICAL);
    Chip(Soc::new(Setup { identity, radio }, 8))
}

/// Appendix B and appendix C.1.
#[test]
fn blocks_are_those_of_the_standard() {
    let mut chip = chip();
    for (key, plain, sealed) in [
        (
            0x2b7e151628aed2a6abf7158809cf4f3c_u128,
            0x3243f6a8885a308d313198a2e0370734_u128,
            0x3925841d02dc09fbdc118597196a0b32_u128,
        ),
        (
            0x000102030405060708090a0b0c0d0e0f,
            0x00112233445566778899aabbccddeeff,
            0x69c4e0d86a7b0430d8cdb78070b4c55a,
        ),
    ] {
        let from = chip.0.now();
        let mut block = plain.to_be_bytes();
        let mut cipher = Ecb::new(&mut chip, Region::at(RAM, WORDS)).unwrap();
        cipher.block(&Key::new(key.to_be_bytes()), &mut block);
        assert_eq!(u128::from_be_bytes(block), sealed);
        let took_us = (chip.0.now() - from) as f64 / 64.0;
        assert!((7.2..12.0).contains(&took_us), "{took_us} us");
    }
    let none: &[u32] = &[];
    assert_eq!(chip.0.devices.strangers(), none);
}

#[test]
fn what_is_stopped_or_lies_outside_of_ram_is_an_error() {
    let mut chip = chip();
    chip.write(ecb::ECBDATAPTR, RAM);
    chip.write(ecb::STARTECB, 1);
    chip.write(ecb::STOPECB, 1);
    assert_eq!((chip.read(ecb::ENDECB), chip.read(ecb::ERRORECB)), (0, 1));
    for pointer in [0, u32::MAX - 3] {
        chip.write(ecb::ERRORECB, 0);
        chip.write(ecb::ECBDATAPTR, pointer);
        chip.write(ecb::STARTECB, 1);
        let came = (0..100).any(|_| chip.read(ecb::ERRORECB) != 0);
        assert!(came && chip.read(ecb::ENDECB) == 0, "{pointer:#x}");
    }
    assert!(Ecb::new(&mut chip, Region::at(RAM, WORDS - 1)).is_none());
}
