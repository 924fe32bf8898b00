//! What a script asks for, as the parts of a simulated network.

use super::{at, CHANNELS, FOREIGN, OUTSIDE};
use crate::air::Gap;
use crate::script::{Act, Fault, Idle, Script, Security as Keyed, Strike};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_host::security::{MemoryNumbers, Security};
use thalweg_medium::{EarId, Environment, Interference, Source, Variation};
use thalweg_protocols::floodnet;
use thalweg_sim::Board;
use thalweg_simnet::security::simulated_keys;
use thalweg_units::{Channel, Dbm, Duration};

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
    (script.security == Keyed::Keys).then(|| Security {
        keys: Arc::new(simulated_keys(script.seed)),
        numbers: Arc::new(MemoryNumbers::default()),
    })
}

/// What the nodes agree on.
pub(super) fn config(script: &Script, board: &Board) -> floodnet::Config {
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
