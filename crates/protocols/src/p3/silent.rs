//! Who is to be silent, as a NACK tells it: a list of relays, those kept silent and those that are tried
//! beside each other, packet by packet. Tests: at the end of this file.

use thalweg_wire::pipeline::Group;

/// The most relays that a NACK names.
pub const MAX_SILENCES: usize = 7;
const CANDIDATE_BIT: u8 = 0x80;
const EVEN_BIT: u8 = 0x40;

/// Why a relay is on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is silent in its share of the packets.
    Candidate,
    /// It is silent.
    Kept,
}

/// A relay on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Its group.
    pub group: Group,
    /// Its place among the relays of its group, 0..64.
    pub relay: u8,
    /// Why.
    pub standing: Standing,
}

impl Silence {
    fn byte(self) -> u8 {
        let group = match self.group {
            Group::Odd => 0,
            Group::Even => EVEN_BIT,
        };
        let standing = match self.standing {
            Standing::Candidate => CANDIDATE_BIT,
            Standing::Kept => 0,
        };
        self.relay & (EVEN_BIT - 1) | group | standing
    }
    const fn from_byte(byte: u8) -> Self {
        Self {
            group: match byte & EVEN_BIT {
                0 => Group::Odd,
                _ => Group::Even,
            },
            relay: byte & (EVEN_BIT - 1),
            standing: match byte & CANDIDATE_BIT {
                0 => Standing::Kept,
                _ => Standing::Candidate,
            },
        }
    }
}

/// The list, as bytes of a NACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    bytes: [u8; MAX_SILENCES],
    len: u8,
}

impl Silent {
    /// Everybody sends.
    pub const NOBODY: Self = Self {
        bytes: [0; MAX_SILENCES],
        len: 0,
    };

    /// Its bytes, one for each that it names, candidates and others.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
    fn all(&self) -> impl Iterator<Item = Silence> + '_ {
        self.bytes().iter().copied().map(Silence::from_byte)
    }
    /// From bytes of a NACK; what has no room is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut silent = Self::NOBODY;
        for byte in bytes {
            silent.add(Silence::from_byte(*byte));
        }
        silent
    }
    /// Adds one, where there is room.
    pub fn add(&mut self, silence: Silence) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.len)) {
            *place = silence.byte();
            self.len += 1;
        }
    }
    /// The relays of `group` of a standing, in order.
    pub fn of(&self, group: Group, standing: Standing) -> impl Iterator<Item = u8> + '_ {
        self.all()
            .filter(move |s| (s.group, s.standing) == (group, standing))
            .map(|s| s.relay)
    }
    fn number_of(&self, standing: Standing) -> usize {
        self.all().filter(|s| s.standing == standing).count()
    }
    /// How many are kept silent.
    pub fn kept(&self) -> usize {
        self.number_of(Standing::Kept)
    }
    /// How many are tried.
    pub fn candidates(&self) -> usize {
        self.number_of(Standing::Candidate)
    }
    /// Whether `relay` of `group` is kept silent.
    pub fn keeps(&self, group: Group, relay: u8) -> bool {
        self.of(group, Standing::Kept).any(|r| r == relay)
    }
    /// Takes out those that are tried.
    pub fn drop_candidates(&mut self) {
        *self = self.without_candidates();
    }
    /// Those kept silent alone.
    #[must_use]
    pub fn without_candidates(&self) -> Self {
        let mut kept = Self::NOBODY;
        for silence in self.all().filter(|s| s.standing == Standing::Kept) {
            kept.add(silence);
        }
        kept
    }

    /// Into how many classes the packets of `group` fall: one for each candidate, and 0 for nobody.
    pub fn classes(&self, group: Group) -> usize {
        1 + self.of(group, Standing::Candidate).count()
    }
    /// The class of packet `number` of `group`.
    pub fn class(&self, group: Group, number: u16) -> usize {
        usize::from(number / 2) % self.classes(group)
    }
    /// Whether `relay` of `group` is silent with packet `number`.
    pub fn applies(&self, group: Group, relay: u8, number: u16) -> bool {
        let class = self.class(group, number);
        let mut candidates = (1..).zip(self.of(group, Standing::Candidate));
        self.keeps(group, relay) || candidates.any(|(c, r)| c == class && r == relay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn list() -> Silent {
        let mut list = Silent::NOBODY;
        for (group, relay, standing) in [
            (Group::Odd, 0, Standing::Kept),
            (Group::Odd, 63, Standing::Candidate),
            (Group::Even, 17, Standing::Candidate),
            (Group::Odd, 5, Standing::Candidate),
        ] {
            list.add(Silence {
                group,
                relay,
                standing,
            });
        }
        list
    }

    #[test]
    fn what_is_named_is_read() {
        assert_eq!(list().bytes(), [0x00, 0xbf, 0xd1, 0x85]);
        assert_eq!(Silent::from_bytes(list().bytes()), list());
        assert_eq!(Silent::from_bytes(&[7; 12]).kept(), MAX_SILENCES);
    }

    #[test]
    fn candidates_share_the_packets_of_their_group() {
        let list = list();
        let silent = |group, relay| -> Vec<u16> {
            let with = |number: &u16| list.applies(group, relay, *number);
            (0..12).filter(with).collect()
        };
        assert_eq!(silent(Group::Odd, 0).len(), 12);
        assert_eq!(silent(Group::Odd, 63), [2, 3, 8, 9]);
        assert_eq!(silent(Group::Odd, 5), [4, 5, 10, 11]);
        assert_eq!(silent(Group::Even, 17), [2, 3, 6, 7, 10, 11]);
        assert!(silent(Group::Even, 5).is_empty());
        assert_eq!(list.without_candidates().bytes(), [0]);
    }
}
