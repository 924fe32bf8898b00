//! The two media held against each other: the same unsynchronised traffic through both, frame by
//! frame, with the same draws: which ear received what, and why the destination did not.

use crate::air::{Air, Deaf, Explain, FrameId, Lead, Outcome, Sending};
use crate::chip::{Chip, CC1000, CC2420};
use crate::ether::{Ether, Reach};
use crate::interference::{Interference, Source};
use crate::random::{nth, open_unit};
use crate::{Cause, EarId, Environment, Medium, Variation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_units::{Channel, Db, Dbm, Duration, SimTime};

const ON: Channel = Channel::LAST;
const EARS: u32 = 40;

/// What happens on the air; at one instant, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    End(u32),
    Listen(u32),
    Deafen(u32),
    Begin(Frame),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    number: u32,
    from: u32,
    to: Option<u32>,
    preamble: u16,
    bytes: u8,
}

impl Frame {
    fn air(&self, chip: &Chip) -> Duration {
        let phy = chip.phy.with_preamble(self.preamble);
        phy.air_time(usize::from(self.bytes))
    }
}

/// Frames that begin without a look, `gap` apart on average, at nodes of whom some sleep and wake in
/// between. All of it is drawn from `seed`, whatever comes of it.
fn script(chip: &Chip, seed: u64, frames: u32, gap: Duration) -> BTreeSet<(u64, Act)> {
    let draw = |k: u32, what: u64, below: u64| nth(nth(seed, u64::from(k)), what) % below;
    let (mut acts, mut busy_until) = (BTreeSet::new(), vec![0; EARS as usize]);
    acts.extend((0..EARS).map(|ear| (0, Act::Listen(ear))));
    let mut now = 1_000_000;
    for number in 0..frames {
        now += draw(number, 1, 2 * gap.as_nanos());
        let ear = |what| draw(number, what, u64::from(EARS)) as u32;
        let from = ear(2);
        if busy_until[from as usize] > now {
            continue;
        }
        let frame = Frame {
            number,
            from,
            to: (draw(number, 3, 8) > 0)
                .then(|| ear(4))
                .filter(|to| *to != from),
            preamble: match draw(number, 5, 8) {
                0 => 3 * chip.phy.preamble_bytes as u16,
                _ => chip.phy.preamble_bytes as u16,
            },
            bytes: 20 + draw(number, 6, 80) as u8,
        };
        let end = now + frame.air(chip).as_nanos();
        acts.insert((now, Act::Begin(frame)));
        acts.insert((end, Act::End(number)));
        let back = end + 1 + draw(number, 7, 2 * gap.as_nanos());
        acts.insert((back, Act::Listen(from)));
        busy_until[from as usize] = back;
        let sleeper = ear(8);
        if draw(number, 9, 4) == 0 && busy_until[sleeper as usize] <= now {
            let until = now + 1 + draw(number, 10, 4 * gap.as_nanos());
            acts.insert((now, Act::Deafen(sleeper)));
            acts.insert((until, Act::Listen(sleeper)));
            busy_until[sleeper as usize] = until;
        }
    }
    acts
}

/// The fate of a frame: why its destination did not get it; which ears got it, right or wrong, when
/// its SFD ended there, and how strong.
#[derive(Debug, Clone, PartialEq)]
struct Fate {
    frame: Frame,
    lost: Option<Cause>,
    got: Vec<(u32, bool, u64, f64)>,
}

/// What comes of `acts`, frame by frame.
fn run<A: Air>(air: &mut A, chip: &Chip, acts: &BTreeSet<(u64, Act)>) -> Vec<Fate> {
    let (mut on_air, mut fates) = (BTreeMap::new(), Vec::new());
    let (mut got, mut locked) = (Vec::new(), Vec::new());
    for &(at, act) in acts {
        let at = SimTime::from_nanos(at);
        match act {
            Act::Listen(ear) => {
                air.listen(at, EarId(ear), ON);
            }
            Act::Deafen(ear) => air.deafen(at, EarId(ear), Deaf::Sleeping),
            Act::Begin(frame) => {
                // No two frames are the same.
                let mpdu = frame.number.to_le_bytes();
                let sending = Sending {
                    to: frame.to.map(EarId),
                    lead: Lead::Preamble(frame.preamble),
                    air: frame.air(chip),
                    ..Sending::of(chip, EarId(frame.from), ON, Dbm(0.0), &mpdu)
                };
                let id = air.begin(at, &sending, &mut locked);
                on_air.insert(frame.number, (frame, id));
            }
            Act::End(number) => {
                let (frame, id): (Frame, FrameId) = on_air.remove(&number).unwrap();
                got.clear();
                let lost = air.end(at, id, Explain::No, &mut got, &mut locked);
                let mut got: Vec<_> = got
                    .iter()
                    .map(|r| {
                        assert_eq!((r.end, r.senders), (at, 1));
                        let rssi = air.registers(id, r).0;
                        let good = r.outcome == Outcome::Good;
                        (r.ear.0, good, r.sfd.as_nanos(), rssi.0)
                    })
                    .collect();
                got.sort_by_key(|got| got.0);
                fates.push(Fate { frame, lost, got });
            }
        }
    }
    fates
}

/// Drawn over a square.
fn place(ear: usize, side: f64) -> [f64; 2] {
    [1, 2].map(|axis| side * open_unit(nth(axis, ear as u64)))
}

/// Nodes all over a square, path loss by distance.
fn site(chip: &'static Chip, side: f64, packet: Db) -> Environment {
    let mut env = Environment::from_gains(EARS as usize, chip, 1, |a, b, channel| {
        let ([ax, ay], [bx, by]) = (place(a, side), place(b, side));
        let d = ((ax - bx).powi(2) + (ay - by).powi(2)).sqrt().max(1.0);
        (channel == ON).then(|| Dbm(-40.0 - 35.0 * d.log10()))
    });
    env.variation = Variation {
        packet,
        ..Variation::NONE
    };
    env
}

/// Two floors of bursts, each seen by every other ear, some weak and some strong.
fn bursts() -> Interference {
    let source = |id| Source {
        id,
        on_share: 0.5,
        on_rate_hz: 60.0,
        off_rate_hz: 5.0,
        mean_burst: Duration::from_micros(700),
        load_period: Duration::from_millis(200),
    };
    let floor = |id| [None, None, None, Some(source(id))];
    let power = |ear: u16| libm::exp10(-7.0 - f64::from(ear % 5)) as f32;
    let ears = (0..EARS as u16).map(|ear| (ear % 2, [power(ear); 4]));
    Interference::new(vec![floor(3), floor(4)], ears.collect())
}

#[test]
fn the_same_traffic_comes_to_the_same_frame_by_frame() {
    // Sparse, dense, varying, on another modem, and among foreign bursts.
    for (chip, side, gap_us, packet, foreign) in [
        (&CC2420, 120.0, 1_500, 0.0, Interference::none()),
        (&CC2420, 60.0, 700, 0.0, Interference::none()),
        (&CC2420, 90.0, 1_000, 1.5, Interference::none()),
        (&CC1000, 250.0, 9_000, 0.0, Interference::none()),
        (&CC2420, 120.0, 1_500, 0.0, bursts()),
    ] {
        let mut env = site(chip, side, Db(packet));
        let is_calm = foreign.at(0, ON).is_none();
        env.interference = foreign;
        let reach = Reach::of_environment(&env, chip, ON, Dbm(0.0));
        let acts = script(chip, 5, 4_000, Duration::from_micros(gap_us));
        let one = run(&mut Medium::new(Arc::new(env), 9), chip, &acts);
        let two = run(&mut Ether::with_packet_draws(reach, 9), chip, &acts);
        for (medium, ether) in one.iter().zip(&two) {
            assert_eq!(medium, ether, "{} {side}", chip.name);
        }
        let lost = |cause| one.iter().filter(|fate| fate.lost == cause).count();
        use Cause::{Collision, Deaf, External, Hidden, NoiseFloor, Weak};
        assert_eq!(lost(Some(External)) < 20, is_calm);
        for cause in [Collision, Deaf, Hidden, NoiseFloor, Weak] {
            assert!(lost(Some(cause)) > 20, "{cause:?} {}", lost(Some(cause)));
        }
        assert!(lost(None) > 500);
    }
}

#[test]
fn how_ears_lie_in_memory_changes_nothing() {
    let places: Vec<(f64, f64)> = (0..EARS as usize)
        .map(|ear| place(ear, 60.0).into())
        .collect();
    let loss = (Db(40.0), Db(33.0));
    let lie = Reach::of_places(&places, &CC2420, loss.0, loss.1, Dbm(0.0));
    let numbered = Reach::as_numbered(&places, &CC2420, loss, Dbm(0.0));
    let acts = script(&CC2420, 3, 1_000, Duration::from_micros(700));
    let [fates, same] = [lie, numbered].map(|reach| run(&mut Ether::new(reach, 3), &CC2420, &acts));
    assert_eq!(fates, same);
}
