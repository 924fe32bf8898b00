//! A small model of the registers that the driver uses, written for its tests and after FIRMWARE.md alone: each access takes
//! time, and what is started in hardware happens in time. The chip's own model is another author's.
#![allow(dead_code, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use thalweg_nrf52840::registers::{clock, ecb, nvmc, ppi, radio, rtc, timer, uarte};
use thalweg_nrf52840::Registers;
use thalweg_wire::seal::{Cipher, Key, SoftwareAes};

/// Ticks that an access takes: 8 cycles of 64 MHz.
const ACCESS: u64 = 2;
pub(crate) const US: u64 = 16;
pub(crate) const RAM: u32 = 0x2000_0000;

/// What the radio does, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Off,
    RxRampUp(u64),
    Rx,
    /// Clear channel assessment.
    Look(u64),
    TxRampUp(u64),
    Tx(u64),
    TxDisable(u64),
}

/// A frame on the air: from its first preamble symbol.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) start: u64,
    pub(crate) channel: u8,
    pub(crate) mpdu: Vec<u8>,
    pub(crate) good: bool,
}

/// A frame that the radio sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) start: u64,
    pub(crate) channel: u8,
    pub(crate) mpdu: Vec<u8>,
    pub(crate) whole: bool,
}

pub(crate) struct Model {
    pub(crate) now: u64,
    pub(crate) words: HashMap<u32, u32>,
    pub(crate) log: Vec<(u32, u32)>,
    pub(crate) state: State,
    pub(crate) ppi: u32,
    /// Events of peripherals with their interrupts on: none where that is 0.
    pub(crate) radio_interrupts: u32,
    pub(crate) timer_interrupts: u32,
    timer_from: Option<u64>,
    timer_count: u32,
    rtc_from: u64,
    pub(crate) rtc_interrupts: u32,
    pub(crate) on_air: Vec<Incoming>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) busy: bool,
    /// After the air's end of the SFD: 22 us, or 54.
    pub(crate) frame_start: u64,
    receiving: Option<(usize, u64)>,
    /// Compares that are never seen.
    pub(crate) loses_compares: bool,
    pub(crate) crystal: bool,
    /// Of the 64 MHz crystal, the low-frequency clock and RTC1: whether it runs.
    runs: [bool; 3],
    /// How much faster RTC1 runs than it should, in parts per million.
    pub(crate) rtc_ppm: i64,
    pub(crate) rssi: u32,
    pub(crate) bytes_in: u32,
    /// Flash writes and erasures until the power fails.
    pub(crate) power: Option<u32>,
}

#[derive(Clone)]
pub(crate) struct Chip(pub(crate) Rc<RefCell<Model>>);

impl Registers for Chip {
    fn read(&mut self, address: u32) -> u32 {
        self.0.borrow_mut().read(address)
    }
    fn write(&mut self, address: u32, value: u32) {
        self.0.borrow_mut().write(address, value);
    }
}

impl Chip {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(Model {
            now: 0,
            words: HashMap::new(),
            log: Vec::new(),
            state: State::Off,
            ppi: 0,
            radio_interrupts: 0,
            timer_interrupts: 0,
            timer_from: None,
            timer_count: 0,
            rtc_from: 0,
            rtc_interrupts: 0,
            on_air: Vec::new(),
            sent: Vec::new(),
            busy: false,
            frame_start: 22 * US,
            receiving: None,
            loses_compares: false,
            crystal: true,
            runs: [false; 3],
            rtc_ppm: 0,
            rssi: 60,
            bytes_in: 0,
            power: None,
        })))
    }
    /// Time passes until `at`, or until an interrupt is pending; whether one is.
    pub(crate) fn run(&self, at: u64) -> bool {
        let mut model = self.0.borrow_mut();
        while model.now < at {
            if model.interrupted() {
                return true;
            }
            let next = model.next().min(at);
            let ticks = next - model.now;
            model.advance(ticks);
        }
        model.interrupted()
    }
    pub(crate) fn now(&self) -> u64 {
        self.0.borrow().now
    }
    /// A frame is on the air from `start` on.
    pub(crate) fn send(&self, start: u64, channel: u8, mpdu: &[u8], good: bool) {
        let mpdu = mpdu.to_vec();
        let frame = Incoming {
            start,
            channel,
            mpdu,
            good,
        };
        self.0.borrow_mut().on_air.push(frame);
    }
}

impl Model {
    fn get(&self, address: u32) -> u32 {
        self.words.get(&address).copied().unwrap_or(match address {
            0x0000_0000..0x0010_0000 => u32::MAX,
            _ => 0,
        })
    }
    fn set(&mut self, address: u32, value: u32) {
        self.words.insert(address, value);
    }

    pub(crate) fn read(&mut self, address: u32) -> u32 {
        self.advance(ACCESS);
        match address {
            radio::STATE => match self.state {
                State::Off => 0,
                State::RxRampUp(_) => 1,
                State::Look(_) => 2,
                State::Rx => 3,
                State::TxRampUp(_) => 9,
                State::Tx(_) => 11,
                State::TxDisable(_) => 12,
            },
            rtc::COUNTER => self.rtc() as u32 & 0xFF_FFFF,
            nvmc::READY => 1,
            _ => self.get(address),
        }
    }

    pub(crate) fn write(&mut self, address: u32, value: u32) {
        self.advance(ACCESS);
        self.log.push((address, value));
        match address {
            0..0x0010_0000 => return self.write_flash(address, value),
            nvmc::ERASEPAGE => return self.erase(value),
            radio::POWER if value == 0 => {
                self.words.retain(|at, _| at & !0xFFF != radio::BASE);
                (self.state, self.radio_interrupts) = (State::Off, 0);
            }
            radio::INTENSET => self.radio_interrupts |= value,
            radio::INTENCLR => self.radio_interrupts &= !value,
            ppi::CHENSET => self.ppi |= value,
            ppi::CHENCLR => self.ppi &= !value,
            rtc::INTENSET => self.rtc_interrupts |= value,
            rtc::INTENCLR => self.rtc_interrupts &= !value,
            _ => {}
        }
        if let Some(at) = address.checked_sub(timer::TIMER3).filter(|at| *at < 0x1000) {
            match at {
                timer::INTENSET => self.timer_interrupts |= value,
                timer::INTENCLR => self.timer_interrupts &= !value,
                _ => {}
            }
        }
        let is_task = address >= 0x4000_0000 && address & 0xFFF < 0x100;
        match is_task {
            true => self.task(address),
            false => self.set(address, value),
        }
    }

    fn write_flash(&mut self, address: u32, value: u32) {
        let old = self.get(address);
        match self.power {
            Some(0) => {}
            Some(1) => {
                // The power fails in the midst of it: some bits are there.
                self.power = Some(0);
                self.set(address, old & (value | 0x00FF_A5A5));
            }
            left => {
                self.power = left.map(|left| left - 1);
                self.set(address, old & value);
            }
        }
    }
    fn erase(&mut self, page: u32) {
        let whole = match self.power {
            Some(0) => return,
            Some(1) => false,
            _ => true,
        };
        self.power = self.power.map(|left| left - 1);
        for (n, address) in (page..page + 4_096).step_by(4).enumerate() {
            let old = self.get(address);
            let bits = if n % 3 == 0 { u32::MAX } else { 0xFF00_0000 };
            self.set(address, if whole { u32::MAX } else { old | bits });
        }
    }

    /// ECB, at once.
    fn encrypt(&mut self) {
        let pointer = self.get(ecb::ECBDATAPTR);
        let block = |at: u32| -> [u8; 16] {
            let words = (0..4).flat_map(|n| self.get(pointer + at + 4 * n).to_le_bytes());
            words.collect::<Vec<u8>>().try_into().unwrap()
        };
        let (key, mut made) = (Key::new(block(0)), block(16));
        SoftwareAes::default().block(&key, &mut made);
        for (n, word) in (0..).zip(made.chunks_exact(4)) {
            self.set(
                pointer + 32 + 4 * n,
                u32::from_le_bytes(word.try_into().unwrap()),
            );
        }
        self.set(ecb::ENDECB, 1);
    }

    fn rtc(&self) -> u64 {
        let rate = (32_768_000_000 + 32_768 * self.rtc_ppm) as u128;
        (u128::from(self.now - self.rtc_from) * rate / 16_000_000_000_000) as u64
    }
    pub(crate) fn count(&self) -> u32 {
        self.timer_from
            .map_or(self.timer_count, |from| (self.now - from) as u32)
    }

    fn task(&mut self, address: u32) {
        const T: u32 = timer::TIMER3;
        match address {
            ecb::STARTECB => self.encrypt(),
            radio::TXEN if self.state == State::Off => {
                self.state = State::TxRampUp(self.now + 40 * US);
            }
            radio::TXEN if matches!(self.state, State::Look(_)) => {
                self.state = State::TxRampUp(self.now + 40 * US);
            }
            radio::RXEN if self.state == State::Off => {
                self.state = State::RxRampUp(self.now + 40 * US);
            }
            radio::DISABLE => match self.state {
                State::Off => self.event(radio::DISABLED),
                State::Tx(_) | State::TxRampUp(_) => {
                    if let (State::Tx(_), Some(last)) = (self.state, self.sent.last_mut()) {
                        last.whole = false;
                    }
                    self.state = State::TxDisable(self.now + 21 * US);
                }
                State::TxDisable(_) => {}
                _ => {
                    self.receiving = None;
                    self.state = State::Off;
                    self.event(radio::DISABLED);
                }
            },
            radio::RSSISTART => {
                self.set(radio::RSSISAMPLE, self.rssi);
                self.event(radio::RSSIEND);
            }
            // The strictest reading of what a clock that runs does when it is started: nothing.
            clock::HFCLKSTART if self.crystal && !self.runs[0] => {
                self.runs[0] = true;
                self.event(clock::HFCLKSTARTED);
            }
            clock::HFCLKSTOP => self.runs[0] = false,
            clock::LFCLKSTART => self.runs[1] = true,
            clock::LFCLKSTOP => self.runs[1] = false,
            clock::LFCLKSRC => assert!(!self.runs[1], "its source, while the clock runs"),
            rtc::START => self.runs[2] = true,
            rtc::STOP => self.runs[2] = false,
            rtc::PRESCALER => assert!(!self.runs[2], "RTC1's prescaler, while it runs"),
            rtc::CLEAR => self.rtc_from = self.now,
            _ => {}
        }
        if let Some(n) = (0..6).find(|n| address == T + timer::capture(*n)) {
            let count = self.count();
            self.set(T + timer::cc(n), count);
        }
        if address == timer::TIMER1 + timer::capture(0) {
            let bytes = self.bytes_in;
            self.set(timer::TIMER1 + timer::cc(0), bytes);
        }
        match address {
            _ if address == T + timer::STOP => {
                self.timer_count = self.count();
                self.timer_from = None;
            }
            _ if address == T + timer::CLEAR => {
                self.timer_count = 0;
                self.timer_from = self.timer_from.map(|_| self.now);
            }
            _ if address == T + timer::START && self.timer_from.is_none() => {
                self.timer_from = Some(self.now - u64::from(self.timer_count));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: u32) {
        self.set(event, 1);
        for n in 0..20 {
            if self.ppi & 1 << n != 0 && self.get(ppi::event(n)) == event {
                for task in [self.get(ppi::task(n)), self.get(ppi::fork(n))] {
                    if task != 0 {
                        self.task(task);
                    }
                }
            }
        }
        let shorts = self.get(radio::SHORTS);
        use radio::short;
        match event {
            radio::CCAIDLE if shorts & short::CCAIDLE_TXEN != 0 => self.task(radio::TXEN),
            radio::CCABUSY if shorts & short::CCABUSY_DISABLE != 0 => self.task(radio::DISABLE),
            radio::PHYEND if shorts & short::PHYEND_DISABLE != 0 => self.task(radio::DISABLE),
            _ => {}
        }
    }

    pub(crate) fn interrupted(&self) -> bool {
        let radio = [
            (4, radio::DISABLED),
            (10, radio::BCMATCH),
            (22, radio::RXREADY),
        ];
        let on = |interrupts: u32, bit: u32, event: u32| {
            interrupts & 1 << bit != 0 && self.get(event) != 0
        };
        radio
            .iter()
            .any(|(bit, event)| on(self.radio_interrupts, *bit, *event))
            || (0..6).any(|n| {
                on(
                    self.timer_interrupts,
                    16 + n,
                    timer::TIMER3 + timer::compare(n),
                )
            })
            || (0..4).any(|n| on(self.rtc_interrupts, 16 + n, rtc::compare(n)))
            || self.get(uarte::RXSTARTED) != 0
    }

    /// The next tick at which something happens.
    fn next(&self) -> u64 {
        let mut next = u64::MAX;
        let mut at = |tick: u64| next = next.min(tick.max(self.now + 1));
        if self.timer_from.is_some() && !self.loses_compares {
            let count = self.count();
            for n in 0..6 {
                if let Some(cc) = self.words.get(&(timer::TIMER3 + timer::cc(n))) {
                    at(self.now + 1 + u64::from(cc.wrapping_sub(count).wrapping_sub(1)));
                }
            }
        }
        for n in 0..4 {
            if let Some(cc) = self.words.get(&rtc::cc(n)) {
                let rtc = self.rtc();
                let ahead = u64::from(cc.wrapping_sub(rtc as u32).wrapping_sub(1) & 0xFF_FFFF) + 1;
                let rate = (32_768_000_000 + 32_768 * self.rtc_ppm) as u128;
                let ticks = (u128::from(rtc + ahead) * 16_000_000_000_000).div_ceil(rate);
                at(self.rtc_from + ticks as u64);
            }
        }
        match self.state {
            State::Off => {}
            State::RxRampUp(tick) | State::Look(tick) | State::TxRampUp(tick) => at(tick),
            State::Tx(tick) | State::TxDisable(tick) => at(tick),
            State::Rx => match self.receiving {
                None => {
                    let locks = self.on_air.iter().map(|f| f.start + 40 * US);
                    locks.filter(|tick| *tick > self.now).for_each(at);
                }
                Some((_, began)) => {
                    let sfd = began + 160 * US;
                    let bytes = self.now.saturating_sub(sfd + 22 * US) / (32 * US);
                    let bits = u64::from(self.get(radio::BCC));
                    let begins = sfd + self.frame_start;
                    let byte = sfd + 22 * US + 32 * US * bytes;
                    let all = [byte, byte + 32 * US, begins, begins + bits * 4 * US];
                    all.into_iter().filter(|tick| *tick > self.now).for_each(at);
                }
            },
        }
        next
    }

    pub(crate) fn advance(&mut self, ticks: u64) {
        let until = self.now + ticks;
        while self.now < until {
            let rtc = self.rtc();
            self.now = self.next().min(until);
            if self.timer_from.is_some() && !self.loses_compares {
                let count = self.count();
                for n in 0..6 {
                    let cc = timer::TIMER3 + timer::cc(n);
                    if self.words.get(&cc) == Some(&count) {
                        self.event(timer::TIMER3 + timer::compare(n));
                    }
                }
            }
            if self.rtc() != rtc {
                for n in 0..4 {
                    if self.words.get(&rtc::cc(n)) == Some(&(self.rtc() as u32 & 0xFF_FFFF)) {
                        self.event(rtc::compare(n));
                    }
                }
            }
            self.radio();
        }
    }

    fn channel(&self) -> u8 {
        (self.get(radio::FREQUENCY) / 5 + 10) as u8
    }
    fn ram(&self, at: u32, bytes: usize) -> Vec<u8> {
        let byte = |n: u32| self.get((at + n) & !3).to_le_bytes()[(at as usize + n as usize) % 4];
        (0..bytes as u32).map(byte).collect()
    }
    fn put_ram(&mut self, at: u32, bytes: &[u8]) {
        for (n, byte) in bytes.iter().enumerate() {
            let address = at + n as u32;
            let mut word = self.get(address & !3).to_le_bytes();
            word[address as usize % 4] = *byte;
            self.set(address & !3, u32::from_le_bytes(word));
        }
    }

    fn radio(&mut self) {
        let shorts = self.get(radio::SHORTS);
        match self.state {
            State::RxRampUp(at) if self.now >= at => {
                self.state = State::Rx;
                self.receiving = None;
                self.event(radio::RXREADY);
                if shorts & radio::short::RXREADY_CCASTART != 0 {
                    self.state = State::Look(self.now + 128 * US);
                }
            }
            State::Look(at) if self.now >= at => {
                let busy = self.busy;
                self.event(if busy { radio::CCABUSY } else { radio::CCAIDLE });
            }
            State::TxRampUp(at) if self.now >= at => {
                let pointer = self.get(radio::PACKETPTR);
                let psdu = usize::from(self.ram(pointer, 1)[0]);
                let start = self.now + US;
                self.state = State::Tx(start + (160 + 32 * (1 + psdu as u64)) * US);
                let mpdu = self.ram(pointer + 1, psdu.saturating_sub(2));
                let (channel, whole) = (self.channel(), true);
                self.sent.push(Sent {
                    start,
                    channel,
                    mpdu,
                    whole,
                });
            }
            State::Tx(at) if self.now >= at => {
                self.event(radio::FRAMESTART);
                self.event(radio::PHYEND);
                // DMA reads until the end: what was written over meanwhile went out.
                let pointer = self.get(radio::PACKETPTR);
                let psdu = usize::from(self.ram(pointer, 1)[0]);
                let mpdu = self.ram(pointer + 1, psdu.saturating_sub(2));
                if let Some(last) = self.sent.last_mut() {
                    (last.whole, last.mpdu) = (true, mpdu);
                }
            }
            State::TxDisable(at) if self.now >= at => {
                self.state = State::Off;
                self.event(radio::DISABLED);
            }
            State::Rx => self.receive(),
            _ => {}
        }
    }

    /// What a receiver that is on does with the frames on the air.
    fn receive(&mut self) {
        let Some((which, began)) = self.receiving else {
            let here = |f: &Incoming| f.channel == self.channel() && f.start + 40 * US == self.now;
            if let Some(which) = self.on_air.iter().position(here) {
                self.receiving = Some((which, self.now - 40 * US));
            }
            return;
        };
        let frame = self.on_air[which].clone();
        let (at, psdu) = (self.now - began, frame.mpdu.len() as u64 + 2);
        let sfd = 160 * US;
        let pointer = self.get(radio::PACKETPTR);
        // Bytes are in memory a chain after they were on the air.
        if let Some(since) = at.checked_sub(sfd + 22 * US).filter(|s| s % (32 * US) == 0) {
            match since / (32 * US) {
                0 => {}
                1 => self.put_ram(pointer, &[psdu as u8]),
                n if n as usize - 2 < frame.mpdu.len() => {
                    self.put_ram(
                        pointer + n as u32 - 1,
                        &frame.mpdu[n as usize - 2..n as usize - 1],
                    );
                }
                _ => {}
            }
        }
        if at == sfd + self.frame_start {
            self.event(radio::FRAMESTART);
        }
        let bits = u64::from(self.get(radio::BCC));
        let matches = at == sfd + self.frame_start + bits * 4 * US;
        if matches && self.get(radio::SHORTS) & radio::short::FRAMESTART_BCSTART != 0 {
            self.event(radio::BCMATCH);
        }
        if at == sfd + 32 * US * (1 + psdu) + 22 * US {
            self.put_ram(pointer + 1 + frame.mpdu.len() as u32, &[100]);
            self.set(radio::CRCSTATUS, u32::from(frame.good));
            self.receiving = None;
            self.event(radio::PHYEND);
        }
    }
}
