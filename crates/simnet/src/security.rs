//! The keys of a simulated network: drawn from its site's seed, so that one seed gives the same frames on every machine.

use std::sync::Arc;
use thalweg_host::security::{MemoryNumbers, NetworkKeys, Security};
use thalweg_medium::random::derive;
use thalweg_nrf52840::keys::KeyRecord;
use thalweg_testbeds::Site;
use thalweg_units::NodeId;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::{Key, MasterKey};

/// The keys of a simulated network of `seed`. They protect nothing: anybody can draw them.
pub fn simulated_keys(seed: u64) -> NetworkKeys {
    let half = |n| u128::from(derive(seed, "network key", &[n]));
    let bytes = (half(0) << 64 | half(1)).to_le_bytes();
    NetworkKeys::new(MasterKey::new(Key::new(bytes)))
}

/// What the flash of the real node `node` has of its network's `keys`.
pub fn key_record(keys: &NetworkKeys, node: NodeId) -> KeyRecord {
    KeyRecord {
        node,
        generation: keys.generation(node),
        epoch: keys.epoch(),
        own: keys.node(node),
        group: keys.group(),
    }
}

/// The security of `site`; none where its nodes have no keys.
pub fn simulated_security(site: &Site) -> Option<Security> {
    (site.sealing() == Sealing::Sealed).then(|| Security {
        keys: Arc::new(simulated_keys(site.seed)),
        numbers: Arc::new(MemoryNumbers::default()),
    })
}
