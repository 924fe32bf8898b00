//! A secured network at its host: its keys, and the numbers of its base stations' floods.
//!
//! Invariants: a number is reserved, and safe where it is kept, before a base station hears of it; no text shows a key. Tests:
//! `tests.rs`.

pub mod file;

use crate::network::{Layered, Network, NetworkFault, NetworkTime, NoticeOf};
use crate::object::Proof;
use crate::store::Store;
use crate::transfer::pipeline::Order;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_protocols::mote::Command;
use thalweg_protocols::seals::{Kept, Seals};
use thalweg_units::NodeId;
use thalweg_wire::seal::keys::Numbered;
use thalweg_wire::seal::session::SessionKeys;
use thalweg_wire::seal::{GroupKeys, MasterKey, NodeKeys, SoftwareAes};

/// Numbers that an order takes with it: no order's floods need more.
pub const NUMBERS: u16 = 128;

/// A network's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkKeys {
    master: MasterKey,
    epoch: u32,
    /// Of addresses whose motes were revoked.
    generations: BTreeMap<NodeId, u8>,
}

impl NetworkKeys {
    /// Those that come from `master`, in the first epoch.
    pub const fn new(master: MasterKey) -> Self {
        Self::of(master, 0, BTreeMap::new())
    }
    /// Those that come from `master` in an `epoch`, with the `generations` of motes that took a revoked one's address.
    pub const fn of(master: MasterKey, epoch: u32, generations: BTreeMap<NodeId, u8>) -> Self {
        Self {
            master,
            epoch,
            generations,
        }
    }
    /// The master, for where it is kept.
    pub const fn master(&self) -> &MasterKey {
        &self.master
    }
    /// Which group key is in use.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }
    /// The generations of addresses whose motes were revoked.
    pub const fn generations(&self) -> &BTreeMap<NodeId, u8> {
        &self.generations
    }
    /// The generation of `node`.
    pub fn generation(&self, node: NodeId) -> u8 {
        self.generations.get(&node).copied().unwrap_or(0)
    }
    /// The keys of `node`.
    pub fn node(&self, node: NodeId) -> NodeKeys {
        let generation = self.generation(node);
        (self.master).node(&mut SoftwareAes::default(), node, generation)
    }
    /// The key that all nodes share.
    pub fn group(&self) -> GroupKeys {
        self.master.group(&mut SoftwareAes::default(), self.epoch)
    }
    /// A node's seals when it is switched on for the first time.
    pub fn seals(&self) -> Seals<SoftwareAes> {
        Seals::new(SoftwareAes::default(), self.group(), Kept::default())
    }
    /// What shows that an object is `node`'s, and whole.
    pub fn proof(&self, node: NodeId) -> Proof {
        Proof::Tag(self.node(node).objects(&mut SoftwareAes::default()))
    }
    /// The keys of `node` in the session `of` a base station.
    pub fn session(&self, node: NodeId, of: Numbered) -> SessionKeys {
        self.node(node).session(&mut SoftwareAes::default(), of)
    }
    /// Revokes the mote at `node`: the others' next group key, and the next generation of its own. None where the numbers of
    /// either are used up.
    #[must_use]
    pub fn revoked(&self, node: NodeId) -> Option<Self> {
        let mut next = self.clone();
        next.epoch = next.epoch.checked_add(1)?;
        let generation = self.generation(node).checked_add(1)?;
        next.generations.insert(node, generation);
        Some(next)
    }
}

/// Where the numbers of floods are kept.
pub trait Numbers: Debug + Send + Sync {
    /// Reserves `count` numbers, none of which was reserved before, and returns the first.
    ///
    /// # Errors
    /// Why they are not safe.
    fn reserve(&self, count: u16) -> Result<u32, Box<dyn Error + Send + Sync>>;
}

/// Numbers of a network that lasts no longer than the program.
#[derive(Debug, Default)]
pub struct MemoryNumbers(AtomicU32);

impl Numbers for MemoryNumbers {
    fn reserve(&self, count: u16) -> Result<u32, Box<dyn Error + Send + Sync>> {
        let add = |last: u32| last.checked_add(count.into());
        let reserved = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
        // Numbers begin at 1.
        reserved
            .map(|last| last + 1)
            .map_err(|_| "no number of floods is left".into())
    }
}

/// Numbers of a network that outlives the program: in a store, on disk before they are used.
#[derive(Debug)]
pub struct StoredNumbers(Mutex<Store>);

impl StoredNumbers {
    /// Those of `store`.
    pub const fn new(store: Store) -> Self {
        Self(Mutex::new(store))
    }
}

impl Numbers for StoredNumbers {
    fn reserve(&self, count: u16) -> Result<u32, Box<dyn Error + Send + Sync>> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_secs() as i64);
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(store.reserve_numbers(count, now)?)
    }
}

/// A network whose orders take their floods' numbers with them, where it is secured.
pub struct WithNumbers<'a, N> {
    /// The network.
    pub network: &'a mut N,
    /// Its security.
    pub security: Option<&'a Security>,
}

impl<N: Network<Order = Order>> Layered for WithNumbers<'_, N> {
    type Inner = N;

    fn inner(&self) -> &N {
        self.network
    }
    fn inner_mut(&mut self) -> &mut N {
        self.network
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<N>, NetworkFault> {
        self.network.next(until)
    }
    fn pass_on(&mut self, station: NodeId, order: Order) -> Result<(), NetworkFault> {
        let before = self.security.map(|security| security.before(&order));
        if let Some(before) = before.transpose()?.flatten() {
            self.network.order(station, before)?;
        }
        self.network.order(station, order)
    }
}

/// A secured network.
#[derive(Debug, Clone)]
pub struct Security {
    /// Its keys.
    pub keys: Arc<NetworkKeys>,
    /// Its floods' numbers.
    pub numbers: Arc<dyn Numbers>,
}

impl Security {
    /// The number of a session that a base station begins.
    ///
    /// # Errors
    /// [`NetworkFault::Broken`] where it cannot be reserved.
    pub fn session_number(&self) -> Result<u32, NetworkFault> {
        Ok(self.numbers.reserve(NUMBERS)?)
    }
    /// What is to be ordered before `order`: its floods' numbers, if it has floods.
    ///
    /// # Errors
    /// [`NetworkFault::Broken`] where they cannot be reserved.
    pub fn before(&self, order: &Order) -> Result<Option<Order>, NetworkFault> {
        if !has_floods(order) {
            return Ok(None);
        }
        let (from, count) = (self.numbers.reserve(NUMBERS)?, NUMBERS);
        Ok(Some(Command::Numbers { from, count }))
    }
}

/// Whether `order` takes floods, which need numbers.
pub const fn has_floods(order: &Order) -> bool {
    !matches!(order, Command::Stop | Command::Numbers { .. })
}

#[cfg(test)]
mod tests;
