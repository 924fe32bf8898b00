//! The fountain code of a transfer without rounds: RaptorQ (RFC 6330), one source block, systematic.
//!
//! Symbol `n` of `k` is the n-th piece of the part as long as n < k, then repair; any k symbols do
//! almost always (one failure in a hundred, and in ten thousand with one symbol more). For gateways
//! and for sources with memory for the whole block, which a TelosB has not (docs/variants.md).
//! Tests: at the end of this file.

use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder,
};
use std::vec::Vec;

/// The most symbols of a part: what RaptorQ's one block takes.
pub const MAX_SYMBOLS: usize = 56_403;

/// One source block without sub-blocks or alignment.
fn information(len: usize, symbol_bytes: usize) -> Option<ObjectTransmissionInformation> {
    let size = u16::try_from(symbol_bytes).ok().filter(|size| *size > 0)?;
    let fits = len > 0 && len.div_ceil(symbol_bytes) <= MAX_SYMBOLS;
    fits.then(|| ObjectTransmissionInformation::new(len as u64, size, 1, 1, 1))
}

/// Makes symbols of bytes.
#[derive(Debug, Clone)]
pub struct Encoder {
    bytes: Vec<u8>,
    symbol_bytes: usize,
    block: SourceBlockEncoder,
}

impl Encoder {
    /// Of `bytes` in symbols of `symbol_bytes`; none for no bytes, and for more symbols than
    /// [`MAX_SYMBOLS`].
    pub fn new(bytes: &[u8], symbol_bytes: usize) -> Option<Self> {
        let information = information(bytes.len(), symbol_bytes)?;
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().div_ceil(symbol_bytes) * symbol_bytes, 0);
        let block = SourceBlockEncoder::new(0, &information, &bytes);
        Some(Self {
            bytes,
            symbol_bytes,
            block,
        })
    }
    /// Fills `into` with symbol `number`; what is beyond a symbol's length is left alone.
    pub fn symbol(&self, number: u16, into: &mut [u8]) {
        let symbols = self.bytes.len() / self.symbol_bytes;
        let from = usize::from(number) * self.symbol_bytes;
        if let Some(own) = self.bytes.get(from..from + self.symbol_bytes) {
            copy(own, into);
            return;
        }
        let repair = usize::from(number).saturating_sub(symbols);
        let packets = self.block.repair_packets(repair as u32, 1);
        if let Some(packet) = packets.first() {
            copy(packet.data(), into);
        }
    }
}

fn copy(from: &[u8], into: &mut [u8]) {
    into.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Makes bytes of symbols.
#[derive(Clone)]
pub struct Decoder {
    len: usize,
    symbol_bytes: usize,
    block: SourceBlockDecoder,
}

impl Decoder {
    /// For `len` bytes in symbols of `symbol_bytes`; none where [`Encoder::new`] would give none.
    pub fn new(len: usize, symbol_bytes: usize) -> Option<Self> {
        let information = information(len, symbol_bytes)?;
        let padded = len.div_ceil(symbol_bytes) * symbol_bytes;
        Some(Self {
            len,
            symbol_bytes,
            block: SourceBlockDecoder::new(0, &information, padded as u64),
        })
    }
    /// Takes symbols, and gives the bytes once there are enough. Symbols of another length, and
    /// such as were taken before, count for nothing.
    pub fn take<'a>(
        &mut self,
        symbols: impl IntoIterator<Item = (u16, &'a [u8])>,
    ) -> Option<Vec<u8>> {
        let packets: Vec<EncodingPacket> = symbols
            .into_iter()
            .filter(|(_, symbol)| symbol.len() == self.symbol_bytes)
            .map(|(number, symbol)| {
                EncodingPacket::new(PayloadId::new(0, u32::from(number)), symbol.to_vec())
            })
            .collect();
        let mut bytes = self.block.decode(packets)?;
        bytes.truncate(self.len);
        Some(bytes)
    }
}

impl core::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut out = f.debug_struct("Decoder");
        out.field("len", &self.len)
            .field("symbol_bytes", &self.symbol_bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
    }

    #[test]
    fn any_symbols_do_if_there_are_a_few_more_than_the_object_has() {
        for (len, size) in [(1, 118), (118, 118), (5_000, 121), (3_001, 7)] {
            let object = bytes(len);
            let encoder = Encoder::new(&object, size).unwrap();
            let mut decoder = Decoder::new(len, size).unwrap();
            // Every third symbol is lost, the object's own as well as repair.
            let mut taken = 0;
            let whole = (0u16..).filter(|n| n % 3 != 1).find_map(|number| {
                let mut symbol = std::vec![0; size];
                encoder.symbol(number, &mut symbol);
                taken += 1;
                decoder.take([(number, &symbol[..])])
            });
            assert!(whole == Some(object), "{len} {size}");
            assert!(taken <= len.div_ceil(size) + 2, "{taken}");
        }
    }

    #[test]
    fn the_first_symbols_are_the_bytes_themselves() {
        let object = bytes(25);
        let encoder = Encoder::new(&object, 10).unwrap();
        let mut symbol = [9; 10];
        encoder.symbol(2, &mut symbol);
        assert_eq!(symbol[..5], object[20..]);
        assert_eq!(symbol[5..], [0; 5]);
    }

    #[test]
    fn nonsense_is_no_code_and_no_panic() {
        assert!(Encoder::new(&[], 10).is_none());
        assert!(Encoder::new(&[1], 0).is_none());
        assert!(Decoder::new(MAX_SYMBOLS + 1, 1).is_none());
        let mut decoder = Decoder::new(20, 10).unwrap();
        assert_eq!(decoder.take([(0, &[1, 2][..])]), None);
        let same = [7u8; 10];
        assert_eq!(decoder.take([(0, &same[..]), (0, &same[..])]), None);
        assert_eq!(decoder.take([(1, &same[..])]), Some(std::vec![7; 20]));
    }
}
