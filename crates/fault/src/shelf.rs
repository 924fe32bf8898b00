//! A node's objects, with a note of what was not ordered. Tests: `run_tests.rs`.

use std::cell::Cell;
use std::sync::Arc;
use thalweg_host::object::{Memory, Proof};
use thalweg_host::transfer::pipeline::MAX_NODES;
use thalweg_protocols::member::{Member, Packets};
use thalweg_protocols::mote::Mote;
use thalweg_protocols::object::{Lends, NoRoom, ObjectInfo, ObjectStore};
use thalweg_protocols::rcrt::source::Source;
use thalweg_protocols::rcrt::Base;
use thalweg_protocols::seals::Seals;
use thalweg_wire::seal::SoftwareAes;

/// The node of a scenario without sessions.
pub(crate) type Node = Mote<Shelf, 160, MAX_NODES, Option<Seals<SoftwareAes>>>;
/// The base station of one with sessions.
pub(crate) type Station = Member<Shelf, Base, 160, MAX_NODES>;
/// Another node of such a scenario.
pub(crate) type Sensor = Member<Shelf, Source<Packets<Memory>>, 160, MAX_NODES>;

/// What a node may do with its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum May {
    /// Nothing: no order names it.
    #[default]
    Nothing,
    /// Read its object out: an order fetches it.
    Read,
    /// Take an object in: it is the base station.
    Write,
    /// Try to take one in: it is an outsider's, and must get none.
    Ask,
}

/// One node's objects.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    memory: Memory,
    may: May,
    /// What it did without an order.
    did: Cell<Option<&'static str>>,
}

impl Shelf {
    /// One whose objects have this `proof`.
    pub(crate) fn proving(proof: Proof) -> Self {
        Self {
            memory: Memory::proving(proof),
            ..Self::default()
        }
    }
    /// From now on it may do that.
    pub(crate) const fn allow(&mut self, may: May) {
        self.may = may;
    }
    /// Offers `object` from now on.
    pub(crate) fn offer(&mut self, object: Arc<[u8]>) {
        self.memory.offer(object);
    }
    /// The first `len` bytes that it received.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        self.memory.take(len)
    }
    /// What it did without an order since the last look.
    pub(crate) fn unordered(&self) -> Option<&'static str> {
        self.did.get()
    }
    /// What a restart leaves.
    pub(crate) fn kept(&mut self) -> Self {
        Self {
            memory: self.memory.kept(),
            may: self.may,
            did: Cell::new(self.did.get()),
        }
    }
    fn check(&self, needed: May, did: &'static str) {
        if self.may != needed {
            self.did.set(Some(did));
        }
    }
}

impl Lends for Shelf {
    type Loan = Memory;

    fn lend(&self) -> Memory {
        self.check(May::Read, "took part in a session");
        self.memory.clone()
    }
}

impl ObjectStore for Shelf {
    fn info(&self) -> ObjectInfo {
        self.memory.info()
    }
    fn read(&self, offset: u32, into: &mut [u8]) {
        self.check(May::Read, "read its object out");
        self.memory.read(offset, into);
    }
    fn begin(&mut self) {
        if self.may != May::Ask {
            self.check(May::Write, "began to take an object in");
        }
        self.memory.begin();
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NoRoom> {
        self.check(May::Write, "took an object in");
        self.memory.write(offset, bytes)
    }
}
