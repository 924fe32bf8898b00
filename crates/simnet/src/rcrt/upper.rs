//! The upper tier: what runs beside the base stations, and gateways that hand packets on to sinks (RCRT, section
//! 4.2.4).
//!
//! Each sink receives from all nodes, whichever base station their packets came in at. Links between
//! gateways (802.11b) lose nothing and take no time: they carry ten times what the motes' channel does.

use super::mote::Synthetic;
use super::outcome::Outcome;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use thalweg_protocols::rcrt::sink::Sink;
use thalweg_protocols::rcrt::Send;
use thalweg_units::{Instant, NodeId};
use thalweg_wire::rcrt::Up;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Routes settle.
    Settling {
        /// Sources that have a way to a base station.
        routed: usize,
        /// Sources.
        of: usize,
    },
    /// Flows go on.
    Running,
}

/// What runs beside the base stations of a run.
pub(crate) trait Upper {
    /// Its sinks.
    fn sinks(&self) -> &[Sink];
    /// Routes have settled.
    fn begin(&mut self, _now: Instant) {}
    /// Packet of `origin` at base station `base`.
    fn receive(&mut self, now: Instant, base: usize, origin: NodeId, message: &[u8]);
    /// When [`Self::handle_timeout`] is due.
    fn poll_timeout(&self) -> Option<Instant>;
    /// That instant has come.
    fn handle_timeout(&mut self, now: Instant);
    /// The next message down, and the base station that sends it.
    fn poll_message(&mut self, now: Instant) -> Option<(usize, Send)>;
    /// Notes what sinks tell.
    fn tell(&mut self, now: Instant, outcome: &mut Outcome);
    /// Whether the run is over.
    fn is_over(&self, now: Instant, outcome: &Outcome) -> bool;
    /// Is shown how far the run is, once a second of it; may break off.
    fn look(&mut self, _now: Instant, _stage: Stage) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Sinks of an experiment, whose packets are known beforehand.
pub(super) struct Sinks {
    sinks: Vec<Sink>,
    /// Which base station a node's last packet came in at.
    via: BTreeMap<NodeId, usize>,
}

impl Sinks {
    pub(super) const fn new(sinks: Vec<Sink>) -> Self {
        let via = BTreeMap::new();
        Self { sinks, via }
    }
}

impl Upper for Sinks {
    fn sinks(&self) -> &[Sink] {
        &self.sinks
    }
    fn receive(&mut self, now: Instant, base: usize, origin: NodeId, message: &[u8]) {
        self.via.insert(origin, base);
        let sink = Up::parse(message).map(|up| usize::from(up.flow.sink));
        let sink = sink.ok().and_then(|sink| self.sinks.get_mut(sink));
        if let Some(sink) = sink {
            sink.handle_packet(now, origin, message);
        }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.sinks.iter().filter_map(Sink::poll_timeout).min()
    }
    fn handle_timeout(&mut self, now: Instant) {
        for sink in &mut self.sinks {
            sink.handle_timeout(now);
        }
    }
    fn poll_message(&mut self, now: Instant) -> Option<(usize, Send)> {
        let mut messages = self.sinks.iter_mut().filter_map(|s| s.poll_message(now));
        let (to, message) = messages.next()?;
        let base = self.via.get(&to).copied()?;
        Some((base, Send { to, message }))
    }
    fn tell(&mut self, now: Instant, outcome: &mut Outcome) {
        for sink in &mut self.sinks {
            while let Some(event) = sink.poll_event() {
                outcome.note(now, &event, Synthetic::is);
            }
        }
    }
    fn is_over(&self, _now: Instant, outcome: &Outcome) -> bool {
        outcome.is_over()
    }
}
