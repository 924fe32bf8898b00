//! What a script asks for, as the parts of a simulated network.

use super::id;
use super::{at, CHANNELS, FOREIGN, OUTSIDE};
use crate::air::Gap;
use crate::outsider::Outsider;
use crate::party::{Party, Victim};
use crate::script::{Act, Fault, Idle, Script, Security as Keyed, Strike};
use crate::shelf::{Node, Shelf};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_engine::BoardTiming;
use thalweg_host::security::{MemoryNumbers, NetworkKeys, Security};
use thalweg_medium::{EarId, Environment, Interference, Source, Variation};
use thalweg_protocols::floodnet;
use thalweg_protocols::member::Member;
use thalweg_protocols::seals::Seals;
use thalweg_sim::Board;
use thalweg_simnet::security::simulated_keys;
use thalweg_units::{Channel, Dbm, Duration};
use thalweg_wire::seal::SoftwareAes;

/// Who stands beside the network, by index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outsiders {
    pub(super) radio: Option<usize>,
    /// One that runs Thalweg's own software.
    pub(super) rogue: Option<usize>,
}

impl Outsiders {
    /// Those of `script`, after its nodes.
    pub(super) fn of(script: &Script) -> Self {
        let nodes = usize::from(script.nodes);
        let is_there = |is: bool, at: usize| is.then_some(at);
        let is_rogue = |s: &Strike| matches!(s.what, Fault::Outsider(Act::Fetch { .. }));
        Self {
            radio: is_there(script.has_outsider(), nodes),
            rogue: is_there(script.strikes.iter().any(is_rogue), nodes + 1),
        }
    }
}

/// Makes the parties of a network.
#[derive(Clone)]
pub(super) struct Maker {
    config: floodnet::Config,
    timing: BoardTiming,
    keys: Option<Arc<NetworkKeys>>,
    /// Nodes with indices below this are the network's.
    nodes: usize,
    security: Keyed,
    has_sessions: bool,
    radio: Option<usize>,
}

impl Maker {
    /// For the network of `script` on `board`s, with these `keys` and `outsiders`.
    pub(super) fn new(
        script: &Script,
        board: &Board,
        keys: Option<Arc<NetworkKeys>>,
        outsiders: Outsiders,
    ) -> Self {
        Self {
            config: config(script, board),
            timing: board.timing,
            keys,
            nodes: usize::from(script.nodes),
            security: script.security,
            has_sessions: script.has_sessions(),
            radio: outsiders.radio,
        }
    }
    /// Party `n`, switched on for the first time.
    pub(super) fn first(&self, n: usize) -> Party {
        let proof = self.keys.as_ref().map(|keys| keys.proof(id(n as u16 + 1)));
        let shelf = match proof.filter(|_| n < self.nodes) {
            Some(proof) => Shelf::proving(proof),
            None => Shelf::default(),
        };
        match self.radio == Some(n) {
            true => Party::Outsider(Outsider::default()),
            false if self.has_sessions => self.member(n, shelf),
            false => Party::Mote(Box::new(Victim::new(self.mote(n, shelf)))),
        }
    }
    /// Party `n` after a restart, which was `before`.
    pub(super) fn again(&self, n: usize, before: &mut Party) -> Party {
        let shelf = before.shelf().map(Shelf::kept).unwrap_or_default();
        match before {
            Party::Outsider(_) => Party::Outsider(Outsider::default()),
            Party::Station(_) | Party::Sensor(_) => self.member(n, shelf),
            Party::Mote(victim) => {
                let kept = victim.node.guard().as_ref().map(Seals::kept);
                let mut node = self.mote(n, shelf).restarted();
                if let Some(kept) = kept {
                    node.restore(kept);
                }
                Party::Mote(Box::new(Victim::new(node)))
            }
        }
    }
    fn mote(&self, n: usize, shelf: Shelf) -> Node {
        let guard = (id(n as u16 + 1), self.seals(n));
        Node::guarded(guard, self.config, self.timing, shelf)
    }
    /// An outsider has no seals, but with a captured mote he has that one's.
    fn seals(&self, n: usize) -> Option<Seals<SoftwareAes>> {
        let has_keys = n < self.nodes || self.security == Keyed::Captured;
        let keys = self.keys.as_ref().filter(|_| has_keys);
        keys.map(|keys| keys.seals())
    }
    /// As an image starts: it does not know how long the others have idled.
    fn member(&self, n: usize, shelf: Shelf) -> Party {
        let (config, timing, rests) = (self.config, self.timing, floodnet::Idle::Rests);
        if n == 0 {
            let mut node = Member::new(id(1), config, timing, shelf);
            if config.idle == rests {
                node.set_idled();
            }
            return Party::Station(Box::new(Victim::new(node)));
        }
        let node = Member::new(id(n as u16 + 1), config, timing, shelf);
        Party::Sensor(Box::new(Victim::new(node)))
    }
}

/// When which links of `script` are dead.
pub(super) fn gaps(script: &Script) -> Vec<Gap> {
    let gaps = script.fades.iter().map(|fade| Gap {
        from: at(fade.at_ms),
        until: at(fade.at_ms.saturating_add(fade.for_ms)),
        ends: [fade.a, fade.b].map(|node| EarId(u32::from(node) - 1)),
    });
    gaps.collect()
}

/// The keys of a script's network.
pub(crate) fn security(script: &Script) -> Option<Security> {
    (script.security != Keyed::None).then(|| Security {
        keys: Arc::new(simulated_keys(script.seed)),
        numbers: Arc::new(MemoryNumbers::default()),
    })
}

/// What the nodes agree on.
fn config(script: &Script, board: &Board) -> floodnet::Config {
    let mut config = floodnet::Config::default().on(&board.timing);
    config.glossy.channel = Channel::LAST;
    config.idle = match script.idle {
        Idle::Listens => floodnet::Idle::Listens,
        Idle::Rests => floodnet::Idle::Rests,
    };
    config
}

/// Who hears whom, and the traffic of others; outsiders hear all, and all hear them.
pub(super) fn environment(script: &Script, board: &Board, ears: usize) -> Environment {
    let nodes = usize::from(script.nodes);
    let mut levels = BTreeMap::new();
    for link in &script.links {
        let (a, b) = (usize::from(link.a) - 1, usize::from(link.b) - 1);
        levels.insert((a, b), Dbm(link.dbm));
        levels.insert((b, a), Dbm(link.dbm));
    }
    let level = |from: usize, to: usize, channel: Channel| {
        let is_used = CHANNELS.contains(&channel.number());
        let outside = (from >= nodes || to >= nodes).then_some(OUTSIDE);
        let level = outside.or_else(|| levels.get(&(from, to)).copied());
        level.filter(|_| is_used)
    };
    let mut environment = Environment::from_gains(ears, board.chip, script.seed, level);
    environment.variation = Variation::STILL;
    if script.foreign_traffic > 0.0 {
        let (power, mean_burst) = FOREIGN;
        let source = Source {
            id: 1,
            on_share: 1.0,
            on_rate_hz: script.foreign_traffic / mean_burst.as_secs_f64(),
            off_rate_hz: 0.0,
            mean_burst,
            load_period: Duration::from_secs(1),
        };
        let power = power.milliwatts().0 as f32;
        environment.interference =
            Interference::new(vec![[Some(source); 4]], vec![(0, [power; 4]); ears]);
    }
    environment.in_world(script.seed)
}
