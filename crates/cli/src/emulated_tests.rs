//! Motes that restart while an object is fetched from them, real images on emulated chips with a host in the same process:
//!
//!     cargo test -p thalweg-cli --bin thalweg emulated -- --ignored
//!
//! It needs `firmware/images.sh none`. What comes is compared byte by byte, so the computer's speed plays no part.

use super::*;
use std::ops::ControlFlow::Continue;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use thalweg::Progress;
use thalweg_emulator::network::Network;
use thalweg_host::line::{Address, LineNetwork};
use thalweg_host::security::{MemoryNumbers, Security};
use thalweg_host::survey::Restarted;
use thalweg_simnet::basestation::Listener;
use thalweg_testbeds::Testbed;
use thalweg_wire::seal::frame::Sealing;
use thalweg_wire::seal::{Key, MasterKey};

/// The base station, two pairs of relays, and a source three hops away.
const SITE: &str = r#"
name = "corridor6"
description = "six motes along a corridor"
board = "nrf52840"
sink = 1
nodes = [
    { id = 1, x_m = 0.0, y_m = 0.0 },
    { id = 2, x_m = 12.0, y_m = 0.0 },
    { id = 3, x_m = 12.0, y_m = 3.0 },
    { id = 4, x_m = 24.0, y_m = 0.0 },
    { id = 5, x_m = 24.0, y_m = 3.0 },
    { id = 6, x_m = 36.0, y_m = 0.0 },
]
[propagation]
wifi = false
"#;
const SOURCE: usize = 5;
/// How many times as fast as the clock, where the computer keeps up.
const SPEED: f64 = 4.0;

/// What happens to a mote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// Its power fails, and comes again.
    Cut,
    /// It runs into an instruction that is none.
    Fault,
}

impl Blow {
    fn strike(self, network: &mut Network, mote: usize) {
        let machine = network.world_mut().chip_mut(mote).unwrap();
        match self {
            Self::Cut => machine.cut_power(802_154),
            Self::Fault => {
                const FREE: u32 = 0x3_8000;
                let core = machine.core_mut();
                assert!(core.memory.program(FREE, &[0x00, 0xde]));
                let mut registers = core.registers();
                registers[15] = FREE;
                core.set_registers(registers);
                // One that sleeps meets it when it wakes; then it starts.
                while network.resets(mote) == 0 {
                    network
                        .run_until(network.now() + Duration::from_millis(10))
                        .unwrap();
                }
                network
                    .run_until(network.now() + Duration::from_secs(3))
                    .unwrap();
            }
        }
    }
}

/// The network on a thread of its own, as long as somebody may strike its motes.
struct Bench {
    network: thalweg::Network,
    security: Option<Security>,
    line: LineNetwork,
    blows: Option<Sender<(usize, Blow)>>,
    runs: Option<JoinHandle<()>>,
}

impl Bench {
    /// With the image `mote` on the motes, which have recorded for so long.
    fn open(mote: &str, recorded: Duration) -> Self {
        Self::with(None, mote, recorded)
    }
    /// The same where all have keys, if there is a `security`.
    fn with(security: Option<Security>, mote: &str, recorded: Duration) -> Self {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/images");
        let images = tempfile::tempdir().unwrap();
        for (from, to) in [(mote, IMAGES[0].0), (IMAGES[1].0, IMAGES[1].0)] {
            fs::copy(Path::new(built).join(from), images.path().join(to)).unwrap();
        }
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        fs::write(file.path(), SITE).unwrap();
        let name = file.path().to_str().unwrap();
        let keys = security.as_ref().map(|security| security.keys.clone());
        let sealing = match keys {
            None => Sealing::Open,
            Some(_) => Sealing::Sealed,
        };
        let network = thalweg::Network::open(name).unwrap().secured(sealing);
        let site = Site::new(Testbed::load(name).unwrap(), 1);
        let emulated = Emulated::open(
            (&site, keys.as_deref()),
            None,
            Line::Uart,
            Some(images.path()),
        );
        let mut emulated = emulated.unwrap();
        let end = emulated.0.now() + recorded;
        emulated.0.run(end).unwrap();
        let mut listener = Listener::open("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.address().unwrap());
        let (blows, struck) = channel::<(usize, Blow)>();
        let runs = thread::spawn(move || loop {
            let blow = std::cell::Cell::new(None);
            let stop = || match struck.try_recv() {
                Ok(one) => {
                    blow.set(Some(one));
                    true
                }
                Err(why) => why == std::sync::mpsc::TryRecvError::Disconnected,
            };
            emulated.run(&mut listener, SPEED, &stop).unwrap();
            let Some((mote, blow)) = blow.get() else {
                return;
            };
            blow.strike(&mut emulated.0.network, mote);
        });
        let address = Address::parse(&address, 1_000_000).unwrap();
        let patience = WallDuration::from_secs(20);
        let line = LineNetwork::open(Box::new(address), patience, Box::new(|| false)).unwrap();
        Self {
            network,
            security,
            line,
            blows: Some(blows),
            runs: Some(runs),
        }
    }

    /// Fetches the source's object; strikes `motes` when a third of it is there.
    fn fetch(&mut self, transfers: u16, motes: &[usize]) -> thalweg::PipelineReport {
        let mut left = motes;
        let blows = self.blows.clone();
        let mut observer = |_: &str, progress| {
            if matches!(progress, Progress::Packets { received, .. } if received > 160) {
                for mote in std::mem::take(&mut left) {
                    blows.as_ref().unwrap().send((*mote, Blow::Cut)).unwrap();
                }
            }
            Continue(())
        };
        let ends = (NodeId::new(1).unwrap(), transfers);
        let report = self
            .network
            .remote(&mut self.line, ends, self.security.as_ref(), &mut observer)
            .unwrap();
        assert!(left.is_empty(), "{motes:?} were struck");
        report
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.blows = None;
        // A thread that failed has said why.
        let _ = self.runs.take().map(JoinHandle::join);
    }
}

fn sample() -> Vec<u8> {
    (0..59_000_u32).map(|n| (n as u8).wrapping_mul(7)).collect()
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn motes_that_restart_within_a_transfer_cost_no_byte() {
    let mut bench = Bench::open(IMAGES[0].0, Duration::ZERO);
    // The source; both relays of a hop; the base station.
    for (number, motes) in [&[][..], &[SOURCE], &[1, 2], &[0]].into_iter().enumerate() {
        let report = bench.fetch(100 * (1 + number as u16), motes);
        assert!(report.object == Some(sample()), "{motes:?}");
    }
}

/// They know after a restart which orders are old, and act on new ones.
#[test]
#[ignore = "needs firmware/images.sh none"]
fn motes_with_keys_cost_no_byte_either() {
    let security = Security {
        keys: Arc::new(NetworkKeys::new(MasterKey::new(Key::new([9; 16])))),
        numbers: Arc::new(MemoryNumbers::default()),
    };
    let mut bench = Bench::with(Some(security), IMAGES[0].0, Duration::ZERO);
    for (number, motes) in [&[][..], &[SOURCE], &[1, 2], &[0]].into_iter().enumerate() {
        let report = bench.fetch(100 * (1 + number as u16), motes);
        assert!(report.object == Some(sample()), "{motes:?}");
        assert!(report.outcome.summary.sealed, "{motes:?}");
    }
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn restarts_are_told_by_the_next_survey_and_last_words_by_the_line() {
    let mut bench = Bench::open(IMAGES[0].0, Duration::ZERO);
    let boot = bench.line.station().unwrap().boot;
    for mote in [3, 0] {
        bench
            .blows
            .as_ref()
            .unwrap()
            .send((mote, Blow::Fault))
            .unwrap();
    }
    let until = Wall::now() + WallDuration::from_secs(60);
    while bench.line.station().unwrap().boot == boot && Wall::now() < until {
        thread::sleep(WallDuration::from_millis(20));
    }
    let about = bench.line.station().unwrap();
    assert_eq!(about.last_words.as_str(), "0x10000 at 0x38000");
    let report = bench.fetch(100, &[]);
    assert!(report.object == Some(sample()));
    let mut restarted = report.survey.unwrap().restarted;
    restarted.sort_by_key(|one| one.node);
    let line = |node| format!("node {node} restarted: fault, 1 restart");
    let power = "power came to nodes 2, 3, 5, 6".to_owned();
    assert_eq!(Restarted::lines(&restarted), [line(1), line(4), power]);
    // Each time that power comes is told in one survey.
    let struck = bench.blows.as_ref().unwrap().send((2, Blow::Cut));
    assert!(struck.is_ok());
    thread::sleep(WallDuration::from_secs(4));
    let restarted = bench.fetch(101, &[]).survey.unwrap().restarted;
    let power = "power came to node 3".to_owned();
    assert_eq!(Restarted::lines(&restarted), [line(1), line(4), power]);
}

#[test]
#[ignore = "needs firmware/images.sh none"]
fn what_the_example_records_is_collected() {
    // A recording of 16,384 bytes takes 32 s.
    let mut bench = Bench::open("vibration.elf", Duration::from_secs(40));
    let report = bench.fetch(100, &[]);
    let samples = (0..8_192_u16).flat_map(u16::to_le_bytes);
    assert!(report.object == Some(samples.collect()));
}
