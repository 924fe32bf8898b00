//! RADIO's registers that hold a setting or a result (product specification, 6.20.14).

use super::air::{Carrier, Check};
use thalweg_units::{Channel, Dbm};

/// EDSAMPLE nought stands for this power (6.20.15.9, ED_RSSIOFFS).
const LEVEL_OFFSET: f64 = -93.0;
/// Registers that are kept and have no effect on frames of IEEE 802.15.4.
const KEPT: [u32; 22] = [
    0x514, 0x518, 0x51c, 0x520, 0x524, 0x528, 0x52c, 0x530, 0x534, 0x538, 0x53c, 0x544, 0x554,
    0x600, 0x604, 0x640, 0x644, 0x648, 0x64c, 0x660, 0x664, 0x774,
];

/// Settings and results.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) pointer: u32,
    pub(super) bit_count: u32,
    pub(super) rssi: u32,
    pub(super) energy: u32,
    pub(super) check: Check,
    frequency: u32,
    power: u32,
    mode: u32,
    ramp: u32,
    assessment: u32,
    on: u32,
    kept: [u32; KEPT.len()],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pointer: 0,
            bit_count: 0,
            rssi: 0,
            energy: 0,
            check: Check::Wrong,
            frequency: 2,
            power: 0,
            mode: 0,
            // DTX in the centre is not the reset value; fast ramp-up neither (6.20.14.67).
            ramp: 0x200,
            assessment: 0x052d_0000,
            on: 1,
            kept: [0; KEPT.len()],
        }
    }
}

impl Settings {
    /// The channel of FREQUENCY, where MODE is that of IEEE 802.15.4: k stands at 5 (k - 10) MHz (6.20.12.1).
    pub(super) fn channel(&self) -> Option<Channel> {
        let place = self.frequency.checked_sub(5).filter(|_| self.mode == 15)?;
        let number = place / 5 + 11;
        let exact = place % 5 == 0;
        Channel::new(number as u8).ok().filter(|_| exact)
    }
    /// TXPOWER: two's complement, in dBm (6.20.14.48).
    pub(super) fn power(&self) -> Dbm {
        Dbm(f64::from(self.power as u8 as i8))
    }
    /// MODECNF0.RU (6.20.14.67).
    pub(super) const fn is_fast(&self) -> bool {
        self.ramp & 1 != 0
    }
    /// A power as EDSAMPLE shows it (6.20.12.5).
    pub(super) fn level(power: Dbm) -> u32 {
        (power.0 - LEVEL_OFFSET).clamp(0.0, 127.0) as u32
    }
    /// Whether the channel counts as busy: CCAMODE and CCAEDTHRES (6.20.12.6).
    pub(super) fn is_busy(&self, level: u32, carrier: Carrier) -> bool {
        let energy = level >= self.assessment >> 8 & 0xff;
        let carrier = carrier == Carrier::Present;
        match self.assessment & 7 {
            1 => carrier,
            2 => carrier && energy,
            3 => carrier || energy,
            _ => energy,
        }
    }

    fn place(offset: u32) -> Option<usize> {
        KEPT.iter().position(|kept| *kept == offset)
    }

    pub(super) fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0x400 => u32::from(self.check == Check::Right),
            0x408 | 0x40c | 0x410 | 0x414 => 0,
            0x504 => self.pointer,
            0x508 => self.frequency,
            0x50c => self.power,
            0x510 => self.mode,
            0x548 => self.rssi,
            0x560 => self.bit_count,
            0x650 => self.ramp,
            0x668 => self.energy,
            0x66c => self.assessment,
            0xffc => self.on,
            _ => return Self::place(offset).map(|place| self.kept[place]),
        })
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) -> Option<()> {
        match offset {
            0x504 => self.pointer = value,
            0x508 => self.frequency = value & 0x7f,
            0x50c => self.power = value & 0xff,
            0x510 => self.mode = value & 0xf,
            0x560 => self.bit_count = value,
            0x650 => self.ramp = value,
            0x66c => self.assessment = value,
            0xffc => self.on = value & 1,
            _ => {
                let place = Self::place(offset)?;
                self.kept[place] = value;
            }
        }
        Some(())
    }
}
