//! Reception ratios on small benches, through the whole medium.
#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;
use thalweg_medium::chip::CC2420;
use thalweg_medium::random::{normal, stream};
use thalweg_medium::{Air, EarId, Environment, Explain, Medium, Outcome, Reception, Sending};
use thalweg_units::{Channel, Db, Dbm, Duration, SimTime};

pub const CHANNEL: Channel = Channel::LAST;

/// The ear that listens; all others send.
pub const RECEIVER: EarId = EarId(0);

/// One sender of a bench.
#[derive(Clone, Copy)]
pub struct Sender {
    /// Received power.
    pub level: Dbm,
    /// Start after the first one.
    pub delay: Duration,
    /// Which frame it sends: senders of the same number are synchronous.
    pub frame: u8,
}

/// What `frames` frames of `psdu_bytes` came to at a receiver among `senders`, all starting about
/// together; start errors are normal with `sigma_ns`. Counts frames of number 0 only.
pub fn bench(senders: &[Sender], psdu_bytes: usize, frames: u32, sigma_ns: f64) -> f64 {
    let mut good = 0;
    bench_each(senders, psdu_bytes, frames, sigma_ns, |r| {
        good += u32::from(r.outcome == Outcome::Good);
    });
    f64::from(good) / f64::from(frames)
}

pub fn bench_each(
    senders: &[Sender],
    psdu_bytes: usize,
    frames: u32,
    sigma_ns: f64,
    mut each: impl FnMut(&Reception),
) {
    // A pool of oscillators, so that each frame meets other carrier offsets.
    let pool = 97;
    let env = Environment::from_gains(pool + 1, &CC2420, 1, |_, to, _| {
        (to == 0).then_some(Dbm(0.0))
    });
    let mut medium = Medium::new(Arc::new(env), 5);
    let mut rng = stream(3, "starts", &[]);
    let (mut locked, mut received) = (Vec::new(), Vec::new());
    medium.listen(SimTime::ZERO, RECEIVER, CHANNEL);
    let mut next = 0;
    for frame in 0..frames {
        let at = SimTime::ZERO + Duration::from_millis(10 * u64::from(frame + 1));
        let mut starts: Vec<_> = senders
            .iter()
            .map(|s| {
                let jitter = 2_000.0 + sigma_ns * normal(&mut rng);
                (at + s.delay + Duration::from_nanos(jitter as u64), *s)
            })
            .collect();
        starts.sort_by_key(|(at, _)| *at);
        let mut sent = Vec::new();
        for (at, sender) in starts {
            next = (next + 1 + frame % 5) % pool as u32;
            let mpdu = vec![sender.frame; psdu_bytes - 2];
            let from = EarId(next + 1);
            let tx = medium.begin(
                at,
                &Sending::of(&CC2420, from, CHANNEL, sender.level, &mpdu),
                &mut locked,
            );
            sent.push((at + CC2420.phy.air_time(psdu_bytes - 2), sender.frame, tx));
        }
        for (at, number, tx) in sent {
            received.clear();
            medium.end(at, tx, Explain::Losses, &mut received, &mut locked);
            if number == 0 {
                received.iter().for_each(&mut each);
            }
        }
    }
}

/// Synchronous senders at `level`.
pub fn equal(count: usize, level: Dbm) -> Vec<Sender> {
    vec![
        Sender {
            level,
            delay: Duration::ZERO,
            frame: 0
        };
        count
    ]
}

/// A sender at -60 dBm and, `late` after it, an interferer with another frame weaker by `sir`.
pub fn against(sir: Db, late: Duration) -> Vec<Sender> {
    vec![
        Sender {
            level: Dbm(-60.0),
            delay: Duration::ZERO,
            frame: 0,
        },
        Sender {
            level: Dbm(-60.0) - sir,
            delay: late,
            frame: 1,
        },
    ]
}
