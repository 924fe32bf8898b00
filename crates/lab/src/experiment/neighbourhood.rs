//! `kind = "neighbourhood"`: how many nodes hear a transmission (Fusion, section 2.3.4). One node after
//! the other sends a train of broadcast probes, alone on the air; the size of a neighbourhood is the
//! expected number of nodes that hear a probe (equation 2.2). Tests: `tests.rs`.

use super::context::{rows_in_order, RunContext};
use super::keys::keys;
use super::kind::{with_seed, Kind};
use super::{ExperimentError, Result};
use crate::results::{columns, Column, Row, SEED};
use std::ops::ControlFlow::Continue;
use thalweg_engine::{
    Ability, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants, When,
};
use thalweg_medium::ether::Ether;
use thalweg_medium::ether::Reach;
use thalweg_medium::random::derive;
use thalweg_sim::Network;
use thalweg_simnet::convergecast::stack;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Dbm, Duration, Instant, NodeId};
use thalweg_wire::addressed::Header;
use thalweg_wire::FrameBuf;

keys! {
    "neighbourhood",
    /// How many nodes hear a transmission, by power.
    pub struct Neighbourhood {
        /// Testbed, by name or file.
        pub testbed: String;
        /// Nominal transmit powers, dBm.
        pub powers_dbm: Vec<f64>, -30..=20;
        /// Probes of each node.
        pub probes: u32, 1..=10_000;
        /// Bytes of a probe, check sequence included.
        pub frame_bytes: u8, 12..=127;
    }
}

/// A node: sends a probe on command, reports what it hears.
struct Beeper {
    id: NodeId,
    channel: Channel,
    frame: FrameBuf,
    listen: bool,
    send: bool,
    heard: Option<NodeId>,
}

impl Engine for Beeper {
    type Command = ();
    /// Whose probe was heard.
    type Event = NodeId;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[Ability::Stream]))
    }
    fn handle_command(&mut self, _now: Instant, (): ()) {
        self.send = true;
    }
    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        if let RadioEvent::Frame { mpdu, .. } = event {
            let header = Header::parse(&mut thalweg_wire::Reader::new(mpdu));
            self.heard = header.ok().map(|h| h.from).filter(|from| *from != self.id);
        }
    }
    fn handle_timeout(&mut self, _at: Instant) {}
    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let channel = self.channel;
        if std::mem::take(&mut self.listen) {
            let head_bytes = 0;
            let op = RadioOp::Listen {
                channel,
                head_bytes,
            };
            return Some(Request::new(OpId(0), op));
        }
        std::mem::take(&mut self.send).then(|| {
            let op = RadioOp::Stream {
                mpdu: &self.frame,
                channel,
                when: When::Now,
                cca: Cca::Skip,
            };
            Request::new(OpId(1), op)
        })
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<NodeId> {
        self.heard.take()
    }
}

impl Kind for Neighbourhood {
    fn columns() -> Vec<Column> {
        with_seed(&[columns! {
            power_dbm: Number "dBm", "Transmit power.";
            node: Whole, "Node that sends.";
            size: Number, "Nodes that hear a probe of it, in the mean.";
        }])
    }

    fn parts(&self) -> u64 {
        self.powers_dbm.len() as u64
    }

    fn rows(&self, seed: u64, context: &RunContext<'_>) -> Result<Vec<Row>> {
        let site = context.site(&self.testbed, seed)?;
        rows_in_order(&self.powers_dbm, |power| {
            context.part(|| self.sizes(&site, Dbm(*power)))
        })
    }

    fn lossy_frame_bytes(&self) -> Option<usize> {
        None
    }
}

impl Neighbourhood {
    fn sizes(&self, site: &Site, power: Dbm) -> Result<Vec<Row>> {
        let stack = stack(&site.board);
        let (mut board, _) = stack.map_err(|e| ExperimentError::unfit(site, e.to_string()))?;
        board.tx_power = power;
        let channel = site.testbed.channels.iter().last().unwrap_or(Channel::LAST);
        let reach = Reach::of_environment(&site.environment, board.chip, channel, power);
        let fcs = board.chip.phy.fcs_bytes as usize;
        let length = usize::from(self.frame_bytes).saturating_sub(fcs);
        let air = board.chip.phy.air_time(length) + board.timing.turnaround * 4;
        let ids: Vec<NodeId> = site.testbed.nodes.iter().map(|node| node.id).collect();
        let beeper = |id: &NodeId| {
            let header = Header {
                sequence: 0,
                to: None,
                from: *id,
            };
            let frame = FrameBuf::build(|w| {
                header.emit(w)?;
                (w.len()..length).try_for_each(|_| w.u8(0).map(|_| ()))
            });
            Beeper {
                id: *id,
                channel,
                frame: frame.unwrap_or(FrameBuf::EMPTY),
                listen: true,
                send: false,
                heard: None,
            }
        };
        let engines = ids.iter().map(beeper).collect();
        let seed = derive(site.seed, "neighbourhood", &[]);
        let mut network = Network::on(Ether::new(reach, seed), &[board], engines, seed)?;
        // Everybody sends one probe that is not counted.
        for n in 0..ids.len() {
            network.command(n, ());
        }
        let mut now = network.now() + Duration::from_secs(1);
        network.run_until(now, |_, _, _| Continue(()))?;
        let mut rows = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            let mut heard = 0u64;
            for _ in 0..self.probes {
                network.command(n, ());
                now += air;
                network.run_until(now, |_, _, _| {
                    heard += 1;
                    Continue(())
                })?;
            }
            let row = Row::new().with(SEED, site.seed).with("power_dbm", power.0);
            let row = row.with("node", u32::from(id.get()));
            rows.push(row.with("size", heard as f64 / f64::from(self.probes)));
        }
        Ok(rows)
    }
}
