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

/// The list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    list: [Option<Silence>; MAX_SILENCES],
}

impl Silent {
    /// Everybody sends.
    pub const NOBODY: Self = Self {
        list: [None; MAX_SILENCES],
    };

    fn all(&self) -> impl Iterator<Item = Silence> + '_ {
        self.list.iter().flatten().copied()
    }
    /// How many it names.
    pub fn len(&self) -> usize {
        self.all().count()
    }
    /// Its bytes.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.all().map(Silence::byte)
    }
    /// From bytes of a NACK.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut silent = Self::NOBODY;
        for byte in bytes {
            silent.add(Silence::from_byte(*byte));
        }
        silent
    }
    /// Adds one, where there is room.
    pub fn add(&mut self, silence: Silence) {
        if let Some(place) = self.list.iter_mut().find(|place| place.is_none()) {
            *place = Some(silence);
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
