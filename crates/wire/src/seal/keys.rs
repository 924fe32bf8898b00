//! The network's keys: all from one master, which the gateway alone has.
//!
//! A key is the CMAC of the one above it over a label and what it is for, as in SP 800-108 with CMAC. A mote has
//! [`NodeKeys`], its own, and [`GroupKeys`], which all share. Tests: at the end.

use super::cmac::cmac;
use super::object::ObjectKeys;
use super::session::SessionKeys;
use super::{Cipher, Key};
use thalweg_units::NodeId;

const NODE: &[u8] = b"thalweg node";
const GROUP: &[u8] = b"thalweg group";
const STREAM: &[u8] = b"object stream";
const TAG: &[u8] = b"object tag";
const SESSION_STREAM: &[u8] = b"session stream";
const SESSION_TAG: &[u8] = b"session tag";
const FLOOD: &[u8] = b"flood";
const TRANSFER: &[u8] = b"transfer";
const SURVEY: &[u8] = b"survey tag";
const REPORT: &[u8] = b"report stream";

fn derived(cipher: &mut (impl Cipher + ?Sized), from: &Key, parts: &[&[u8]]) -> Key {
    Key::new(cmac(cipher, from, parts))
}

/// The key of a network, from which all others come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterKey(Key);

impl MasterKey {
    /// The master of this key.
    pub const fn new(key: Key) -> Self {
        Self(key)
    }
    /// Its key, for where it is kept.
    pub const fn key(&self) -> &Key {
        &self.0
    }
    /// The key of `node`, in its `generation`: the next one where a mote was lost and another takes its address.
    pub fn node(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        node: NodeId,
        generation: u8,
    ) -> NodeKeys {
        let id = node.get().to_le_bytes();
        NodeKeys(derived(cipher, &self.0, &[NODE, &id, &[generation]]))
    }
    /// The key that all nodes share in an `epoch`: the next one where a mote was lost.
    pub fn group(&self, cipher: &mut (impl Cipher + ?Sized), epoch: u32) -> GroupKeys {
        let epoch = epoch.to_le_bytes();
        GroupKeys(derived(cipher, &self.0, &[GROUP, &epoch]))
    }
}

/// A mote's own key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeKeys(Key);

impl NodeKeys {
    /// Those of the key in a mote's flash.
    pub const fn new(key: Key) -> Self {
        Self(key)
    }
    /// The key for a mote's flash.
    pub const fn key(&self) -> &Key {
        &self.0
    }
    /// For its objects.
    pub fn objects(&self, cipher: &mut (impl Cipher + ?Sized)) -> ObjectKeys {
        ObjectKeys {
            stream: derived(cipher, &self.0, &[STREAM]),
            tag: derived(cipher, &self.0, &[TAG]),
        }
    }
    /// For its messages, and those to it, in the session that `sink` began with this `number`.
    pub fn session(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        (sink, number): Numbered,
    ) -> SessionKeys {
        let (sink, number) = (sink.get().to_le_bytes(), number.to_le_bytes());
        let mut of = |label| derived(cipher, &self.0, &[label, &sink, &number]);
        SessionKeys {
            stream: of(SESSION_STREAM),
            tag: of(SESSION_TAG),
        }
    }
}

/// The key that all nodes share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKeys(Key);

impl GroupKeys {
    /// Those of the key in a mote's flash.
    pub const fn new(key: Key) -> Self {
        Self(key)
    }
    /// The key for a mote's flash.
    pub const fn key(&self) -> &Key {
        &self.0
    }
    /// The key of floods.
    pub fn floods(&self, cipher: &mut (impl Cipher + ?Sized)) -> Key {
        derived(cipher, &self.0, &[FLOOD])
    }
    /// For the MICs of a survey's beacons and reports, where `sink` announced it with this `number`.
    pub fn survey(&self, cipher: &mut (impl Cipher + ?Sized), (sink, number): Numbered) -> Key {
        self.numbered(cipher, SURVEY, (sink, number))
    }
    /// For the encryption of that survey's reports.
    pub fn reports(&self, cipher: &mut (impl Cipher + ?Sized), (sink, number): Numbered) -> Key {
        self.numbered(cipher, REPORT, (sink, number))
    }
    /// For requests and NACKs of the transfer to `sink` whose wake-up has this `number`.
    pub fn transfer(&self, cipher: &mut (impl Cipher + ?Sized), sink: NodeId, number: u32) -> Key {
        self.numbered(cipher, TRANSFER, (sink, number))
    }
    fn numbered(
        &self,
        cipher: &mut (impl Cipher + ?Sized),
        label: &[u8],
        (sink, number): Numbered,
    ) -> Key {
        let (sink, number) = (sink.get().to_le_bytes(), number.to_le_bytes());
        derived(cipher, &self.0, &[label, &sink, &number])
    }
}

/// A base station, and the number of an order of its own.
pub type Numbered = (NodeId, u32);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::seal::testing::hex;
    use crate::seal::SoftwareAes;
    use std::vec::Vec;

    fn node(id: u16) -> NodeId {
        NodeId::new(id).unwrap()
    }

    #[test]
    fn every_use_has_a_key_of_its_own() {
        let (aes, master) = (
            &mut SoftwareAes::default(),
            MasterKey::new(Key::new([7; 16])),
        );
        let mut all: Vec<Key> = Vec::new();
        for (id, generation) in [(1, 0), (1, 1), (256, 0), (257, 0)] {
            let own = master.node(aes, node(id), generation);
            let ObjectKeys { stream, tag } = own.objects(aes);
            all.extend([own.key().clone(), stream, tag]);
            for (sink, number) in [(1, 1), (1, 2), (2, 1), (256, 0)] {
                let SessionKeys { stream, tag } = own.session(aes, (node(sink), number));
                all.extend([stream, tag]);
            }
        }
        for epoch in [0, 1, 256] {
            let group = master.group(aes, epoch);
            all.extend([group.key().clone(), group.floods(aes)]);
            for (sink, number) in [(1, 1), (1, 2), (2, 1), (256, 0)] {
                let of = (node(sink), number);
                all.push(group.transfer(aes, of.0, of.1));
                all.extend([group.survey(aes, of), group.reports(aes, of)]);
            }
        }
        for (i, key) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|before| before != key), "key {i}");
        }
    }

    /// Keys in motes' flash were derived so: CMAC over "thalweg node" | 17, little-endian | 0.
    #[test]
    fn a_mote_that_was_given_its_key_keeps_it() {
        let (aes, master) = (
            &mut SoftwareAes::default(),
            Key::new(hex("000102030405060708090a0b0c0d0e0f")),
        );
        let by_hand = cmac(aes, &master, &[b"thalweg node\x11\x00\x00"]);
        let made = MasterKey::new(master).node(aes, node(17), 0);
        assert_eq!(made.key().expose(), &by_hand);
    }
}
