//! What the first bytes of a NACK tell beside what is missing, where a transfer learns: under which
//! setting of the channels to go on, who is to speak to the destination, and what comes next. And what a
//! request tells of the round that it ends, where stages learn. Tests: at the end of this file.

use super::arrangement::MAX_ARRANGEMENTS;
use super::learning::Directive;
use super::silent::{Silent, MAX_SILENCES};
use thalweg_wire::pipeline::{Group, MAX_SLIM_PAYLOAD};
use thalweg_wire::{Reader, WireError, Writer};

/// The most bytes before a vector.
pub const MAX_DIRECTION_BYTES: usize = 3 + MAX_SILENCES;
/// Bytes of [`Sent`] after the body of a request.
pub const SENT_BYTES: usize = 7;
/// In the byte of what comes next: relays are tried; an order of the channels is tried; else a number.
const SPEAKERS: u8 = 0x80;
const ORDER: u8 = 0x40;
/// Or each relay of a group is silent in turn.
const SILENCES: u8 = 0x20;
const SILENCES_OF_EVEN: u8 = 0x21;
/// That number for all packets; others are exponents.
const ALL: u8 = 0x3f;
const MOST_EXPONENT: u8 = 13;
/// In the byte of the setting: numbers follow, and so many relays are named before.
const NUMBERS: u8 = 0x80;
const NAMED_SHIFT: u8 = 4;
const NAMED: u8 = 0x07;
const SETTING: u8 = 0x0f;
const _: () = assert!(MAX_SILENCES <= NAMED as usize && MAX_ARRANGEMENTS <= 1 + SETTING as usize);

/// Which directions a transfer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// None.
    Nothing,
    /// A byte: the setting of the channels.
    Setting,
    /// A byte: who is to speak.
    Speakers,
    /// Both, what comes next, and which relays are silent.
    Stages,
}

impl Form {
    /// Bytes before the vector of a NACK, at least.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Setting | Self::Speakers => 1,
            Self::Stages => 3,
        }
    }
    /// How many more there may be.
    pub const fn more_bytes(self) -> usize {
        match self {
            Self::Nothing | Self::Setting | Self::Speakers => 0,
            Self::Stages => MAX_SILENCES,
        }
    }
}

/// What the packets of a round are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// A trial of the rotations of an order of the channels: of the route's own with the first packets.
    Order(u8),
    /// A trial of the relays of the last but one stage.
    Speakers,
    /// A trial in which each relay of a group is silent in turn.
    Silences(Group),
    /// So many at most, 2 to this power, after which the destination tells how it went.
    Packets(u8),
    /// All that are missing.
    All,
}

impl Stretch {
    fn byte(self) -> u8 {
        match self {
            Self::Order(order) => ORDER | order & ALL,
            Self::Speakers => SPEAKERS,
            Self::Silences(Group::Odd) => SILENCES,
            Self::Silences(Group::Even) => SILENCES_OF_EVEN,
            Self::Packets(exponent) => exponent.min(MOST_EXPONENT),
            Self::All => ALL,
        }
    }
    const fn from_byte(byte: u8) -> Self {
        match byte {
            _ if byte & SPEAKERS != 0 => Self::Speakers,
            _ if byte & ORDER != 0 => Self::Order(byte & ALL),
            SILENCES => Self::Silences(Group::Odd),
            SILENCES_OF_EVEN => Self::Silences(Group::Even),
            0..=MOST_EXPONENT => Self::Packets(byte),
            _ => Self::All,
        }
    }
}

/// How what follows in a NACK says what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// As a bit vector.
    Bits,
    /// As numbers of packets, two bytes each: where these are shorter, which they are as soon as little is
    /// lost. Who learns asks often, so it should not cost much.
    Numbers,
}

/// How a transfer goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directions {
    /// Of the channels: a rotation or an arrangement, after the trial if one comes next.
    pub setting: u8,
    /// Who is to speak to the destination.
    pub speakers: Directive,
    /// Who is to be silent.
    pub silent: Silent,
    /// Which packets come next.
    pub next: Stretch,
    /// How what is missing is said.
    pub missing: Missing,
}

impl Directions {
    /// The channels as they are, everybody speaks.
    pub const NONE: Self = Self {
        setting: 0,
        speakers: Directive::ALL,
        silent: Silent::NOBODY,
        next: Stretch::All,
        missing: Missing::Bits,
    };

    /// Writes its bytes at the beginning of `vector`, where they have room; how many there are.
    pub fn emit(&self, form: Form, vector: &mut [u8; MAX_SLIM_PAYLOAD]) -> usize {
        let speakers = self.speakers.byte();
        match form {
            Form::Nothing => {}
            Form::Setting => vector[0] = self.setting,
            Form::Speakers => vector[0] = speakers,
            Form::Stages => {
                let numbers = match self.missing {
                    Missing::Bits => 0,
                    Missing::Numbers => NUMBERS,
                };
                let named = (self.silent.bytes().len() as u8) << NAMED_SHIFT;
                let setting = self.setting & SETTING | named | numbers;
                vector[..3].copy_from_slice(&[setting, speakers, self.next.byte()]);
                for (byte, silence) in vector[3..].iter_mut().zip(self.silent.bytes()) {
                    *byte = *silence;
                }
                return form.bytes() + self.silent.bytes().len();
            }
        }
        form.bytes()
    }
    /// What a NACK's `vector` begins with, and the rest of it; none where it is too short.
    pub fn split(form: Form, vector: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, rest) = vector.split_at_checked(form.bytes())?;
        let mut directions = Self::NONE;
        match (form, bytes) {
            (Form::Setting, [setting]) => directions.setting = *setting,
            (Form::Speakers, [speakers]) => directions.speakers = Directive::from_byte(*speakers),
            (Form::Stages, [setting, speakers, next]) => {
                let named = usize::from(setting >> NAMED_SHIFT & NAMED);
                let (silent, rest) = rest.split_at_checked(named)?;
                let directions = Self {
                    setting: *setting & SETTING,
                    speakers: Directive::from_byte(*speakers),
                    silent: Silent::from_bytes(silent),
                    next: Stretch::from_byte(*next),
                    missing: match *setting & NUMBERS {
                        0 => Missing::Bits,
                        _ => Missing::Numbers,
                    },
                };
                return Some((directions, rest));
            }
            _ => {}
        }
        Some((directions, rest))
    }
}

/// What a request tells of the round that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Under which setting the source is, and was in the round: it may have looked elsewhere since.
    pub setting: u8,
    /// See there.
    pub under: u8,
    /// What the round was to be, as far as the source was told.
    pub stretch: Stretch,
    /// Packets of the round.
    pub packets: u16,
    /// How many packets, from the first on, have been sent at least once.
    pub reach: u16,
}

impl Sent {
    /// Reads it.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            setting: r.u8()?,
            under: r.u8()?,
            stretch: Stretch::from_byte(r.u8()?),
            packets: r.u16()?,
            reach: r.u16()?,
        })
    }
    /// Writes it.
    ///
    /// # Errors
    /// [`WireError::NoRoom`].
    pub fn emit(&self, w: &mut Writer<'_>) -> Result<(), WireError> {
        w.u8(self.setting)?.u8(self.under)?;
        w.u8(self.stretch.byte())?;
        w.u16(self.packets)?.u16(self.reach)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let speakers = Directive::from_byte(0x3f);
        for (next, silent) in [
            (Stretch::All, &[][..]),
            (Stretch::Speakers, &[1]),
            (Stretch::Silences(Group::Odd), &[1, 2]),
            (Stretch::Silences(Group::Even), &[]),
            (Stretch::Order(5), &[]),
            (Stretch::Packets(0), &[0x80, 0xc7, 3, 4, 5, 6, 7]),
            (Stretch::Packets(13), &[]),
        ] {
            let said = Directions {
                setting: 11,
                speakers,
                silent: Silent::from_bytes(silent),
                next,
                missing: Missing::Numbers,
            };
            let setting = Directions {
                setting: 11,
                ..Directions::NONE
            };
            let who = Directions {
                speakers,
                ..Directions::NONE
            };
            for (form, heard, len) in [
                (Form::Nothing, Directions::NONE, 0),
                (Form::Setting, setting, 1),
                (Form::Speakers, who, 1),
                (Form::Stages, said, 3 + silent.len()),
            ] {
                let mut vector = [0xaa; MAX_SLIM_PAYLOAD];
                assert_eq!(said.emit(form, &mut vector), len);
                assert!(len <= form.bytes() + form.more_bytes() && len <= MAX_DIRECTION_BYTES);
                let vector = &vector[..len + 2];
                assert_eq!(
                    Directions::split(form, vector),
                    Some((heard, &vector[len..]))
                );
            }
        }
        assert_eq!(Directions::split(Form::Stages, &[1, 2]), None);
        assert_eq!(Directions::split(Form::Stages, &[0x21, 2, 3, 4]), None);
    }
}
