//! What encrypts a recording where it is handed out: its node's keys, the chip's cipher, and the packet that is due next.
//!
//! A recording's tag is known once it ends, and the key stream begins with it. So flash has plain bytes. A source reads a packet
//! within a gap, and encrypting takes the rest of that: [`Veil::prepare`] does it before. Invariant: a byte leaves through
//! here only, encrypted. Tests: `tests/all/recording.rs`.

use super::sealed::read;
use super::{Recording, Sealed};
use crate::ecb::Ecb;
use crate::flash::Flash;
use crate::Registers;
use core::cell::RefCell;
use thalweg_wire::phy::MAX_MPDU;
use thalweg_wire::seal::cmac::Mac;
use thalweg_wire::seal::object::{ObjectKeys, Tag};

/// Bytes of a recording, encrypted.
#[derive(Debug)]
struct Ready {
    tag: Tag,
    offset: u32,
    len: usize,
    bytes: [u8; MAX_MPDU],
}

/// A node's keys for its objects, and a cipher.
#[derive(Debug)]
pub struct Veil<R> {
    keys: ObjectKeys,
    ecb: Ecb<R>,
    ready: RefCell<Ready>,
}

impl<R: Registers + Clone> Veil<R> {
    /// The veil of a node with these `keys`.
    pub const fn new(keys: ObjectKeys, ecb: Ecb<R>) -> Self {
        let ready = RefCell::new(Ready {
            tag: [0; 8],
            offset: 0,
            len: 0,
            bytes: [0; MAX_MPDU],
        });
        Self { keys, ecb, ready }
    }

    /// The tag of a recording that is whole in flash.
    pub(super) fn tag(&mut self, r: &mut R, flash: Flash, sealed: &Sealed) -> Tag {
        let (mut tag, mut room, mut at) = (Mac::default(), [0; 64], 0);
        while at < sealed.info.len {
            let bytes = room.len().min((sealed.info.len - at) as usize);
            let chunk = room.get_mut(..bytes).unwrap_or_default();
            read(r, flash, sealed, at, chunk);
            self.add(&mut tag, chunk);
            at += bytes as u32;
        }
        self.finish(tag)
    }
    /// Adds `bytes` of a recording that is being written to its `tag`.
    pub(super) fn add(&mut self, tag: &mut Mac, bytes: &[u8]) {
        self.keys.add(&mut self.ecb, tag, bytes);
    }
    /// The tag of a recording whose bytes were all added.
    pub(super) fn finish(&mut self, tag: Mac) -> Tag {
        self.keys.tag_of(&mut self.ecb, tag)
    }

    /// Reads what is handed out; what the recording has not is 0.
    pub(super) fn read(
        &self,
        r: &R,
        flash: Flash,
        sealed: Option<Sealed>,
        offset: u32,
        into: &mut [u8],
    ) {
        let Some(sealed) = sealed else {
            return into.fill(0);
        };
        let left = sealed.info.len.saturating_sub(offset) as usize;
        let (into, beyond) = into.split_at_mut(left.min(into.len()));
        beyond.fill(0);
        self.prepare(r, flash, &sealed, (offset, into.len()));
        let ready = self.ready.borrow();
        match ready.bytes.get(..into.len()) {
            Some(bytes) if ready.has(&sealed, offset, into.len()) => into.copy_from_slice(bytes),
            _ => self.encrypted(r, flash, &sealed, (offset, into)),
        }
    }
    /// Encrypts up to `len` bytes from `offset` on, where that was not done before.
    pub(super) fn prepare(
        &self,
        r: &R,
        flash: Flash,
        sealed: &Sealed,
        (offset, len): (u32, usize),
    ) {
        let left = sealed.info.len.saturating_sub(offset) as usize;
        let len = len.min(left);
        let Ok(mut ready) = self.ready.try_borrow_mut() else {
            return;
        };
        if ready.has(sealed, offset, len) {
            return;
        }
        let Some(bytes) = ready.bytes.get_mut(..len) else {
            return;
        };
        self.encrypted(r, flash, sealed, (offset, bytes));
        (ready.tag, ready.offset, ready.len) = (sealed.info.digest, offset, len);
    }
    fn encrypted(&self, r: &R, flash: Flash, sealed: &Sealed, (offset, into): (u32, &mut [u8])) {
        read(&mut r.clone(), flash, sealed, offset, into);
        let (cipher, tag) = (&mut self.ecb.clone(), &sealed.info.digest);
        self.keys.apply(cipher, tag, offset, into);
    }
}

impl Ready {
    fn has(&self, sealed: &Sealed, offset: u32, len: usize) -> bool {
        self.tag == sealed.info.digest && self.offset == offset && len <= self.len
    }
}

impl<R: Registers + Clone> Recording<'_, R> {
    /// The node has keys: recordings are plain in flash, with their digests as ever, and handed out encrypted, with their
    /// tags. Called before anything is recorded; it reads the newest recording once more.
    pub fn set_veil(&mut self, mut veil: Veil<R>) {
        if let Some(sealed) = &mut self.sealed {
            sealed.info.digest = veil.tag(&mut self.r, self.flash, sealed);
        }
        // Its tag would lack what was recorded before.
        (self.open, self.waiting) = (None, 0);
        self.veil = Some(veil);
    }

    /// Encrypts `bytes` bytes from `offset` on ahead of their time, where that is to be done: 90 us for a packet, of which its
    /// source has no more than that when it is due.
    pub fn encrypt_ahead(&self, (offset, bytes): (u32, usize)) {
        let sealed = self.served.get().or(self.sealed);
        if let (Some(veil), Some(sealed)) = (&self.veil, sealed) {
            veil.prepare(&self.r, self.flash, &sealed, (offset, bytes));
        }
    }
}
