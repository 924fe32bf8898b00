//! ECB (product specification, 6.7): AES-128 of a block that lies in RAM behind its key.
//!
//! Not modelled: CCM and AAR, with which it shares AES.

use super::aes::{self, Block};
use super::events::{Device, Event, Events, Id, Task, Wires, MICROSECOND};

const ENDECB: Event = 0;
const ERRORECB: Event = 1;
/// A block (6.7.4: 7.2 us).
const TAKES: u64 = 72 * MICROSECOND / 10;
const BYTES: u32 = aes::BYTES as u32;

#[derive(Debug)]
pub(super) struct Ecb {
    events: Events,
    pointer: u32,
    due: u64,
}

impl Ecb {
    pub(super) const fn new(id: Id) -> Self {
        Self {
            events: Events::new(id),
            pointer: 0,
            due: u64::MAX,
        }
    }

    /// Encrypts; none where the data structure (6.7.2) is not in RAM.
    fn encrypt(&self, wires: &mut Wires<'_>) -> Option<()> {
        let block = |at| -> Option<Block> { wires.memory.ram(self.pointer.checked_add(at)?) };
        let (key, block) = (block(0)?, block(BYTES)?);
        let at = self.pointer.checked_add(2 * BYTES)?;
        let encrypted = aes::encrypted(key, block);
        { wires.memory.write_ram(at, &encrypted) }.then_some(())
    }
}

impl Device for Ecb {
    fn events(&self) -> &Events {
        &self.events
    }
    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }
    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>) {
        match task {
            0 => self.due = now + TAKES,
            1 if self.due != u64::MAX => {
                self.due = u64::MAX;
                self.events.raise(ERRORECB, wires);
            }
            _ => (),
        }
    }
    fn read(&mut self, _now: u64, offset: u32) -> Option<u32> {
        (offset == 0x504).then_some(self.pointer)
    }
    fn write(&mut self, _now: u64, offset: u32, value: u32) -> Option<()> {
        (offset == 0x504).then(|| self.pointer = value)
    }
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>) {
        if self.due > now {
            return;
        }
        self.due = u64::MAX;
        let event = self.encrypt(wires).map_or(ERRORECB, |()| ENDECB);
        self.events.raise(event, wires);
    }
    fn due(&self) -> u64 {
        self.due
    }
}
