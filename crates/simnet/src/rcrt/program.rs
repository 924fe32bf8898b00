//! Which program a node of a run has above its stack, and its seals. Tests: `gather/tests.rs`.

use super::mote::{Program, Seals};
use super::setup::{Setup, Transport};
use thalweg_host::security::NetworkKeys;
use thalweg_protocols::rcrt::source::{Source, Supply};
use thalweg_protocols::rcrt::Base;
use thalweg_protocols::seals::SessionSeals;
use thalweg_protocols::stack::{Application, Readings};
use thalweg_units::NodeId;
use thalweg_wire::rcrt::DATA_HEADER_BYTES;
use thalweg_wire::seal::SoftwareAes;

/// What node `id` has of `keys` in the session of `setup`, where that is sealed.
pub(super) fn seals(setup: &Setup, keys: &NetworkKeys, id: NodeId) -> Option<Seals> {
    let keys = setup.sealed.map(|of| keys.session(id, of));
    keys.map(|keys| SessionSeals::new(SoftwareAes::default(), keys))
}

/// The program of node `n`.
pub(super) fn program<S: Supply>(
    setup: &Setup,
    n: usize,
    supply: impl FnOnce() -> S,
    seals: Option<Seals>,
) -> Program<S> {
    let bytes = usize::from(setup.payload_bytes);
    if setup.bases.contains(&n) {
        return Program::Base(Box::new(Base::new()));
    }
    match setup.transport {
        // As many bytes on the air as with a transport.
        Transport::BestEffort => Program::Readings(Readings::new(
            Application::Insists,
            bytes + DATA_HEADER_BYTES,
        )),
        Transport::Ifrc => Program::Readings(Readings::new(Application::Fills, bytes)),
        Transport::Rcrt(_) => {
            Program::Source(Box::new(Source::sealed(setup.source, supply(), seals)))
        }
    }
}
