//! Where streams run: a site in two bands, with losses that were asked for, and what a planner knows
//! of it beforehand (FastForward determines paths and channels beforehand too, section III-B).

use super::StreamFailure;
use crate::testbed::{Board as BoardKind, Testbed};
use std::str::FromStr;
use std::sync::Arc;
use thalweg_medium::{EarId, Environment};
use thalweg_planner::streams::{Radio, StreamPlan, StreamRequest};
use thalweg_protocols::fastforward::Config;
use thalweg_sim::{boards, Board};
use thalweg_units::{Channel, Channel900, Db, Dbm, NodeId, Tuning};

/// Loss injected on a link: what one node sends is lost at another, whatever the protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Share of full data frames that is lost, 0 to 0.99; of shorter frames less, as symbols are hit.
    pub share: f64,
}

impl FromStr for Loss {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: expected FROM-TO:SHARE with a share from 0 to 0.99, as 3-4:0.2");
        let (link, share) = text.split_once(':').ok_or_else(wrong)?;
        let (from, to) = link.split_once('-').ok_or_else(wrong)?;
        let node = |id: &str| id.trim().parse().ok().and_then(|id| NodeId::new(id).ok());
        let share: f64 = share.trim().parse().map_err(|_| wrong())?;
        match (node(from), node(to)) {
            (Some(from), Some(to)) if from != to && (0.0..=0.99).contains(&share) => {
                Ok(Self { from, to, share })
            }
            _ => Err(wrong()),
        }
    }
}

/// A site for streams.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The testbed.
    pub testbed: Arc<Testbed>,
    /// Its nodes' board.
    pub board: Board,
    /// Both bands' ears.
    pub environment: Arc<Environment>,
    /// Seed of the site.
    pub seed: u64,
    losses: Vec<Loss>,
    /// Reception ratio and interference of each pair, by band and channel.
    links: Arc<Links>,
}

#[derive(Debug)]
struct Links {
    nodes: usize,
    /// By place of the channel, then sender, then receiver; 2.4 GHz before 900 MHz.
    of: Vec<(f32, bool)>,
}

/// Signals this much below the noise floor disturb nobody.
const HARMLESS: Db = Db(-3.0);

impl Ground {
    /// `testbed` as `seed` draws it.
    ///
    /// # Errors
    /// [`StreamFailure::Unfit`] where its nodes have one radio, or its links were measured in one band.
    pub fn new(testbed: Arc<Testbed>, seed: u64) -> Result<Self, StreamFailure> {
        let unfit = |why: &str| StreamFailure::Unfit {
            testbed: testbed.name.clone(),
            why: why.to_owned(),
        };
        let board = match testbed.board {
            BoardKind::Opal => boards::load("opal")?,
            _ => return Err(unfit("streams need nodes with two radios (board = \"opal\")")),
        };
        let second = board.second.ok_or_else(|| unfit("its board has one radio"))?;
        let environment = testbed
            .realise_dual([board.chip, second.chip], seed)
            .ok_or_else(|| unfit("its links were measured in one band, streams need two"))?;
        let links = Arc::new(Links::of(&environment, testbed.len(), &board));
        Ok(Self {
            testbed,
            board,
            environment: Arc::new(environment),
            seed,
            losses: Vec::new(),
            links,
        })
    }

    /// The same with `losses` in both bands, for data frames of `psdu_bytes`.
    ///
    /// # Errors
    /// [`StreamFailure::Unfit`] where a node is not the testbed's.
    pub fn with_losses(mut self, losses: &[Loss], psdu_bytes: usize) -> Result<Self, StreamFailure> {
        let mut environment = (*self.environment).clone();
        for loss in losses {
            let index = |id: NodeId| {
                self.testbed.index_of(id).ok_or_else(|| StreamFailure::Unfit {
                    testbed: self.testbed.name.clone(),
                    why: format!("there is no node {id}"),
                })
            };
            let (from, to) = (index(loss.from)?, index(loss.to)?);
            for band in 0..2 {
                let ear = |n: usize| EarId((n + band * self.testbed.len()) as u32);
                environment = environment.with_loss(ear(from), ear(to), loss.share, psdu_bytes);
            }
        }
        self.environment = Arc::new(environment);
        self.losses.extend_from_slice(losses);
        Ok(self)
    }
    /// The losses that were injected.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// A request over this site's channels, but the one on which nodes are called.
    pub fn request(&self, source: usize, sink: usize, via: Option<Vec<usize>>) -> StreamRequest {
        StreamRequest {
            source,
            sink,
            via,
            ghz2_4: self.testbed.channels.iter().collect(),
            mhz900: (1..=Channel900::COUNT as u8)
                .filter_map(Channel900::new)
                .filter(|c| Tuning::Mhz900(*c) != Config::CALLING)
                .collect(),
        }
    }
    /// A plan for `request` beside `others`. What was injected is not known to it.
    ///
    /// # Errors
    /// [`StreamFailure::Plan`].
    pub fn plan(
        &self,
        request: &StreamRequest,
        others: &[StreamPlan],
    ) -> Result<StreamPlan, StreamFailure> {
        Ok(request.plan(&*self.links, others)?)
    }
    /// Node ids of a plan.
    pub fn ids(&self, plan: &StreamPlan) -> Vec<NodeId> {
        let ids = plan.nodes.iter().filter_map(|n| self.testbed.id_of(*n));
        ids.collect()
    }
}

impl Links {
    fn of(environment: &Environment, nodes: usize, board: &Board) -> Self {
        let mut of = Vec::with_capacity(2 * Channel::COUNT * nodes * nodes);
        let second = board.with_second_radio();
        for (band, board) in [(0, board), (1, &second)] {
            let expected = environment.expected(127, board.tx_power);
            let floor: Dbm = board.chip.noise_floor + HARMLESS;
            for channel in Channel::all() {
                for from in 0..nodes {
                    for to in 0..nodes {
                        let ear = |n: usize| EarId((n + band * nodes) as u32);
                        let (a, b) = (ear(from), ear(to));
                        let mean = environment.mean_rssi(a, b, channel);
                        let disturbs = mean
                            .is_some_and(|rssi| rssi.0 + board.tx_power.0 > floor.0);
                        let ratio = match disturbs {
                            true => expected(a, b, channel),
                            false => 0.0,
                        };
                        of.push((ratio as f32, disturbs));
                    }
                }
            }
        }
        Self { nodes, of }
    }
    fn at(&self, from: usize, to: usize, on: Tuning) -> Option<&(f32, bool)> {
        let band = usize::from(matches!(on, Tuning::Mhz900(_)));
        let channel = band * Channel::COUNT + on.place().index();
        self.of.get((channel * self.nodes + from) * self.nodes + to)
    }
}

impl Radio for Links {
    fn nodes(&self) -> usize {
        self.nodes
    }
    fn reception(&self, from: usize, to: usize, on: Tuning) -> f64 {
        self.at(from, to, on).map_or(0.0, |link| f64::from(link.0))
    }
    fn disturbs(&self, from: usize, to: usize, on: Tuning) -> bool {
        self.at(from, to, on).is_some_and(|link| link.1)
    }
}
