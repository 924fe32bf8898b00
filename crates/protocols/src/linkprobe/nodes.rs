//! A list of nodes of fixed capacity: those that an order of the sink addresses.

use core::fmt;
use thalweg_units::NodeId;

/// At most `NODES` different nodes, in the order in which they take their turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeList<const NODES: usize = 256> {
    ids: [NodeId; NODES],
    len: u16,
}

/// Why a list of nodes cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeListError {
    /// It has room for fewer.
    Full,
    /// A node is named twice.
    Twice(NodeId),
    /// A number in the range is not a node's.
    NoNode,
}

impl fmt::Display for NodeListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("more nodes than the list has room for"),
            Self::Twice(id) => write!(f, "node {id} is named twice"),
            Self::NoNode => f.write_str("the range goes beyond the highest node number"),
        }
    }
}
impl core::error::Error for NodeListError {}

impl<const NODES: usize> NodeList<NODES> {
    /// No node.
    pub const EMPTY: Self = Self {
        ids: [NodeId::MAX; NODES],
        len: 0,
    };

    /// The `count` nodes from `first` on.
    ///
    /// # Errors
    /// [`NodeListError::Full`], [`NodeListError::NoNode`].
    pub fn range(first: u16, count: u16) -> Result<Self, NodeListError> {
        let mut list = Self::EMPTY;
        for offset in 0..count {
            let id = first.checked_add(offset).ok_or(NodeListError::NoNode)?;
            list.push_unchecked(NodeId::new(id).map_err(|_| NodeListError::NoNode)?)?;
        }
        Ok(list)
    }
    /// These nodes.
    ///
    /// # Errors
    /// [`NodeListError::Full`], [`NodeListError::Twice`].
    pub fn of(ids: impl IntoIterator<Item = NodeId>) -> Result<Self, NodeListError> {
        let mut list = Self::EMPTY;
        for id in ids {
            if list.as_slice().contains(&id) {
                return Err(NodeListError::Twice(id));
            }
            list.push_unchecked(id)?;
        }
        Ok(list)
    }
    /// The same, lowest address first.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.ids[..usize::from(self.len)].sort_unstable_by_key(|id| id.get());
        self
    }
    /// The nodes.
    pub fn as_slice(&self) -> &[NodeId] {
        &self.ids[..usize::from(self.len)]
    }
    /// How many they are.
    pub const fn len(&self) -> u16 {
        self.len
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn push_unchecked(&mut self, id: NodeId) -> Result<(), NodeListError> {
        let place = self.ids.get_mut(usize::from(self.len));
        *place.ok_or(NodeListError::Full)? = id;
        self.len += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_each_node_once() {
        let id = |n| NodeId::new(n).unwrap();
        let list = NodeList::<4>::range(7, 3).unwrap();
        assert_eq!(list.as_slice(), &[id(7), id(8), id(9)]);
        assert_eq!(NodeList::<2>::range(0, 3), Err(NodeListError::Full));
        assert_eq!(NodeList::<4>::range(0xfffc, 3), Err(NodeListError::NoNode));
        let twice = NodeList::<4>::of([id(3), id(3)]);
        assert_eq!(twice, Err(NodeListError::Twice(id(3))));
        assert!(NodeList::<4>::of([]).unwrap().is_empty());
    }
}
