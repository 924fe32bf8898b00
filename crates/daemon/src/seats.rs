//! Seats for connections: so many at once, fewer for one address, and some that only this machine takes.
//!
//! Whoever finds none is turned away at once: a queue of strangers would keep everybody else out. Invariant: a seat is
//! free again when its connection is dropped. Tests: `seats_tests.rs`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at once.
const ALL: usize = 256;
/// Of these so many are left to this machine: a proxy, a monitor, the command line.
const KEPT: usize = 32;
/// Connections of one address.
const EACH: usize = 64;

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<IpAddr, usize>,
}

/// All seats.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats(Arc<Mutex<Taken>>);

/// One that is taken.
#[derive(Debug)]
pub(super) struct Seat {
    of: Seats,
    house: IpAddr,
}

impl Seats {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for `peer`, where there is one.
    pub(super) fn take(&self, peer: IpAddr) -> Option<Seat> {
        let house = house(peer);
        let is_own = house.is_loopback();
        let most = if is_own { ALL } else { ALL - KEPT };
        let mut taken = self.taken();
        let by = taken.by.get(&house).copied().unwrap_or(0);
        if taken.all >= most || (!is_own && by >= EACH) {
            return None;
        }
        taken.all += 1;
        taken.by.insert(house, by + 1);
        let of = self.clone();
        Some(Seat { of, house })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.all = taken.all.saturating_sub(1);
        let by = taken.by.get(&self.house).copied().unwrap_or(0);
        match by {
            0 | 1 => taken.by.remove(&self.house),
            _ => taken.by.insert(self.house, by - 1),
        };
    }
}

/// What counts as one address: with IPv6 whoever has one has 2^64 (RFC 4291, 2.5.1).
fn house(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            let network = u128::from(v6) >> 64 << 64;
            IpAddr::V6(network.into())
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "seats_tests.rs"]
mod tests;
