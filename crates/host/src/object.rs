//! Objects: the digest that shows whether one is whole, and a memory that holds them at a host or a simulated node. A
//! mote would have flash instead.

use crate::network::SourceCounts;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use thalweg_protocols::object::{NoRoom, ObjectInfo, ObjectStore};
use thalweg_wire::pipeline::{Format, MAX_PACKETS};
use thalweg_wire::seal::object::ObjectKeys;
use thalweg_wire::seal::SoftwareAes;

/// The most bytes that a memory receives: all packets of a transfer, at the largest size.
pub(crate) const MAX_BYTES: usize = MAX_PACKETS as usize * Format::Slim.max_payload() as usize;

/// What shows that an object is whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proof {
    /// Its digest, which anybody can compute.
    #[default]
    Digest,
    /// Its tag, under its node's keys: it is that node's, and travels encrypted.
    Tag(ObjectKeys),
}

impl Proof {
    /// Decrypts `bytes` in place, from `offset` on in the object of this `tag`. Objects with a digest are plain.
    pub fn open(&self, tag: &[u8; 8], offset: u32, bytes: &mut [u8]) {
        if let Self::Tag(keys) = self {
            keys.apply(&mut SoftwareAes::default(), tag, offset, bytes);
        }
    }
    /// Whether `object`, plain, is what its source said.
    pub fn holds(&self, told: &[u8; 8], object: &[u8]) -> bool {
        match self {
            Self::Digest => digest(object) == *told,
            Self::Tag(keys) => keys.is_whole(&mut SoftwareAes::default(), told, object),
        }
    }
    /// What a source stores of `object`, to be sent.
    fn sealed(&self, object: Arc<[u8]>) -> (Arc<[u8]>, ObjectInfo) {
        let Self::Tag(keys) = self else {
            let info = info(&object);
            return (object, info);
        };
        let aes = &mut SoftwareAes::default();
        let digest = keys.tag(aes, &object);
        let len = u32::try_from(object.len()).unwrap_or(u32::MAX);
        let mut sealed = object.to_vec();
        keys.apply(aes, &digest, 0, &mut sealed);
        (sealed.into(), ObjectInfo { len, digest })
    }
}

/// One node's object memory: the object that it offers, and the one that it receives.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    proof: Proof,
    offered: Option<(Arc<[u8]>, ObjectInfo)>,
    received: Vec<u8>,
}

/// The first eight bytes of an object's SHA-256: what a transfer carries to be compared.
pub fn digest(bytes: &[u8]) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&Sha256::digest(bytes)[..8]);
    short
}

/// The length and digest of an object.
pub fn info(object: &[u8]) -> ObjectInfo {
    ObjectInfo {
        len: u32::try_from(object.len()).unwrap_or(u32::MAX),
        digest: digest(object),
    }
}

impl Memory {
    /// A memory whose objects are offered with this `proof`.
    pub fn proving(proof: Proof) -> Self {
        Self {
            proof,
            ..Self::default()
        }
    }
    /// Offers `object` from now on: it is sealed here, where a mote writes it to flash.
    pub fn offer(&mut self, object: Arc<[u8]>) {
        self.offered = Some(self.proof.sealed(object));
    }
    /// Stops offering.
    pub fn withdraw(&mut self) {
        self.offered = None;
    }
    /// What survives a restart of its node: the object that it offers, which is in flash. What it has received is in
    /// RAM, as is the pipeline's list of packets.
    #[must_use]
    pub fn kept(&mut self) -> Self {
        Self {
            proof: self.proof.clone(),
            offered: self.offered.take(),
            received: Vec::new(),
        }
    }
    /// Takes what was received, cut to `len` bytes.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.received);
        bytes.truncate(len);
        bytes
    }
}

impl ObjectStore for Memory {
    fn info(&self) -> ObjectInfo {
        let offered = self.offered.as_ref();
        offered.map_or(ObjectInfo::NONE, |(_, info)| *info)
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        into.fill(0);
        let Some((bytes, _)) = &self.offered else {
            return;
        };
        let have = bytes.get(offset as usize..).unwrap_or(&[]);
        let n = have.len().min(into.len());
        into[..n].copy_from_slice(&have[..n]);
    }
    fn begin(&mut self) {
        self.received.clear();
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        let (offset, end) = (offset as usize, offset as usize + bytes.len());
        // Padding behind the longest object.
        if end > MAX_BYTES {
            return Ok(());
        }
        if self.received.len() < end {
            self.received.resize(end, 0);
        }
        self.received[offset..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// A node whose objects are in a [`Memory`], as a simulated one's are.
pub trait Holds {
    /// Its memory.
    fn memory(&mut self) -> &mut Memory;
    /// It has restarted, and has what was in flash `before`.
    fn resume(&mut self, before: &mut Self) {
        *self.memory() = before.memory().kept();
    }
    /// What it counted of its last transfer as a source of pipelines.
    fn source_counts(&self) -> Option<SourceCounts> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_padded_and_what_is_written_is_cut() {
        let mut m = Memory::default();
        assert_eq!(m.info().len, 0);
        m.offer(Arc::from(&[1u8, 2, 3][..]));
        let mut buf = [9; 4];
        m.read(1, &mut buf);
        assert_eq!(buf, [2, 3, 0, 0]);
        m.read(7, &mut buf);
        assert_eq!(buf, [0; 4]);
        m.write(2, &[7, 8]).unwrap();
        m.write(u32::MAX, &[1]).unwrap();
        assert_eq!(m.take(3), [0, 0, 7]);
        m.write(0, &[7, 8]).unwrap();
        m.begin();
        assert!(m.take(3).is_empty());
        m.write(0, &[7, 8]).unwrap();
        let mut kept = m.kept();
        assert_eq!((kept.info().len, kept.take(3).len()), (3, 0));
    }
}
