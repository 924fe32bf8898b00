//! PPI (product specification, 6.16): events trigger tasks without the processor, each with a fork.
//!
//! An event passes within the cycle; the chip takes up to one of 16 MHz. Groups of channels are modelled.

use super::events::{Event, Id, Task};

/// Channels: software sets the first twenty.
const CHANNELS: usize = 32;
const GROUPS: usize = 6;
const PERIPHERALS: u32 = 0x4000_0000;

/// The address of an event's register.
const fn event_address(id: Id, event: Event) -> u32 {
    PERIPHERALS + (id << 12) + 0x100 + 4 * event
}

/// Event and task of the channels that are fixed (6.16.1), but those of AAR and CCM.
const FIXED: [(usize, u32, u32); 9] = [
    (20, 0x4000_8140, 0x4000_1000),
    (21, 0x4000_8140, 0x4000_1004),
    (22, 0x4000_8144, 0x4000_1010),
    (26, 0x4000_1104, 0x4000_8044),
    (27, 0x4000_110c, 0x4000_8048),
    (28, 0x4000_b140, 0x4000_1000),
    (29, 0x4000_b140, 0x4000_1004),
    (30, 0x4000_b140, 0x4000_800c),
    (31, 0x4000_b140, 0x4000_8000),
];

#[derive(Debug, Clone, Copy, Default)]
struct Channel {
    event: u32,
    task: u32,
    fork: u32,
}

#[derive(Debug)]
pub(super) struct Ppi {
    enabled: u32,
    channels: [Channel; CHANNELS],
    groups: [u32; GROUPS],
}

impl Default for Ppi {
    fn default() -> Self {
        let mut channels = [Channel::default(); CHANNELS];
        for (number, event, task) in FIXED {
            (channels[number].event, channels[number].task) = (event, task);
        }
        Self {
            enabled: 0,
            channels,
            groups: [0; GROUPS],
        }
    }
}

impl Ppi {
    /// Addresses of the tasks that an event triggers, channel by channel.
    pub(super) fn triggered(&self, id: Id, event: Event) -> impl Iterator<Item = u32> {
        let address = event_address(id, event);
        let (mut left, channels) = (self.enabled, self.channels);
        std::iter::from_fn(move || {
            let number = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            channels.get(number).copied()
        })
        .filter(move |channel| channel.event == address)
        .flat_map(|channel| [channel.task, channel.fork])
        .filter(|task| *task != 0)
    }

    /// Whether anything can be triggered at all.
    pub(super) const fn is_idle(&self) -> bool {
        self.enabled == 0
    }

    /// Whether a channel that is on triggers the task at this address.
    pub(super) fn leads_to(&self, task: u32) -> bool {
        let mut channels = self.channels.iter().enumerate();
        channels.any(|(number, channel)| {
            self.enabled >> number & 1 != 0 && [channel.task, channel.fork].contains(&task)
        })
    }

    /// Tasks of groups: enable at even places, disable at odd ones.
    pub(super) fn task(&mut self, task: Task) {
        let Some(group) = self.groups.get(task as usize / 2) else {
            return;
        };
        match task % 2 {
            0 => self.enabled |= group,
            _ => self.enabled &= !group,
        }
    }

    pub(super) fn read(&self, offset: u32) -> Option<u32> {
        let place = offset as usize;
        Some(match offset {
            0x500..=0x508 => self.enabled,
            0x510..0x5b0 => {
                let channel = self.channels[(place - 0x510) / 8];
                if offset & 4 == 0 {
                    channel.event
                } else {
                    channel.task
                }
            }
            0x800..0x818 => self.groups[(place - 0x800) / 4],
            0x910..0x990 => self.channels[(place - 0x910) / 4].fork,
            _ => return None,
        })
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) -> Option<()> {
        let place = offset as usize;
        match offset {
            0x500 => self.enabled = value,
            0x504 => self.enabled |= value,
            0x508 => self.enabled &= !value,
            0x510..0x5b0 => {
                let channel = &mut self.channels[(place - 0x510) / 8];
                match offset & 4 {
                    0 => channel.event = value,
                    _ => channel.task = value,
                }
            }
            0x800..0x818 => self.groups[(place - 0x800) / 4] = value,
            0x910..0x990 => self.channels[(place - 0x910) / 4].fork = value,
            _ => return None,
        }
        Some(())
    }
}
