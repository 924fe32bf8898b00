//! Objects in memory: what a simulated node holds and receives. A mote would have flash instead.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_protocols::blocks::{recover, Blocks};
use thalweg_protocols::fountain::{Decoder, Encoder};
use thalweg_protocols::object::{Coded, ObjectInfo, ObjectStore, Part};

/// More than this is not received: 16,384 packets of 118 bytes.
const MAX_BYTES: usize = 16_384 * 118;

/// One node's object memory: the object that it offers, and the one that it receives.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    offered: Option<(Arc<[u8]>, ObjectInfo)>,
    received: Vec<u8>,
    /// Repair symbols that were made beforehand, and of what.
    repairs: Option<(Coded, BTreeMap<u16, Vec<u8>>)>,
    /// For the part and symbol length that were last asked for.
    encoder: Option<(Part, usize, Encoder)>,
    /// Symbols received; the decoder, once it was worth asking, has those before.
    symbols: Vec<(u16, Vec<u8>)>,
    decoder: Option<Decoder>,
}

/// The first eight bytes of an object's SHA-256: what a transfer carries to be compared.
pub fn digest(bytes: &[u8]) -> [u8; 8] {
    let mut short = [0; 8];
    short.copy_from_slice(&Sha256::digest(bytes)[..8]);
    short
}

impl Memory {
    /// Offers `object` from now on.
    pub fn offer(&mut self, object: Arc<[u8]>) {
        let len = u32::try_from(object.len()).unwrap_or(u32::MAX);
        let info = ObjectInfo {
            len,
            digest: digest(&object),
        };
        self.offered = Some((object, info));
        (self.encoder, self.repairs) = (None, None);
    }
    /// What is offered, and what was made of it beforehand.
    #[must_use]
    pub fn offer_alone(&self) -> Self {
        Self {
            offered: self.offered.clone(),
            repairs: self.repairs.clone(),
            ..Self::default()
        }
    }
    /// Takes over what was made of the same object beforehand.
    pub fn take_repairs(&mut self, of: &Self) {
        self.repairs.clone_from(&of.repairs);
    }
    /// Forgets what was received.
    pub fn clear(&mut self) {
        self.received.clear();
        self.symbols.clear();
        self.decoder = None;
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
        self.offered.as_ref().map_or(
            ObjectInfo {
                len: 0,
                digest: [0; 8],
            },
            |(_, info)| *info,
        )
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
    fn write(&mut self, offset: u32, bytes: &[u8]) {
        let (offset, end) = (offset as usize, offset as usize + bytes.len());
        if end > MAX_BYTES {
            return;
        }
        if self.received.len() < end {
            self.received.resize(end, 0);
        }
        self.received[offset..end].copy_from_slice(bytes);
    }
    fn codes(&self) -> bool {
        true
    }
    fn symbol(&mut self, part: Part, number: u16, into: &mut [u8]) {
        into.fill(0);
        let ready =
            matches!(&self.encoder, Some((p, size, _)) if (*p, *size) == (part, into.len()));
        if !ready {
            let mut bytes = vec![0; part.len as usize];
            self.read(part.offset, &mut bytes);
            let encoder = Encoder::new(&bytes, into.len());
            self.encoder = encoder.map(|encoder| (part, into.len(), encoder));
        }
        if let Some((.., encoder)) = &self.encoder {
            encoder.symbol(number, into);
        }
    }
    fn keep(&mut self, number: u16, symbol: &[u8]) {
        self.symbols.push((number, symbol.to_vec()));
    }
    fn decode(&mut self, part: Part) -> bool {
        if part.len == 0 {
            return true;
        }
        if self.decoder.is_none() {
            let size = self.symbols.first().map_or(0, |(_, symbol)| symbol.len());
            self.decoder = Decoder::new(part.len as usize, size);
        }
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        let symbols = self
            .symbols
            .iter()
            .map(|(number, symbol)| (*number, &symbol[..]));
        let whole = decoder.take(symbols);
        self.symbols.clear();
        match whole {
            Some(bytes) => {
                self.write(part.offset, &bytes);
                true
            }
            None => false,
        }
    }
    fn store_repair(&mut self, of: &Coded, number: u16, symbol: &[u8]) {
        match &mut self.repairs {
            Some((same, repairs)) if same == of => {
                repairs.insert(number, symbol.to_vec());
            }
            _ => self.repairs = Some((*of, BTreeMap::from([(number, symbol.to_vec())]))),
        }
    }
    fn stored_rows(&self, of: &Coded) -> u16 {
        let Some((_, repairs)) = self.repairs.as_ref().filter(|(same, _)| same == of) else {
            return 0;
        };
        let blocks = &of.blocks;
        let all = |row: &u16| {
            (0..blocks.count())
                .filter(|block| blocks.size(*block) > 0)
                .all(|block| repairs.contains_key(&blocks.repair(block, *row)))
        };
        (0..blocks.repairs())
            .find(|row| !all(row))
            .unwrap_or(blocks.repairs())
    }
    fn read_repair(&self, of: &Coded, number: u16, into: &mut [u8]) {
        into.fill(0);
        let kept = self.repairs.as_ref().filter(|(same, _)| same == of);
        if let Some(symbol) = kept.and_then(|(_, repairs)| repairs.get(&number)) {
            into.iter_mut().zip(symbol).for_each(|(to, b)| *to = *b);
        }
    }
    fn decode_blocks(&mut self, part: Part, blocks: &Blocks) -> bool {
        let symbols = self.symbols.drain(..).collect();
        match recover(blocks, &symbols) {
            Some(mut bytes) => {
                bytes.truncate(part.len as usize);
                self.write(part.offset, &bytes);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_back_from_any_of_its_symbols() {
        let (mut from, mut to) = (Memory::default(), Memory::default());
        let object: Vec<u8> = (0..1000u32).map(|i| (i * i / 7) as u8).collect();
        from.offer(Arc::from(&object[..]));
        let part = Part {
            offset: 100,
            len: 850,
        };
        let mut whole = false;
        for number in (3..).take_while(|n| *n < 40) {
            let mut symbol = [0; 50];
            from.symbol(part, number, &mut symbol);
            to.keep(number, &symbol);
            whole = number >= 3 + 16 && to.decode(part);
            if whole {
                break;
            }
        }
        assert!(whole);
        assert_eq!(to.take(950)[100..], object[100..950]);
        to.clear();
        assert!(!to.decode(part), "nothing is kept any more");
    }

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
        m.write(2, &[7, 8]);
        m.write(u32::MAX, &[1]);
        assert_eq!(m.take(3), [0, 0, 7]);
    }
}
