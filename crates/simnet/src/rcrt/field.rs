//! A simulated network of sources as a field: its base station hands up packets, and sends down what the sink beside
//! it says ([`thalweg_host::carry::session`]).
//!
//! Sources begin by themselves, each within one packet of its time, and ask until they have a way. Time base:
//! simulated time. Invariant: only the base station's packets are told. Tests: `crates/daemon/tests/all/`.

use super::mote::{Heard, Part, Says};
use super::run::DOWN;
use crate::convergecast::{stack, RunError};
use std::ops::ControlFlow::{Break, Continue};
use thalweg_host::carry::rcrt::FLOW;
use thalweg_host::field::{Clock, Field, FieldError, FieldTime, News};
use thalweg_medium::ether::{Ether, Reach};
use thalweg_medium::random::{derive, stream, uniform};
use thalweg_protocols::csma;
use thalweg_protocols::rcrt::source::{self, Order, Source, Supply};
use thalweg_protocols::rcrt::{Base, Handed, Send};
use thalweg_protocols::stack::{Command, Config, Event, Node, Open, Queue, MAX_QUEUE};
use thalweg_protocols::tree::{Role, Routing};
use thalweg_sim::Network;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, Instant, NodeId, SimTime};
use thalweg_wire::rcrt::Rate;

type Net<S> = Network<Node<Open, Part<S>, DOWN, MAX_QUEUE>, Ether>;

/// The nodes of a site, one of which is a base station.
pub struct TreeField<S: Supply> {
    net: Net<S>,
    station: (usize, NodeId),
    /// The nodes' names, by index.
    ids: Vec<NodeId>,
    /// When which node begins to send, the last first.
    agenda: Vec<(SimTime, usize, Rate)>,
}

impl<S: Supply> TreeField<S> {
    /// The nodes of `site` with its sink as base station, switched on; `sources` send what `supply` makes for them, at
    /// the rates that they want, in packets per second. `seed` draws what differs between runs on the same site.
    ///
    /// # Errors
    /// Where nodes and boards do not suit each other.
    pub fn open(
        site: &Site,
        sources: &[(NodeId, f64)],
        supply: impl Fn(NodeId) -> S,
        seed: u64,
    ) -> Result<Self, RunError> {
        let (mut board, _) = stack(&site.board)?;
        board.tx_power = site.board.tx_power;
        let testbed = &site.testbed;
        let sink = testbed.sink_index();
        let channel = testbed.channels.iter().last().unwrap_or(Channel::LAST);
        let reach = Reach::of_environment(&site.environment, board.chip, channel, board.tx_power);
        let engine = |n: usize| {
            let id = testbed.id_of(n).unwrap_or(NodeId::MAX);
            let config = Config {
                id,
                channel,
                mac: csma::Config::TINYOS_CC2420,
                role: if n == sink { Role::Sink } else { Role::Router },
                routing: Routing::MULTI_HOP_LQI,
                queue: Queue {
                    packets: 10,
                    own: 1,
                },
                seed: derive(seed, "node", &[n as u64]),
            };
            let part = match n == sink {
                true => Part::Base(Box::new(Base::new())),
                false => Part::Source(Box::new(Source::new(source::Config::PAPER, supply(id)))),
            };
            Node::new(config, Open, part)
        };
        let engines = (0..testbed.len()).map(engine).collect();
        let mut net: Net<S> = Network::on(Ether::new(reach, seed), &[board], engines, seed)?;
        for n in 0..testbed.len() {
            net.command(n, Command::Start);
        }
        let begins = |(id, demand): &(NodeId, f64)| {
            let index = testbed.index_of(*id)?;
            let period = 1.0 / demand.max(1e-3);
            let phase = uniform(&mut stream(seed, "workload", &[index as u64])) * period;
            let at = SimTime::ZERO + Duration::from_secs_f64(phase);
            Some((at, index, Rate::from_per_s(*demand)))
        };
        let mut agenda: Vec<_> = sources.iter().filter_map(begins).collect();
        agenda.sort_by_key(|(at, ..)| *at);
        agenda.reverse();
        Ok(Self {
            net,
            station: (sink, testbed.sink),
            ids: testbed.nodes.iter().map(|n| n.id).collect(),
            agenda,
        })
    }

    fn index(&self, station: NodeId) -> Result<usize, FieldError> {
        let (index, id) = self.station;
        match id == station {
            true => Ok(index),
            false => Err(FieldError::NoStation(station)),
        }
    }
}

impl<S: Supply> Clock for TreeField<S> {
    fn when(&self, station: NodeId, local: Instant) -> FieldTime {
        let index = self.index(station);
        index.map_or(self.net.now(), |n| self.net.when(n, local))
    }
}

impl<S: Supply> Field for TreeField<S> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> FieldTime {
        self.net.now()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), FieldError> {
        let node = self.index(station)?;
        self.net.command(node, Command::Above(Says::Send(order)));
        Ok(())
    }
    fn next(&mut self, until: FieldTime) -> Result<News<Handed>, FieldError> {
        loop {
            let now = self.net.now();
            while let Some((_, node, demand)) = self.agenda.pop_if(|(at, ..)| *at <= now) {
                let order = Order::Open {
                    flow: FLOW,
                    connection: 1,
                    demand,
                };
                self.net.command(node, Command::Above(Says::Source(order)));
            }
            let next = self.agenda.last().map_or(until, |(at, ..)| until.min(*at));
            let (mut news, (station, id)) = (News::Nothing, self.station);
            let ran = self.net.run_until(next, |at, node, event| match event {
                Event::Above(Heard::Base(handed)) if node == station => {
                    news = News::Told(at, id, handed);
                    Break(())
                }
                _ => Continue(()),
            });
            ran.map_err(|why| FieldError::Broken(Box::new(why)))?;
            if news != News::Nothing || next == until {
                return Ok(news);
            }
        }
    }
    fn take(&mut self, station: NodeId, _len: usize) -> Result<Vec<u8>, FieldError> {
        // Packets are handed up at once.
        self.index(station).map(|_| Vec::new())
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        let index = self.ids.iter().position(|id| *id == node)?;
        Some(self.net.joules(index))
    }
}
