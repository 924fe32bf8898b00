//! Who a node is: a record in a flash page of its own ([`crate::layout`]), which `thalweg firmware` writes into an image.
//!
//! 28 bytes, little-endian: 16 of magic, version, role, node (2), channels (2), the floods' channel, a zero, CRC-32 of all
//! before it. A record that is not wholly right is an error that says what is wrong; nothing is guessed.

use crate::checksum::crc32;
use crate::Registers;
use core::fmt;
use thalweg_units::{Channel, ChannelSet, NodeId};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 28;
/// What it begins with.
pub const MAGIC: [u8; 16] = *b"THALWEG-IDENTITY";
const VERSION: u8 = 1;

/// What a node is in its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Battery, sensors, no line.
    Mote,
    /// Beside a host.
    BaseStation,
}

/// A node's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its address.
    pub node: NodeId,
    /// Its role.
    pub role: Role,
    /// The channels that its network may use.
    pub channels: ChannelSet,
    /// The channel of floods, one of these.
    pub floods: Channel,
}

/// Why a record is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityError {
    /// The page is erased: the image was not given an identity.
    Absent,
    /// Something else is there.
    NoMagic,
    /// It was written by a newer program.
    Version(u8),
    /// The check sum is wrong.
    Checksum,
    /// The address is none.
    Node(u16),
    /// The role is none.
    Role(u8),
    /// The channel of floods is none of its channels.
    FloodChannel(u8),
    /// It is right, and that of another image's node.
    OtherRole(Role),
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("the image has no identity: `thalweg firmware` writes one"),
            Self::NoMagic => f.write_str("no identity is where one should be"),
            Self::Version(v) => write!(f, "an identity of version {v}, wanted {VERSION}"),
            Self::Checksum => f.write_str("the identity's check sum is wrong"),
            Self::Node(node) => write!(f, "{node} is no node's address"),
            Self::Role(role) => write!(f, "{role} is no role"),
            Self::FloodChannel(c) => write!(f, "floods on {c}, which is no channel of the node"),
            Self::OtherRole(Role::Mote) => {
                f.write_str("a base station's image has a mote's identity")
            }
            Self::OtherRole(Role::BaseStation) => {
                f.write_str("a mote's image has a base station's identity")
            }
        }
    }
}
impl core::error::Error for IdentityError {}

impl Identity {
    /// Reads the record at `address`, a multiple of four.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn read(r: &mut impl Registers, address: u32) -> Result<Self, IdentityError> {
        let mut bytes = [0; RECORD_BYTES];
        for (n, word) in bytes.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&r.read(address + 4 * n as u32).to_le_bytes());
        }
        Self::parse(&bytes)
    }

    /// The same, for an image of nodes of `role`.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn read_as(
        r: &mut impl Registers,
        address: u32,
        role: Role,
    ) -> Result<Self, IdentityError> {
        let identity = Self::read(r, address)?;
        match identity.role == role {
            true => Ok(identity),
            false => Err(IdentityError::OtherRole(identity.role)),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn parse(bytes: &[u8; RECORD_BYTES]) -> Result<Self, IdentityError> {
        if bytes.iter().all(|byte| *byte == 0xFF) {
            return Err(IdentityError::Absent);
        }
        if !bytes.starts_with(&MAGIC) {
            return Err(IdentityError::NoMagic);
        }
        let [version, role, node0, node1, channels0, channels1, floods, _, sum @ ..] = &bytes[16..]
        else {
            return Err(IdentityError::NoMagic);
        };
        if *version != VERSION {
            return Err(IdentityError::Version(*version));
        }
        if crc32(&bytes[..RECORD_BYTES - 4]).to_le_bytes() != *sum {
            return Err(IdentityError::Checksum);
        }
        let node = u16::from_le_bytes([*node0, *node1]);
        let channels = ChannelSet::from_bits(u16::from_le_bytes([*channels0, *channels1]));
        let found = Channel::new(*floods).ok().filter(|c| channels.contains(*c));
        Ok(Self {
            node: NodeId::new(node).map_err(|_| IdentityError::Node(node))?,
            role: match role {
                0 => Role::Mote,
                1 => Role::BaseStation,
                _ => return Err(IdentityError::Role(*role)),
            },
            channels,
            floods: found.ok_or(IdentityError::FloodChannel(*floods))?,
        })
    }

    /// The record.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let (head, rest) = bytes.split_at_mut(MAGIC.len());
        head.copy_from_slice(&MAGIC);
        let [node0, node1] = self.node.get().to_le_bytes();
        let [channels0, channels1] = self.channels.bits().to_le_bytes();
        let role = match self.role {
            Role::Mote => 0,
            Role::BaseStation => 1,
        };
        let floods = self.floods.number();
        let fields = [VERSION, role, node0, node1, channels0, channels1, floods, 0];
        rest[..fields.len()].copy_from_slice(&fields);
        let sum = crc32(&bytes[..RECORD_BYTES - 4]);
        bytes[RECORD_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            node: NodeId::new(7).unwrap(),
            role: Role::BaseStation,
            channels: ChannelSet::ALL,
            floods: Channel::LAST,
        }
    }

    #[test]
    fn a_record_comes_back() {
        assert_eq!(Identity::parse(&identity().bytes()), Ok(identity()));
    }

    #[test]
    fn no_flipped_bit_is_another_identity() {
        for bit in 0..8 * RECORD_BYTES {
            let mut bytes = identity().bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Identity::parse(&bytes).is_err(), "bit {bit}");
        }
        assert_eq!(
            Identity::parse(&[0xFF; RECORD_BYTES]),
            Err(IdentityError::Absent)
        );
    }

    #[test]
    fn floods_are_on_a_channel_of_the_node() {
        let mut identity = identity();
        identity.channels = ChannelSet::EMPTY.with(Channel::FIRST);
        let error = Identity::parse(&identity.bytes()).unwrap_err();
        assert_eq!(error, IdentityError::FloodChannel(26));
    }
}
