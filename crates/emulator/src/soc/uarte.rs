//! UARTE with EasyDMA (product specification, 6.34): a line to the host, as two queues of bytes.
//!
//! A byte takes ten bits. What comes while no buffer is there waits in a FIFO of six bytes (second source: the UART's
//! clause 6.33), and is lost beyond. Sent bytes are handed over as their buffer ends. No parity, no flow control.

use super::events::{Device, Event, Events, Id, Short, Task, Wires, MICROSECOND};
use std::collections::VecDeque;

const RX_READY: Event = 2;
const END_RX: Event = 4;
const TX_READY: Event = 7;
const END_TX: Event = 8;
const ERROR: Event = 9;
const RX_TIMEOUT: Event = 17;
const RX_STARTED: Event = 19;
const TX_STARTED: Event = 20;
const TX_STOPPED: Event = 22;
const START_RX: Task = 0;
const STOP_RX: Task = 1;
const START_TX: Task = 2;
const STOP_TX: Task = 3;
const FLUSH_RX: Task = 11;
const FIFO: usize = 6;
/// From STOPRX to RXTO: the time of four bytes (6.34.4); at 1 Mbaud.
const STOPS: u64 = 40 * MICROSECOND;

#[derive(Debug, Clone, Copy, Default)]
struct Buffer {
    pointer: u32,
    most: u32,
    amount: u32,
}

#[derive(Debug)]
pub(super) struct Uarte {
    events: Events,
    enabled: u32,
    rate: u32,
    errors: u32,
    /// Registers without effect here: pins, format.
    pins: [u32; 5],
    rx: Buffer,
    tx: Buffer,
    /// The buffer that is being filled, and its place.
    filling: Option<Buffer>,
    /// Whether the receiver is on at all; then until when, where it was stopped.
    listens: bool,
    stops: u64,
    fifo: VecDeque<u8>,
    line_in: VecDeque<u8>,
    next_in: u64,
    sending: Option<Buffer>,
    sent: u64,
    line_out: Vec<u8>,
    lost: u64,
}

impl Uarte {
    pub(super) fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            enabled: 0,
            rate: 0x0400_0000,
            errors: 0,
            pins: [u32::MAX; 5],
            rx: Buffer::default(),
            tx: Buffer::default(),
            filling: None,
            listens: false,
            stops: u64::MAX,
            fifo: VecDeque::new(),
            line_in: VecDeque::new(),
            next_in: u64::MAX,
            sending: None,
            sent: u64::MAX,
            line_out: Vec::new(),
            lost: 0,
        }
    }

    /// Bytes that the line has not brought yet.
    pub(super) fn waiting(&self) -> usize {
        self.line_in.len()
    }
    /// The host puts bytes on the line.
    pub(super) fn receive(&mut self, now: u64, bytes: &[u8]) {
        if self.line_in.is_empty() && !bytes.is_empty() {
            self.next_in = now + self.byte();
        }
        self.line_in.extend(bytes);
    }
    /// The host takes what was sent.
    pub(super) fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line_out)
    }
    /// Bytes that were not taken off the line in time.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Cycles of a byte: BAUDRATE is 2^32 / 16 MHz a baud (6.34.9).
    fn byte(&self) -> u64 {
        (40u64 << 32) / u64::from(self.rate.max(1))
    }

    fn put(&mut self, byte: u8, wires: &mut Wires<'_>) {
        let Some(buffer) = &mut self.filling else {
            match self.fifo.len() {
                0..FIFO => self.fifo.push_back(byte),
                _ => {
                    (self.lost, self.errors) = (self.lost + 1, self.errors | 1);
                    self.events.raise(ERROR, wires);
                }
            }
            return;
        };
        let at = buffer.pointer.wrapping_add(buffer.amount);
        if !wires.memory.write_ram(at, &[byte]) {
            self.lost += 1;
        }
        buffer.amount += 1;
        if buffer.amount >= buffer.most {
            self.end_rx(wires);
        }
    }
    fn end_rx(&mut self, wires: &mut Wires<'_>) {
        if let Some(buffer) = self.filling.take() {
            self.rx.amount = buffer.amount;
            self.events.raise(END_RX, wires);
        }
    }
    fn drain_fifo(&mut self, wires: &mut Wires<'_>) {
        while self.filling.is_some() {
            let Some(byte) = self.fifo.pop_front() else {
                return;
            };
            self.put(byte, wires);
        }
    }
}

impl Device for Uarte {
    fn shorts(&self) -> &'static [Short] {
        &[(5, END_RX, START_RX), (6, END_RX, STOP_RX)]
    }

    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        if self.enabled != 8 {
            return;
        }
        match task {
            START_RX => {
                // The pointer is taken over here: it may be written for the next buffer now.
                self.filling = Some(Buffer {
                    amount: 0,
                    ..self.rx
                });
                (self.listens, self.stops) = (true, u64::MAX);
                self.events.raise(RX_STARTED, wires);
                self.drain_fifo(wires);
            }
            STOP_RX => self.stops = now + STOPS,
            FLUSH_RX => {
                self.filling = Some(Buffer {
                    amount: 0,
                    ..self.rx
                });
                self.drain_fifo(wires);
                self.end_rx(wires);
            }
            START_TX => {
                self.sending = Some(self.tx);
                // An empty buffer takes a moment too, else one that starts itself would never end.
                self.sent = now + (self.byte() * u64::from(self.tx.most)).max(1);
                self.events.raise(TX_STARTED, wires);
            }
            STOP_TX => {
                self.sending = None;
                self.sent = u64::MAX;
                self.events.raise(TX_STOPPED, wires);
            }
            _ => (),
        }
    }

    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        Some(match offset {
            0x480 => self.errors,
            0x500 => self.enabled,
            0x508..=0x514 => self.pins[(offset as usize - 0x508) / 4],
            0x524 => self.rate,
            0x534 => self.rx.pointer,
            0x538 => self.rx.most,
            0x53c => self.rx.amount,
            0x544 => self.tx.pointer,
            0x548 => self.tx.most,
            0x54c => self.tx.amount,
            0x56c => self.pins[4],
            _ => return None,
        })
    }

    fn write(&mut self, _now: u64, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x480 => self.errors &= !value,
            0x500 => self.enabled = value & 0xf,
            0x508..=0x514 => self.pins[(offset as usize - 0x508) / 4] = value,
            0x524 => self.rate = value,
            0x534 => self.rx.pointer = value,
            // MAXCNT has 16 bits (6.34.9).
            0x538 => self.rx.most = value & 0xffff,
            0x544 => self.tx.pointer = value,
            0x548 => self.tx.most = value & 0xffff,
            0x56c => self.pins[4] = value,
            _ => return None,
        }
        Some(())
    }

    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.next_in <= now {
            if let Some(byte) = self.line_in.pop_front() {
                match self.listens {
                    true => {
                        self.events.raise(RX_READY, wires);
                        self.put(byte, wires);
                    }
                    false => self.lost += 1,
                }
            }
            self.next_in = match self.line_in.is_empty() {
                true => u64::MAX,
                false => now + self.byte(),
            };
        }
        if self.stops <= now {
            (self.stops, self.listens) = (u64::MAX, false);
            self.end_rx(wires);
            self.events.raise(RX_TIMEOUT, wires);
        }
        if self.sent <= now {
            self.sent = u64::MAX;
            if let Some(buffer) = self.sending.take() {
                let bytes = wires.memory.read(buffer.pointer, buffer.most as usize);
                self.line_out.extend(bytes.unwrap_or(&[]));
                self.tx.amount = buffer.most;
                self.events.raise(TX_READY, wires);
                self.events.raise(END_TX, wires);
            }
        }
    }
    fn due(&self) -> u64 {
        self.next_in.min(self.stops).min(self.sent)
    }
}
