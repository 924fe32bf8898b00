//! The upper tier of an experiment: the sinks, and gateways that hand packets on to them (RCRT, section 4.2.4).
//!
//! Each sink receives from all nodes, over any base station. Links between
//! gateways (802.11b) lose nothing and take no time: they carry ten times what the motes' channel does.

use super::outcome::Outcome;
use super::setup::{self, Setup, Transport};
use std::collections::BTreeMap;
use thalweg_protocols::rcrt::sink::{policy, Sink};
use thalweg_protocols::rcrt::Send;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::Up;

/// The sinks of an experiment.
pub(super) struct Sinks {
    pub(super) sinks: Vec<Sink>,
    /// The base station of each node's last packet.
    via: BTreeMap<NodeId, usize>,
}

impl Sinks {
    /// Those of `setup`.
    pub(super) fn of(setup: &Setup) -> Self {
        let sinks = match &setup.transport {
            Transport::Rcrt(sinks) => &sinks[..],
            Transport::BestEffort | Transport::Ifrc => &[],
        };
        let sink =
            |s: &setup::Sink| policy::named(&s.policy).map(|policy| Sink::new(s.config, policy));
        Self {
            sinks: sinks.iter().filter_map(sink).collect(),
            via: BTreeMap::new(),
        }
    }
    /// Packet of `origin` at base station `base`.
    pub(super) fn receive(&mut self, now: Instant, base: usize, origin: NodeId, message: &[u8]) {
        self.via.insert(origin, base);
        let sink = Up::parse(message).map(|up| usize::from(up.flow.sink));
        let sink = sink.ok().and_then(|sink| self.sinks.get_mut(sink));
        if let Some(sink) = sink {
            sink.handle_packet(now, origin, message);
        }
    }
    /// When [`Self::handle_timeout`] is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.sinks.iter().filter_map(Sink::poll_timeout).min()
    }
    /// That instant has come.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        for sink in &mut self.sinks {
            sink.handle_timeout(now);
        }
    }
    /// The next message down, and the base station that sends it.
    pub(super) fn poll_message(&mut self, now: Instant) -> Option<(usize, Send)> {
        let mut messages = self.sinks.iter_mut().filter_map(|s| s.poll_message(now));
        let (to, message) = messages.next()?;
        let base = self.via.get(&to).copied()?;
        Some((base, Send { to, message }))
    }
    /// Notes events of the sinks.
    pub(super) fn report(&mut self, now: Instant, outcome: &mut Outcome) {
        for sink in &mut self.sinks {
            while let Some(event) = sink.poll_event() {
                outcome.sink_event(now, &event);
            }
        }
    }
}
