//! How long a network's batteries last if it is emptied again and again. Tests: `tests/all/whole_network.rs`.

use crate::rounds::Loads;
use crate::{Error, Network};
use serde::Serialize;
use thalweg_host::link_state::LinkState;
use thalweg_host::survey::SurveyCost;
use thalweg_planner::rounds::{lifetime, Duty, Life, Load, Round};
use thalweg_protocols::rouse;
use thalweg_units::{Duration, NodeId};

const DAY_S: f64 = 86_400.0;

/// How a network is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// From one object of a node to its next.
    pub every: Duration,
    /// Charge of a node's battery, in milliampere-hours, above 0. All of it is used, at the board's supply voltage.
    pub battery_mah: f64,
    /// Power of a node between rounds, in microwatts; none where it rests, and is roused before each.
    pub idle_uw: Option<f64>,
}

/// What nodes do between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// They rest, and sample the channel.
    Rests,
    /// They draw the power that was given.
    Given,
}

/// When so many nodes are empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Milestone {
    /// How many nodes.
    pub empty: usize,
    /// After how many days.
    pub days: f64,
    /// Nodes that still run then and have no route to the base station.
    pub cut_off: usize,
}

/// What a node spends in a round of the first day and until the next, in joules.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Joules {
    /// Between rounds.
    pub idle: f64,
    /// In the survey, and awake after the round.
    pub survey: f64,
    /// In transfers that it takes part in.
    pub transfers: f64,
    /// At rendezvous during the transfers of others.
    pub rendezvous: f64,
}

/// A node's battery.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLife {
    /// The node.
    pub node: u16,
    /// Its label in the testbed's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its index in the testbed.
    #[serde(skip)]
    pub index: usize,
    /// After how many days it is empty.
    pub days: f64,
    /// Hops from it to the base station on the first day; none without a route.
    pub hops: Option<usize>,
    /// Transfers of others that it helps with on the first day.
    pub helps: usize,
    /// Where its energy goes on the first day.
    pub joules: Joules,
}

/// How long a network's batteries last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lifetime {
    /// The network.
    pub testbed: String,
    /// The protocol, by name.
    pub protocol: &'static str,
    /// The base station, which has no battery.
    pub sink: u16,
    /// Bytes of each object.
    pub bytes: u64,
    /// From one round to the next, in seconds.
    pub every_s: f64,
    /// What a battery holds, in joules.
    pub battery_j: f64,
    /// What nodes do between rounds.
    pub idle: Idle,
    /// Their power then, in microwatts.
    pub idle_uw: f64,
    /// Time of the survey before each round, in seconds.
    pub survey_s: f64,
    /// Time of the transfers of the first round, in seconds.
    pub round_s: f64,
    /// The first node, the tenth part and the half.
    pub milestones: Vec<Milestone>,
    /// All nodes but the base station; those that empty first stand first.
    pub nodes: Vec<NodeLife>,
}

impl Network {
    /// How long batteries last if the network, with `links` whose survey has this `cost`, is emptied as `usage` says. The
    /// survey of a network that has been [`Self::idle`] counts rousing it.
    ///
    /// # Errors
    /// [`Error::Option`] where a round does not end before the next begins, [`Error::Input`] where nothing reaches the base
    /// station.
    pub fn lifetime(
        &self,
        usage: &Usage,
        links: &LinkState,
        cost: &SurveyCost,
    ) -> Result<Lifetime, Error> {
        let (nodes, sink) = (self.testbed().len(), links.sink());
        let duty = duty(usage, links, cost);
        let mut loads = Loads::new(self, links)?;
        let sources: Vec<usize> = (0..nodes).filter(|node| *node != sink).collect();
        loads.prepare(&sources, sink);
        let first: Vec<Option<Load>> = (0..nodes)
            .map(|node| match node == sink {
                true => None,
                false => loads.between(node, sink),
            })
            .collect();
        let ids = &links.place().ids;
        let some = first.iter().any(Option::is_some);
        let Some(station) = ids.get(sink).filter(|_| some) else {
            let name = &self.testbed().name;
            let line = format!("{name}: no node has a route to the base station");
            return Err(Error::Input(line));
        };
        let round = Round::of(nodes, first.iter().flatten(), duty.listening_w);
        let busy_s = round.time_s + duty.survey_s;
        if busy_s > duty.every_s {
            return Err(Error::Option {
                option: "every",
                why: format!(
                    "a survey and a round take {:.0} s; give more time",
                    busy_s.ceil()
                ),
            });
        }
        let mut again = |sources: &[usize], empty: &[usize]| loads.without(sources, empty);
        let life = lifetime(first.clone(), &[sink], &duty, &mut again);
        Ok(self.life_of((&life, &duty), usage, (ids, *station), &first))
    }

    fn life_of(
        &self,
        (life, duty): (&Life, &Duty),
        usage: &Usage,
        (ids, station): (&[NodeId], NodeId),
        first: &[Option<Load>],
    ) -> Lifetime {
        let request = self.request_ref();
        let round = &life.first_round;
        let node = |(index, empty_s): (usize, &Option<f64>)| {
            let id = ids.get(index)?;
            let own = first.get(index).and_then(Option::as_ref);
            Some(NodeLife {
                node: id.get(),
                label: self.testbed().label(*id).map(str::to_owned),
                index,
                days: (*empty_s)? / DAY_S,
                hops: own.map(|load| load.hops),
                helps: round.takes_part[index] - usize::from(own.is_some()),
                joules: Joules {
                    idle: duty.idle_j(round),
                    survey: duty.survey_j,
                    transfers: round.transfers_j[index],
                    rendezvous: round.resting_j[index],
                },
            })
        };
        let mut nodes: Vec<NodeLife> = (life.empty_s.iter().enumerate()).filter_map(node).collect();
        nodes.sort_by(|a, b| a.days.total_cmp(&b.days).then(a.node.cmp(&b.node)));
        let milestone = |m: &thalweg_planner::rounds::Milestone| Milestone {
            empty: m.empty,
            days: m.at_s / DAY_S,
            cut_off: m.cut_off,
        };
        Lifetime {
            testbed: self.testbed().name.clone(),
            protocol: request.protocol.name,
            sink: station.get(),
            bytes: request.object.bytes(),
            every_s: duty.every_s,
            battery_j: duty.battery_j,
            idle: match usage.idle_uw {
                Some(_) => Idle::Given,
                None => Idle::Rests,
            },
            idle_uw: duty.idle_w * 1e6,
            survey_s: duty.survey_s,
            round_s: round.time_s,
            milestones: life.milestones.iter().map(milestone).collect(),
            nodes,
        }
    }
}

/// Without meters, a survey costs what listening does.
fn duty(usage: &Usage, links: &LinkState, cost: &SurveyCost) -> Duty {
    let currents = links.place().currents;
    let (survey_s, listening_w) = (cost.seconds(), currents.listening_w());
    let nodes = links.place().ids.len() as f64;
    let metered = cost.network_energy_j.map(|joules| joules / nodes);
    // Who rests listens on for a while after a round.
    let awake_s = match usage.idle_uw {
        Some(_) => 0.0,
        None => rouse::AWAKE.as_secs_f64(),
    };
    Duty {
        every_s: usage.every.as_secs_f64(),
        // Milliampere-hours are 3.6 coulombs.
        battery_j: usage.battery_mah * 3.6 * currents.supply_v,
        idle_w: usage.idle_uw.map_or(currents.resting_w, |uw| uw * 1e-6),
        survey_s,
        survey_j: metered.unwrap_or(survey_s * listening_w) + awake_s * listening_w,
        listening_w,
    }
}
