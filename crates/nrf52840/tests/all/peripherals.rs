//! The line, the watchdog, and what is left over a reset.

use crate::bench::model::{Chip, RAM};
use core::num::NonZeroU32;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::fault::{self, guard_stack};
use thalweg_nrf52840::random;
use thalweg_nrf52840::registers::{clock, rng, system, uarte, wdt};
use thalweg_nrf52840::reset::{Before, Kind, Reason, Remains, BLOCK_WORDS, MESSAGE_BYTES};
use thalweg_nrf52840::uart::{Busy, Pins, Uart};
use thalweg_nrf52840::watchdog::{Feeder, Watchdog};
use thalweg_nrf52840::Registers;
use thalweg_units::{Cause, Restarts};

/// A host that sends: bytes by DMA into the buffer whose turn it is, counted by TIMER1.
struct Host {
    pointer: u32,
    at: u32,
    next: u8,
}

impl Host {
    fn send(&mut self, chip: &mut Chip, uart: &mut Uart, bytes: u32) {
        for _ in 0..bytes {
            if self.at == 0 {
                self.pointer = chip.read(uarte::RXD_PTR);
                chip.write(uarte::RXSTARTED, 1);
                uart.interrupt(chip);
            }
            let address = self.pointer + self.at;
            let mut word = chip.read(address & !3).to_le_bytes();
            word[address as usize % 4] = self.next;
            chip.write(address & !3, u32::from_le_bytes(word));
            self.next = self.next.wrapping_add(1);
            self.at = (self.at + 1) % 128;
            chip.0.borrow_mut().bytes_in += 1;
        }
    }
}

#[test]
fn no_byte_of_the_line_is_lost_or_told_twice() {
    let mut chip = Chip::new();
    let memory = Region::at(RAM, Uart::DMA_BYTES / 4);
    let mut uart = Uart::start(&mut chip, Pins::DEVELOPMENT_KIT, memory).unwrap();
    let mut host = Host {
        pointer: 0,
        at: 0,
        next: 0,
    };
    let mut expected = 0_u8;
    for (sent, read) in [
        (1, 1),
        (100, 40),
        (90, 149),
        (200, 30),
        (50, 250),
        (128, 300),
        (127, 256),
    ] {
        host.send(&mut chip, &mut uart, sent);
        let mut room = vec![0; read];
        let came = uart.read(&mut chip, &mut room);
        for byte in &room[..came] {
            assert_eq!(*byte, expected);
            expected = expected.wrapping_add(1);
        }
    }
    assert_eq!((expected, uart.lost()), (host.next, 0));
    // More than both buffers have: the rest is counted.
    host.send(&mut chip, &mut uart, 400);
    let mut room = [0; 256];
    let came = uart.read(&mut chip, &mut room);
    assert_eq!(came + uart.lost() as usize, 400);
    assert_eq!(room[came - 1], host.next.wrapping_sub(1));
}

#[test]
fn a_frame_is_sent_when_the_one_before_has_gone_out() {
    let mut chip = Chip::new();
    let memory = Region::at(RAM, Uart::DMA_BYTES / 4);
    let mut uart = Uart::start(&mut chip, Pins::DEVELOPMENT_KIT, memory).unwrap();
    assert_eq!(uart.send(&mut chip, &[7; 300]), Ok(256));
    assert_eq!(uart.send(&mut chip, &[8]), Err(Busy));
    assert_eq!(chip.read(uarte::TXD_MAXCNT), 256);
    chip.write(uarte::ENDTX, 1);
    uart.interrupt(&mut chip);
    assert_eq!(uart.send(&mut chip, &[8]), Ok(1));
    assert!(Uart::start(&mut chip, Pins::DEVELOPMENT_KIT, Region::at(RAM, 64)).is_none());
}

#[test]
fn both_must_feed_the_watchdog() {
    let mut chip = Chip::new();
    let mut dog = Watchdog::start(&mut chip, NonZeroU32::new(8).unwrap());
    assert_eq!(chip.read(wdt::CRV), 8 * 32_768 - 1);
    assert_eq!(chip.read(wdt::RREN), 3);
    chip.0.borrow_mut().log.clear();
    dog.feed(&mut chip, Feeder::Loop);
    dog.feed(&mut chip, Feeder::Interrupt);
    let fed = chip.0.borrow().log.clone();
    assert_eq!(
        fed,
        [(wdt::reload(0), wdt::FOOD), (wdt::reload(1), wdt::FOOD)]
    );
}

#[test]
fn the_gravest_reason_of_a_reset_counts() {
    let mut chip = Chip::new();
    assert_eq!(Reason::take(&mut chip), Reason::PowerOn);
    for (bits, reason) in [
        (0b0111, Reason::Watchdog),
        (0b0101, Reason::Software),
        (1 << 16, Reason::Wakened),
    ] {
        chip.write(clock::RESETREAS, bits);
        assert_eq!(Reason::take(&mut chip), reason);
    }
}

#[test]
fn a_panic_is_told_once_after_the_reset() {
    let mut chip = Chip::new();
    let block = Region::at(RAM, BLOCK_WORDS);
    let remains = Remains::new(Kind::Panic, format_args!("at {}: {}", 17, "é".repeat(100)));
    assert!(remains.message().starts_with("at 17: é"));
    assert!(remains.message().len() <= MESSAGE_BYTES);
    let mut start = |bits: u32, left: Option<Remains>, flipped: u32| {
        if let Some(left) = left {
            left.leave(&mut chip, block);
        }
        let word = chip.read(RAM + 28);
        chip.write(RAM + 28, word ^ flipped);
        chip.write(clock::RESETREAS, bits);
        let before = Before::take(&mut chip, block);
        (before.remains, before.restarts())
    };
    let told = |cause, count| Restarts::new(cause, count);
    assert_eq!(start(0, None, 0), (None, Some(Restarts::POWER_ON)));
    assert_eq!(
        start(4, Some(remains), 0),
        (Some(remains), told(Cause::Panic, 1))
    );
    assert_eq!(start(4, None, 0), (None, told(Cause::Asked, 2)));
    // What power has changed is no message.
    assert_eq!(
        start(4, Some(remains), 1 << 9),
        (None, told(Cause::Asked, 3))
    );
    assert_eq!(start(8, None, 0), (None, told(Cause::Lockup, 4)));
    // Power came: counting begins again. And where RAM was not kept, with one.
    assert_eq!(start(0, None, 0), (None, Some(Restarts::POWER_ON)));
    assert_eq!(start(2, None, 0).1, told(Cause::Watchdog, 1));
    chip.write(RAM, 77);
    chip.write(clock::RESETREAS, 2);
    let before = Before::take(&mut chip, block);
    assert_eq!(before.restarts(), told(Cause::Watchdog, 1));
}

#[test]
fn a_fault_tells_its_place_and_a_guard_that_was_met() {
    let mut chip = Chip::new();
    guard_stack(&mut chip, RAM + 0x5001);
    assert_eq!(chip.read(system::MPU_RBAR), (RAM + 0x6000) | 1 << 4);
    assert_eq!(chip.read(system::MPU_RASR), 1 << 28 | 11 << 1 | 1);
    assert_eq!(chip.read(system::MPU_CTRL), 5);
    let frame = RAM + 0x100;
    chip.write(frame + 24, 0x1234);
    for (status, kind, message) in [
        (1 << 9 | 1 << 15, Kind::Fault, "0x8200 at 0x1234"),
        (1 << 12, Kind::Fault, "0x1000"),
        (1 << 1 | 1 << 7, Kind::StackOverflow, "at 0x1234"),
        (1 << 1 | 1 << 4 | 1 << 7, Kind::StackOverflow, ""),
    ] {
        chip.write(system::CFSR, status);
        let remains = fault::remains(&mut chip, frame);
        assert_eq!((remains.kind, remains.message()), (kind, message));
    }
    let nowhere = fault::remains(&mut chip, 0x1000_0000);
    assert_eq!(nowhere.message(), "");
}

#[test]
fn chance_is_drawn_byte_by_byte() {
    let mut chip = Chip::new();
    chip.write(rng::VALUE, 0x5A);
    // Nothing comes: the bench has no generator.
    assert_eq!(random::draw(&mut chip), None);
}
