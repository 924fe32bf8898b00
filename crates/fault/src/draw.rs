//! A script from a seed: a small network whose nodes all reach the base station, a workload, and faults.
//!
//! Invariant: every node has a path of strong links to the base station, so that what is asked can arrive once all is well.
//! Tests: at the end.

use crate::network::CHANNELS;
use crate::script::{
    Act, Fade, Fault, FrameFault, Idle, Link, Script, Security, Step, Strike, STRONG_DBM,
};
use rand::seq::IndexedRandom;
use rand::Rng;
use thalweg_medium::random::{stream, Stream};
use thalweg_wire::dispatch;

/// Who is to blame for what goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// Nature, chance and defects.
    Nature,
    /// An outsider with a radio, and nature.
    Outsider,
    /// The same, where all nodes have keys and he has none.
    OutsiderWithoutKeys,
    /// The same, and he has those of a mote that he captured.
    CapturedMote,
}

/// Powers of strong links, and of the others, in dBm.
const STRONG: [f64; 2] = [STRONG_DBM, -55.0];
const WEAK: [f64; 2] = [-96.0, STRONG_DBM];
/// The kinds of frames that an outsider replays and forges.
const KINDS: [u8; 11] = [
    dispatch::FLOOD,
    dispatch::SWEEP,
    dispatch::ROUSE,
    dispatch::PIPE_DATA,
    dispatch::PIPE_REQUEST,
    dispatch::PIPE_NACK,
    dispatch::HOP_CALL,
    dispatch::HOP_CALLED,
    dispatch::HOP_DATA,
    dispatch::HOP_POLL,
    dispatch::HOP_ACK,
];

/// How large a scenario is. What goes wrong does so in small ones, too, of which many more run in the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

impl Size {
    /// One in twelve is large.
    fn draw(rng: &mut Stream) -> Self {
        match rng.random_ratio(1, 12) {
            true => Self::Large,
            false => Self::Small,
        }
    }
    const fn most_nodes(self) -> u16 {
        match self {
            Self::Small => 5,
            Self::Large => 8,
        }
    }
    const fn most_fetches(self) -> u32 {
        match self {
            Self::Small => 2,
            Self::Large => 4,
        }
    }
}

/// The script of `seed`.
pub fn draw(seed: u64, whom: Whom) -> Script {
    let rng = &mut stream(seed, "fault script", &[]);
    let size = Size::draw(rng);
    // Nodes that rest take three times as long to simulate.
    let idle = match rng.random_ratio(1, 20) {
        true => Idle::Rests,
        false => Idle::Listens,
    };
    let nodes = rng.random_range(2..=size.most_nodes());
    let mut steps = steps(rng, nodes, size, idle);
    if whom == Whom::Nature && rng.random_ratio(1, 16) {
        let at = rng.random_range(0..=steps.len());
        steps.insert(at, session(rng));
    }
    // A survey takes a second and a half, a transfer some hundred milliseconds: most strike then, some later.
    let working_ms = 1_500 + 400 * steps.len() as u64;
    let span_ms = working_ms * *[1, 1, 2, 4].choose(rng).unwrap_or(&1);
    let mut script = Script {
        seed,
        nodes,
        board: match rng.random_ratio(1, 4) {
            true => "nrf52840",
            false => "telosb",
        }
        .to_owned(),
        idle,
        foreign_traffic: match rng.random_ratio(1, 6) {
            true => (rng.random_range(0.01..0.2_f64) * 100.0).round() / 100.0,
            false => 0.0,
        },
        security: match whom {
            Whom::Nature | Whom::Outsider => Security::None,
            Whom::OutsiderWithoutKeys => Security::Keys,
            Whom::CapturedMote => Security::Captured,
        },
        links: links(rng, nodes),
        steps,
        fades: Vec::new(),
        strikes: Vec::new(),
    };
    for _ in 0..rng.random_range(0..=10) {
        let strike = strike(rng, nodes, span_ms);
        script.strikes.push(strike);
    }
    script.fades = fades(rng, &script.links, span_ms);
    if whom != Whom::Nature {
        let acts = acts(rng, &script, whom, span_ms);
        script.strikes.extend(acts);
    }
    script.strikes.sort_by_key(|strike| strike.at_ms);
    script
}

/// Up to two links that carry nothing for a while.
fn fades(rng: &mut Stream, links: &[Link], span_ms: u64) -> Vec<Fade> {
    let mut fades = Vec::new();
    for _ in 0..rng.random_range(0..=2) {
        if let Some(link) = links.choose(rng) {
            fades.push(Fade {
                at_ms: rng.random_range(0..span_ms),
                for_ms: lasting(rng),
                a: link.a,
                b: link.b,
            });
        }
    }
    fades
}

/// What an outsider does. With a captured mote he does more.
fn acts(rng: &mut Stream, script: &Script, whom: Whom, span_ms: u64) -> Vec<Strike> {
    let most = if whom == Whom::CapturedMote { 8 } else { 3 };
    let captured = rng.random_range(2..=script.nodes);
    let acts = 0..rng.random_range(1..=most);
    let act = |_| Strike {
        node: captured,
        ..act(rng, script, span_ms)
    };
    acts.map(act).collect()
}

/// A tree of strong links, and others.
fn links(rng: &mut Stream, nodes: u16) -> Vec<Link> {
    let power = |rng: &mut Stream, [from, to]: [f64; 2]| rng.random_range(from..to).round();
    let mut links = Vec::new();
    // A row, a star or anything between.
    let reach = rng.random_range(1..=nodes);
    for b in 2..=nodes {
        let a = rng.random_range(b.saturating_sub(reach).max(1)..b);
        let dbm = power(rng, STRONG);
        links.push(Link { a, b, dbm });
    }
    let more = rng.random_range(0.0..1.0);
    for b in 2..=nodes {
        for a in 1..b {
            let is_there = links.iter().any(|link| (link.a, link.b) == (a, b));
            if !is_there && rng.random_bool(more) {
                let strength = if rng.random_bool(0.5) { STRONG } else { WEAK };
                let dbm = power(rng, strength);
                links.push(Link { a, b, dbm });
            }
        }
    }
    links
}

fn steps(rng: &mut Stream, nodes: u16, size: Size, idle: Idle) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..rng.random_range(1..=size.most_fetches()) {
        let bytes = match (size, rng.random_range(0..10)) {
            (_, 0) => 1,
            (_, 1) => rng.random_range(2..120),
            (Size::Small, _) => rng.random_range(120..3_000),
            (Size::Large, 2..=8) => rng.random_range(120..12_000),
            (Size::Large, _) => rng.random_range(12_000..60_000),
        };
        let from = rng.random_range(2..=nodes);
        steps.push(Step::Fetch { from, bytes });
        match rng.random_range(0..12) {
            0 => steps.push(Step::Survey {}),
            1..=3 => steps.push(Step::Pause {
                ms: rng.random_range(1..8_000),
            }),
            // Long enough for nodes that rest.
            4 if idle == Idle::Rests || size == Size::Large => {
                steps.push(Step::Pause { ms: 900_000 });
            }
            _ => {}
        }
    }
    steps
}

/// Some of it is over before all is there.
fn session(rng: &mut Stream) -> Step {
    Step::Session {
        bytes: rng.random_range(1..2_000),
        for_ms: rng.random_range(5_000..60_000),
    }
}

/// How long something lasts: a moment, a second, half a minute.
fn lasting(rng: &mut Stream) -> u64 {
    match rng.random_range(0..8) {
        0..=2 => rng.random_range(1..60),
        3..=6 => rng.random_range(60..3_000),
        _ => rng.random_range(3_000..30_000),
    }
}

fn strike(rng: &mut Stream, nodes: u16, span_ms: u64) -> Strike {
    let at_ms = rng.random_range(0..span_ms);
    let node = rng.random_range(1..=nodes);
    let for_ms = lasting(rng);
    let what = match rng.random_range(0..12) {
        0 => Fault::Dead { for_ms },
        1 => Fault::Deaf { for_ms },
        2 => Fault::Jammed {
            for_ms,
            channel: *CHANNELS.choose(rng).unwrap_or(&26),
        },
        3 | 4 => Fault::Reboot { for_ms },
        _ => Fault::Frames {
            count: rng.random_range(1..=12),
            each: match rng.random_range(0..8) {
                0 | 1 => FrameFault::Lose {},
                2..=4 => FrameFault::Flip { bit: rng.random() },
                5 | 6 => FrameFault::Double {},
                _ => FrameFault::Delay {
                    us: rng.random_range(1..50_000),
                },
            },
        },
    };
    Strike { at_ms, node, what }
}

/// Something that an outsider does: at once, or a day later.
fn act(rng: &mut Stream, script: &Script, span_ms: u64) -> Strike {
    // Nodes that rest would take long to simulate for a day.
    let is_late = rng.random_ratio(1, 10) && script.idle == Idle::Listens;
    let day_ms = if is_late { 86_400_000 } else { 0 };
    let at_ms = day_ms + rng.random_range(0..span_ms);
    let from = rng.random_range(2..=script.nodes);
    let kind = *KINDS.choose(rng).unwrap_or(&dispatch::FLOOD);
    let act = match rng.random_range(0..8) {
        0 => Act::Fetch { from },
        1 => Act::Flood {
            kind,
            count: rng.random_range(2..100),
        },
        2 | 3 => Act::Replay { kind },
        _ => Act::Forge {
            kind,
            at: rng.random(),
            to: rng.random(),
        },
    };
    Strike {
        at_ms,
        node: 1,
        what: Fault::Outsider(act),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOM: [Whom; 4] = [
        Whom::Nature,
        Whom::Outsider,
        Whom::OutsiderWithoutKeys,
        Whom::CapturedMote,
    ];

    #[test]
    fn one_seed_one_script_and_each_can_be_read() {
        for seed in 0..500 {
            for whom in WHOM {
                let script = draw(seed, whom);
                assert_eq!(script, draw(seed, whom), "seed {seed}");
                assert_eq!(script.has_outsider(), whom != Whom::Nature);
                let read = Script::parse(&script.to_text());
                assert_eq!(read.as_ref(), Ok(&script), "seed {seed}");
            }
        }
    }

    #[test]
    fn every_node_has_a_path_of_strong_links() {
        for seed in 0..500 {
            let script = draw(seed, Whom::Nature);
            assert!(script.has_paths(), "seed {seed}");
        }
    }

    #[test]
    fn every_kind_of_fault_is_drawn() {
        let kinds: std::collections::BTreeSet<String> = (0..500)
            .flat_map(|seed| draw(seed, Whom::Outsider).strikes)
            .map(|strike| {
                let what = format!("{:?}", strike.what);
                what.split_inclusive([' ', '(']).take(2).collect()
            })
            .collect();
        // Dead, Deaf, Jammed, Reboot, Frames, and four acts.
        assert!(kinds.len() >= 9, "{kinds:?}");
    }
}
