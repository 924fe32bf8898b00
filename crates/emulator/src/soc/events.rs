//! What all peripherals of the chip share: tasks, events, shortcuts, interrupts (product specification, 6.1).

use crate::memory::Memory;

/// Where a peripheral's events, shortcuts and interrupt registers begin.
const EVENTS: u32 = 0x100;
const SHORTS: u32 = 0x200;
const INTEN: u32 = 0x300;
const INTENSET: u32 = 0x304;
const INTENCLR: u32 = 0x308;

/// An event of a peripheral, by its number: its register's place after the first one.
pub(super) type Event = u32;
/// A task of a peripheral, by its number.
pub(super) type Task = u32;
/// A shortcut: its bit, the event, the task.
pub(super) type Short = (u32, Event, Task);

/// Peripherals have numbers, which are also their interrupts' (product specification, 4.2.3).
pub(super) type Id = u32;

/// What a peripheral reaches beyond its own registers.
pub(super) struct Wires<'a> {
    /// For EasyDMA.
    pub(super) memory: &'a mut Memory,
    /// Events that have happened and not been passed on.
    pub(super) raised: &'a mut Vec<(Id, Event)>,
}

/// The registers that all peripherals have in common.
#[derive(Debug)]
pub(super) struct Events {
    id: Id,
    raised: u32,
    enabled: u32,
    shorts: u32,
}

impl Events {
    pub(super) const fn new(id: Id) -> Self {
        Self {
            id,
            raised: 0,
            enabled: 0,
            shorts: 0,
        }
    }

    /// The event happens: its register shows it, and shortcuts and PPI act on it.
    pub(super) fn raise(&mut self, event: Event, wires: &mut Wires<'_>) {
        self.raised |= 1 << event;
        wires.raised.push((self.id, event));
    }

    /// The level of the interrupt line.
    pub(super) const fn line(&self) -> bool {
        self.raised & self.enabled != 0
    }
    pub(super) const fn is_enabled(&self, event: Event) -> bool {
        self.enabled >> event & 1 != 0
    }

    /// Whether a shortcut is on.
    pub(super) const fn has_short(&self, bit: u32) -> bool {
        self.shorts >> bit & 1 != 0
    }

    /// Reads one of the common registers; none where it is not one.
    pub(super) const fn read(&self, offset: u32) -> Option<u32> {
        match offset {
            EVENTS..0x180 => Some(self.raised >> ((offset - EVENTS) / 4) & 1),
            SHORTS => Some(self.shorts),
            INTEN | INTENSET | INTENCLR => Some(self.enabled),
            _ => None,
        }
    }

    /// Writes one of the common registers; none where it is not one.
    pub(super) fn write(&mut self, offset: u32, value: u32) -> Option<()> {
        match offset {
            EVENTS..0x180 => {
                let bit = 1 << ((offset - EVENTS) / 4);
                self.raised = self.raised & !bit | if value & 1 != 0 { bit } else { 0 };
            }
            SHORTS => self.shorts = value,
            INTEN => self.enabled = value,
            INTENSET => self.enabled |= value,
            INTENCLR => self.enabled &= !value,
            _ => return None,
        }
        Some(())
    }
}

/// A peripheral. Time is in cycles of 64 MHz.
pub(super) trait Device {
    /// Its shortcuts.
    fn shorts(&self) -> &'static [Short] {
        &[]
    }

    fn events(&self) -> &Events;
    fn events_mut(&mut self) -> &mut Events;

    /// A task is triggered, by software, a shortcut or PPI.
    fn task(&mut self, now: u64, task: Task, wires: &mut Wires<'_>);
    /// Reads one of its own registers; none where there is no such.
    fn read(&mut self, now: u64, offset: u32) -> Option<u32>;
    /// Writes one of its own registers; none where there is no such.
    fn write(&mut self, now: u64, offset: u32, value: u32) -> Option<()>;
    /// What falls due at `now` happens.
    fn advance(&mut self, now: u64, wires: &mut Wires<'_>);
    /// When something next falls due.
    fn due(&self) -> u64;
}

/// Cycles of a microsecond.
pub(super) const MICROSECOND: u64 = 64;
