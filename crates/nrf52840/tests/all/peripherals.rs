//! The line, the watchdog, and what is left over a reset.

use crate::bench::model::{Chip, RAM};
use core::num::NonZeroU32;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::registers::{clock, uarte, wdt};
use thalweg_nrf52840::reset::{Kind, Reason, Remains, StackMark, BLOCK_WORDS, MESSAGE_BYTES};
use thalweg_nrf52840::uart::{Busy, Pins, Uart};
use thalweg_nrf52840::watchdog::{Feeder, Watchdog};
use thalweg_nrf52840::Registers;

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
    assert_eq!(Remains::take(&mut chip, block), None);
    let remains = Remains::new(Kind::Panic, format_args!("at {}: {}", 17, "é".repeat(100)));
    assert!(remains.message().starts_with("at 17: é"));
    assert!(remains.message().len() <= MESSAGE_BYTES);
    remains.leave(&mut chip, block);
    assert_eq!(Remains::take(&mut chip, block), Some(remains));
    assert_eq!(Remains::take(&mut chip, block), None);
    // What power has changed is no message.
    remains.leave(&mut chip, block);
    let word = chip.read(RAM + 20);
    chip.write(RAM + 20, word ^ 1 << 9);
    assert_eq!(Remains::take(&mut chip, block), None);
}

#[test]
fn a_stack_that_ran_over_is_seen() {
    let mut chip = Chip::new();
    let mark = StackMark::put(&mut chip, Region::at(RAM, 8));
    assert_eq!(mark.left(&mut chip).map(NonZeroU32::get), Some(32));
    chip.write(RAM + 20, 5);
    assert_eq!(mark.left(&mut chip).map(NonZeroU32::get), Some(20));
    chip.write(RAM, 5);
    assert_eq!(mark.left(&mut chip), None);
}
