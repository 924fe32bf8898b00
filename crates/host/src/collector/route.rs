//! A route that surveys have not found yet: links that are dead for minutes come back.
//!
//! Time base: the network's. Tests: `tests/all/recovery.rs`.

use super::Collector;
use crate::job::{Failure, Progress, Watch};
use crate::link_state::{LinkState, PlanRequest};
use crate::network::Network;
use crate::recovery::{self, Sought};
use crate::transfer::pipeline::Order;
use std::ops::ControlFlow;
use thalweg_planner::{LinkQualities, Plan};
use thalweg_protocols::mote::Event;
use thalweg_units::Duration;

/// How long links are measured again for a node that none of them leads to, without a byte from it: pauses and surveys,
/// in the network's time. Zero is one more survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a node that was heard of, or that may be behind others which come and go.
    pub known: Duration,
    /// For a node that none ever heard of, where all others are as they were: it is probably off.
    pub unknown: Duration,
}

impl Patience {
    /// The default. Rows of twelve with links of .4 on one channel need more than six hours for three of 110 objects.
    pub const DEFAULT: Self = Self {
        known: Duration::from_secs(12 * 3_600),
        unknown: Duration::from_secs(30 * 60),
    };
    /// So long for any node.
    pub const fn of(time: Duration) -> Self {
        Self {
            known: time,
            unknown: time,
        }
    }
}

/// A search for a route: surveys in a row that brought nothing.
#[derive(Debug, Clone)]
pub struct Search {
    patience: Patience,
    in_vain: u32,
    waited: Duration,
    /// The nodes that at least one survey knew, and those that all did.
    ever: Vec<bool>,
    always: Vec<bool>,
}

impl Search {
    /// A search that begins with what `links` know.
    pub fn new(patience: Patience, links: &LinkQualities) -> Self {
        let known = links.known();
        Self {
            patience,
            in_vain: 0,
            waited: Duration::ZERO,
            ever: known.clone(),
            always: known,
        }
    }
    /// Something arrived: the patience begins again.
    pub const fn restart(&mut self) {
        (self.in_vain, self.waited) = (0, Duration::ZERO);
    }
    /// Links are measured in vain, once more.
    pub const fn fail(&mut self) {
        self.in_vain += 1;
    }
    /// The pause before the next survey.
    pub fn pause(&self) -> Duration {
        recovery::pause_after(self.in_vain)
    }
    /// For how long links were measured again in vain.
    pub const fn waited(&self) -> Duration {
        self.waited
    }
    /// Whether node `index` is waited for no longer: another pause would outlast the patience.
    pub fn is_over(&self, index: usize) -> bool {
        self.in_vain > 0 && self.waited + self.pause() >= self.limit(index)
    }
    /// Notes what another survey knows, that it `took` with the pause before it.
    pub fn note(&mut self, links: &LinkQualities, took: Duration) {
        self.waited += took;
        let known = links.known().into_iter();
        for ((ever, always), known) in self.ever.iter_mut().zip(&mut self.always).zip(known) {
            (*ever, *always) = (*ever || known, *always && known);
        }
    }
    /// How long node `index` is waited for.
    pub fn limit(&self, index: usize) -> Duration {
        let is_known = self.ever.get(index).is_some_and(|known| *known);
        match is_known || self.ever != self.always {
            true => self.patience.known,
            false => self.patience.unknown,
        }
    }
}

impl Collector {
    /// Measures links again until there is a route for `request`, from the node that it names, or until the patience of
    /// `search` is at its end. The first survey has no pause before it, others one twice as long as the one before. `None`
    /// where no survey found a route.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn find_route<F>(
        &mut self,
        network: &mut F,
        (request, search): (&PlanRequest, &mut Search),
        watch: Watch<'_>,
    ) -> Result<Option<(LinkState, Plan)>, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let measures_again = request.protocol.measures_again();
        let (true, Some(node), None) = (measures_again, request.from, request.hops) else {
            return Ok(None);
        };
        let Ok(index) = self.description.place.index_of(node) else {
            return Ok(None);
        };
        while !search.is_over(index) {
            let (pause, began) = (search.pause(), network.now());
            search.fail();
            let progress = Progress::OutOfReach {
                node,
                pause,
                waited: (search.waited, search.limit(index)),
            };
            if watch(progress) == ControlFlow::Break(()) {
                return Err(Failure::Cancelled);
            }
            recovery::wait(network, began + pause)?;
            let left = search.limit(index).saturating_sub(search.waited);
            let sought = Sought {
                within: left,
                ..Sought::all_but(&[])
            };
            let surveyed = self.survey(network, request.protocol, sought, watch);
            let took = network.now().since(began);
            match surveyed {
                Ok(surveyed) => {
                    search.note(&surveyed.links, took);
                    let links = self.description.link_state(surveyed.links);
                    let links = links.measured_at(network.now());
                    if let Ok(plan) = links.plan(request) {
                        return Ok(Some((links, plan)));
                    }
                }
                Err(why @ (Failure::Cancelled | Failure::Network(_))) => return Err(why),
                // The next may end.
                Err(_) => search.waited += took,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::{Channel, Dbm};

    const SECOND: Duration = Duration::from_secs(1);

    /// Of five nodes, those that a good link leads to from the one before.
    fn links(heard: &[usize]) -> LinkQualities {
        let mut links = LinkQualities::new(5);
        for to in heard {
            let level = Some(Dbm(-60.0));
            links
                .record(to - 1, *to, Channel::LAST, 2, 2, level)
                .unwrap();
        }
        links
    }

    #[test]
    fn a_node_that_is_off_costs_little_unless_links_before_it_come_and_go() {
        let Patience { known, unknown } = Patience::DEFAULT;
        let mut search = Search::new(Patience::DEFAULT, &links(&[1, 2, 3]));
        assert_eq!(search.limit(4), unknown, "nobody heard of it");
        assert_eq!(search.limit(3), known);
        search.note(&links(&[1, 2, 3]), SECOND);
        assert_eq!(search.limit(4), unknown, "all others are as they were");
        search.note(&links(&[1, 2]), SECOND);
        assert_eq!(
            search.limit(4),
            known,
            "it may be behind one that is not there"
        );
        let mut search = Search::new(Patience::DEFAULT, &links(&[1, 2, 3]));
        search.note(&links(&[1, 2, 3, 4]), SECOND);
        assert_eq!(search.limit(4), known, "it was heard of");
    }
}
