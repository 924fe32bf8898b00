//! Whether receivers lose the same packets: one initiator, ten relays that repeat each packet
//! together, ten receivers of the second hop, Pearson's coefficient over packets for every pair of
//! receivers (P3, Table II).
//!
//! Owns the keys of `kind = "correlation"` and its rows. A pair one of which received everything or
//! nothing has no coefficient and no row. Only the relays' transmissions count as receptions.
//! Tests: below and `tests.rs`.

use super::context::{rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::link_channels::probes;
use super::sites::faithful_survey;
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row, SEED};
use thalweg_medium::random::derive;
use thalweg_simnet::probe::{Order, Train};
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration};

keys! {
    "correlation",
    /// Receptions of the same synchronous transmissions at several receivers.
    pub struct Correlation {
        /// Testbed, by name or file; its sink begins every flood.
        pub testbed: String;
        /// Channels, one after the other.
        pub channels: Vec<u8>, 11..=26;
        /// Nodes that repeat together: those that hear the initiator best.
        pub relays: usize, 1..=100;
        /// Nodes compared: those that hear it least.
        pub receivers: usize, 2..=100;
        /// Packets per channel.
        pub packets: u32, 2..=1_000_000;
        /// From one packet to the next, in milliseconds.
        pub interval_ms: u64, 20..=60_000;
    }
}

/// The channel that decides which nodes are the initiator's neighbours.
const SURVEY_CHANNEL: Channel = Channel::LAST;

/// Who does what.
struct Roles {
    initiator: usize,
    relays: Vec<usize>,
    receivers: Vec<usize>,
}

impl Kind for Correlation {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            channel: Whole, "Channel.";
            packets: Whole, "Packets sent.";
            receiver: Whole, "Number of the receiver, from 1 on.";
            prr: Number, "Share of the packets that it received.";
            a: Whole, "The first of two receivers that are compared.";
            b: Whole, "The second.";
            correlation: Number, "Pearson's coefficient of their receptions; none where one had all or nothing.";
        }])
    }

    fn parts(&self) -> u64 {
        self.channels.len() as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let site = context.site(&self.testbed, seed)?;
        let roles = self.roles(&site, context)?;
        rows_in_order(&self.channels, |number| {
            let channel = Channel::new(*number).unwrap_or(SURVEY_CHANNEL);
            context.part(|| self.channel_rows(&site, &roles, channel))
        })
    }
}

impl Correlation {
    fn roles(&self, site: &Site, context: &RunContext<'_>) -> Result<Roles> {
        let (initiator, nodes) = (site.testbed.sink_index(), site.testbed.len());
        let (relays, receivers) = (self.relays, self.receivers);
        let needed = 1 + relays + receivers;
        if nodes < needed {
            let why = format!("{nodes} nodes; an initiator, {relays} relays and {receivers} receivers need {needed}");
            return Err(ExperimentError::unfit(site, why));
        }
        let survey = faithful_survey(SURVEY_CHANNEL);
        let links = &context.survey(&self.testbed, site, survey)?.links;
        let heard = |n: usize| {
            let level = links.rssi(initiator, n, SURVEY_CHANNEL);
            let level = level.map_or(f64::NEG_INFINITY, |l| l.0);
            (links.prr(initiator, n, SURVEY_CHANNEL), level)
        };
        let mut others: Vec<usize> = (0..nodes).filter(|n| *n != initiator).collect();
        others.sort_by(|a, b| {
            let (a, b) = (heard(*a), heard(*b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        let receivers = others.split_off(others.len() - self.receivers);
        others.truncate(self.relays);
        Ok(Roles {
            initiator,
            relays: others,
            receivers,
        })
    }

    fn channel_rows(&self, site: &Site, roles: &Roles, channel: Channel) -> Result<Vec<Row>> {
        let seed = derive(site.seed, "correlation", &[u64::from(channel.number())]);
        let mut net = probes(site, seed)?;
        for &relay in &roles.relays {
            net.command(relay, Order::Relay(channel));
        }
        for &receiver in &roles.receivers {
            net.command(receiver, Order::Receive(channel));
        }
        let count = self.packets;
        let train = Train {
            channel,
            count,
            interval: Duration::from_millis(self.interval_ms),
        };
        let mut got = vec![vec![false; count as usize]; roles.receivers.len()];
        net.send(roles.initiator, train, &mut |node, number, relay| {
            let receiver = roles.receivers.iter().position(|r| *r == node);
            let receiver = receiver.filter(|_| relay == 1);
            if let Some(cell) = receiver.and_then(|r| got[r].get_mut(number as usize)) {
                *cell = true;
            }
        })?;
        let row = || {
            Row::new()
                .with(SEED, site.seed)
                .with("channel", u32::from(channel.number()))
                .with("packets", count)
        };
        let mut rows = Vec::new();
        for (a, first) in got.iter().enumerate() {
            let prr = first.iter().filter(|g| **g).count() as f64 / f64::from(count);
            rows.push(row().with("receiver", a + 1).with("prr", prr));
            for (b, second) in got.iter().enumerate().skip(a + 1) {
                let row = || row().with("a", a + 1).with("b", b + 1);
                rows.extend(pearson(first, second).map(|r| row().with("correlation", r)));
            }
        }
        Ok(rows)
    }
}

/// Pearson's coefficient of two series of outcomes; none where one of them does not vary.
fn pearson(a: &[bool], b: &[bool]) -> Option<f64> {
    let n = a.len().min(b.len()) as f64;
    let count = |which: &dyn Fn((&bool, &bool)) -> bool| {
        a.iter().zip(b).filter(|pair| which(*pair)).count() as f64
    };
    let (pa, pb) = (count(&|p| *p.0) / n, count(&|p| *p.1) / n);
    let both = count(&|p| *p.0 && *p.1) / n;
    let variance = pa * (1.0 - pa) * pb * (1.0 - pb);
    (variance > 0.0).then(|| (both - pa * pb) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pearsons_coefficient() {
        let a = [true, true, false, false];
        assert_eq!(pearson(&a, &a), Some(1.0));
        assert_eq!(pearson(&a, &[false, false, true, true]), Some(-1.0));
        assert_eq!(pearson(&a, &[true, false, true, false]), Some(0.0));
        assert_eq!(pearson(&a, &[true; 4]), None);
    }
}
