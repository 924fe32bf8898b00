//! `thalweg basestation --emulated`: the real images of motes and base station, on emulated chips, behind a line.
//!
//! Time base: the wall clock times a factor, as far as this computer keeps up. Tests: `tests/all/line.rs`, `.ci/emulated.py`.

use std::fs;
use std::path::Path;
use std::time::{Duration as WallDuration, Instant as Wall};

use thalweg_emulator::network::{Flash, Network};
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::soc::Times;
use thalweg_host::line::Stream;
use thalweg_medium::chip::NRF52840;
use thalweg_nrf52840::identity::{Identity, Role, RECORD_BYTES};
use thalweg_testbeds::Site;
use thalweg_units::{Duration, NodeId, SimTime};

use crate::failure::Failure;
use crate::firmware::image::Image;
use crate::output::plain;

/// Images in a folder.
const IMAGES: [&str; 2] = ["mote.elf", "station.elf"];
/// By then every mote is on, and has made the recording that it lacked.
const READY: SimTime = SimTime::from_nanos(3_000_000_000);
/// The longest that the line waits for the network, and the network for the line.
const TURN: WallDuration = WallDuration::from_millis(5);
const READ: WallDuration = WallDuration::from_millis(1);
/// A computer this far behind does not catch up.
const BEHIND: WallDuration = WallDuration::from_millis(100);

/// A base station and motes that run their images.
pub(crate) struct Emulated {
    network: Network,
    node: NodeId,
    station: usize,
}

impl Emulated {
    /// The network of `site` with node `to` or its sink as base station, and images of `folder`.
    pub(crate) fn open(site: &Site, to: Option<NodeId>, folder: &Path) -> Result<Self, Failure> {
        let testbed = &site.testbed;
        if *site.board.chip != NRF52840 {
            let (name, board) = (&testbed.name, &testbed.board_name);
            return Err(Failure::Input(format!(
                "--emulated: {name} has boards {board:?}; only chips nRF52840 are emulated (board = \"nrf52840\" in the testbed's file)"
            )));
        }
        let read = |name: &str| {
            let path = folder.join(name);
            let named = |why| Failure::Input(format!("{}: {why}", path.display()));
            let bytes = fs::read(&path).map_err(|why| {
                let why = plain(&why);
                named(format!("{why}; `firmware/images.sh` builds images"))
            })?;
            Image::read(bytes).map_err(|why| named(why.to_string()))
        };
        let [mote, station] = [read(IMAGES[0])?, read(IMAGES[1])?];
        let node = to.unwrap_or(testbed.sink);
        let motes: Vec<(&Image, [u8; RECORD_BYTES])> = testbed
            .nodes
            .iter()
            .map(|at| {
                let (image, role) = match at.id == node {
                    true => (&station, Role::BaseStation),
                    false => (&mote, Role::Mote),
                };
                let (channels, floods) = (testbed.channels, testbed.control);
                let identity = Identity {
                    node: at.id,
                    role,
                    channels,
                    floods,
                };
                (image, identity.bytes())
            })
            .collect();
        let motes: Vec<Flash<'_>> = motes
            .iter()
            .map(|(image, identity)| Flash {
                image: image.elf(),
                identity: (image.layout().identity.first, identity),
            })
            .collect();
        let environment = site.environment.clone();
        let network = Network::open(environment, &motes, (site.seed, Perturbation::NONE));
        let mut network = network.map_err(Failure::input)?;
        network.run_until(READY).map_err(Failure::job)?;
        Ok(Self {
            network,
            node,
            station: testbed.index_of(node).unwrap_or(testbed.sink_index()),
        })
    }

    /// The base station's node.
    pub(crate) const fn node(&self) -> NodeId {
        self.node
    }

    /// Serves the host at the other end of `line`, until `stop` says so.
    pub(crate) fn run(
        &mut self,
        line: &mut dyn Stream,
        speed: f64,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut since = (Wall::now(), self.network.now());
        let mut out = Vec::new();
        while !stop() {
            let began = Wall::now();
            let real = began.duration_since(since.0).as_secs_f64();
            let target = since.1 + Duration::from_secs_f64(real * speed);
            let step = Duration::from_secs_f64(0.001 * speed);
            while self.network.now() < target && began.elapsed() < TURN {
                let until = (self.network.now() + step).min(target);
                self.network.run_until(until).map_err(Failure::job)?;
            }
            if self.is_behind(target, speed) {
                since = (Wall::now(), self.network.now());
            }
            out.extend(self.network.take_line(self.station));
            let wrote = line.write(&out).map_err(Failure::job)?;
            out.drain(..wrote);
            let mut room = [0; 256];
            let len = line.read(&mut room, READ).map_err(Failure::job)?;
            if let Some(bytes) = room.get(..len).filter(|bytes| !bytes.is_empty()) {
                self.network.send_line(self.station, bytes);
            }
        }
        Ok(())
    }

    /// What the images took so far, of the motes and of the base station: the most RAM, and the times in which they armed
    /// starts after frames.
    pub(crate) fn footprints(&self) -> [String; 2] {
        let all = 0..self.network.motes();
        let (station, motes): (Vec<usize>, Vec<usize>) =
            all.partition(|mote| *mote == self.station);
        [("motes", motes), ("base station", station)].map(|(who, of)| self.footprint(who, &of))
    }
    fn footprint(&self, who: &str, of: &[usize]) -> String {
        let memory = of.iter().filter_map(|mote| self.network.memory(*mote));
        let (stack, statics) = memory.max().unwrap_or_default();
        let starts = |after: usize| {
            let times = of.iter().filter_map(|mote| self.network.starts(*mote));
            let times: Times = times.map(|starts| starts[after].clone()).sum();
            let [median, most] = [50, 100].map(|percent| times.percentile_us(percent));
            let (median, most) = (median.unwrap_or(0), most.unwrap_or(0));
            format!("{median} us, {most} at most ({})", times.count())
        };
        let (received, sent) = (starts(0), starts(1));
        format!(
            "{who}: {statics} B of RAM and {stack} of stack; starts armed {received} after a frame received, {sent} after one sent"
        )
    }

    fn is_behind(&self, target: SimTime, speed: f64) -> bool {
        let slack = Duration::from_secs_f64(BEHIND.as_secs_f64() * speed);
        self.network.now() + slack < target
    }
}
