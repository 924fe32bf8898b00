//! Node addresses: IEEE 802.15.4 short addresses that name one node.

use core::fmt;

/// The short address of one node, 0..=0xfffd (0xffff is broadcast, 0xfffe means "has none";
/// IEEE 802.15.4-2006, 7.5.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u16);

/// The number given is not the short address of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeIdError;

impl fmt::Display for NodeIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node's number is from 0 to 65533")
    }
}
impl core::error::Error for NodeIdError {}

impl NodeId {
    /// The highest short address of one node.
    pub const MAX: Self = Self(0xfffd);

    /// The node with short address `address`.
    ///
    /// # Errors
    /// [`NodeIdError`] for 0xfffe and 0xffff.
    pub const fn new(address: u16) -> Result<Self, NodeIdError> {
        if address <= Self::MAX.0 {
            Ok(Self(address))
        } else {
            Err(NodeIdError)
        }
    }
    /// The short address.
    pub const fn get(self) -> u16 {
        self.0
    }
}
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A node for people: its number, and in brackets what it is called beside it, such as `12 (pier-north)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Which.
    pub id: NodeId,
    /// What it is called, where it has a name.
    pub label: Option<&'a str>,
}
impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.label {
            Some(label) => write!(f, "{} ({label})", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_is_no_node() {
        assert!(NodeId::new(0xffff).is_err());
        assert!(NodeId::new(0xfffe).is_err());
        assert_eq!(NodeId::new(0xfffd), Ok(NodeId::MAX));
    }
}
