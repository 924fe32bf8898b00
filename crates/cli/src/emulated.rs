//! `thalweg basestation --emulated`: the real images of motes and base station, on emulated chips, behind a line.
//!
//! Time base: the wall clock times a factor, as far as this computer keeps up. Tests: `emulated_tests.rs`, `tests/all/line.rs`,
//! `.ci/emulated.py`.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration as WallDuration, Instant as Wall};

use thalweg_emulator::network::Line;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_emulator::soc::Times;
use thalweg_host::line::{Steps as _, Stream};
use thalweg_host::security::NetworkKeys;
use thalweg_nrf52840::identity::Role;
use thalweg_nrf52840::layout::BootLoader;
use thalweg_simnet::emulated::{self, EmulatedError, Images, Program};
use thalweg_testbeds::Site;
use thalweg_units::{Duration, NodeId, SimTime};

use crate::failure::Failure;
use crate::firmware::image::Image;
use crate::firmware::{self, built_in};
use crate::output::plain;

/// Images in a folder.
const IMAGES: [(&str, Role); 2] = [("mote.elf", Role::Mote), ("station.elf", Role::BaseStation)];
/// The longest that the line waits for the network, and the network for the line.
const TURN: WallDuration = WallDuration::from_millis(5);
const READ: WallDuration = WallDuration::from_millis(1);
/// Bytes for a host that does not read, and of one that writes faster than the line; what is more stays where it is.
const UNREAD: usize = 4_096;
/// A computer this far behind does not catch up.
const BEHIND: WallDuration = WallDuration::from_millis(100);

/// A base station and motes that run their images.
pub(crate) struct Emulated(emulated::Emulated);

impl Emulated {
    /// The network of `site` with node `to` or its sink as base station, `line` to its host, and images of `folder`; without
    /// it those that are built in, else those that `firmware/images.sh` made. Each mote has its page of `keys`.
    pub(crate) fn open(
        (site, keys): (&Site, Option<&NetworkKeys>),
        to: Option<NodeId>,
        line: Line,
        folder: Option<&Path>,
    ) -> Result<Self, Failure> {
        emulated::check(site).map_err(|why| Failure::Input(format!("--emulated: {why}")))?;
        let read = |(name, role)| {
            let path = folder.unwrap_or(Path::new(firmware::IMAGES)).join(name);
            let named = |why| Failure::Input(format!("{}: {why}", path.display()));
            let built_in = built_in::image(BootLoader::None, role).filter(|_| folder.is_none());
            let bytes = built_in.map_or_else(|| fs::read(&path), |image| Ok(image.to_vec()));
            let bytes = bytes.map_err(|why| {
                let why = plain(&why);
                named(format!("{why}; `firmware/images.sh` builds images"))
            })?;
            let image = Image::read(bytes).and_then(|image| image.check(role).map(|()| image));
            image.map_err(|why| named(why.to_string()))
        };
        let images = [read(IMAGES[0])?, read(IMAGES[1])?];
        let [mote, station] = images.each_ref().map(|image| Program {
            elf: image.elf(),
            identity: image.layout().identity.first,
        });
        let images = Images {
            mote,
            station,
            keys,
        };
        let network = emulated::Emulated::open(site, (to, line), &images, Perturbation::NONE);
        Ok(Self(network.map_err(|why| match why {
            EmulatedError::Stopped(_) => Failure::job(why),
            why => Failure::input(why),
        })?))
    }

    /// The network's time.
    pub(crate) fn now(&self) -> SimTime {
        self.0.now()
    }

    /// What its chips have spent, as people read it.
    pub(crate) fn spent(&self) -> String {
        let network = &self.0;
        let mean_mw = |mote| {
            let energy = network.energy(mote);
            1e3 * energy.joules() / energy.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
        };
        let station = network.station();
        let motes = (0..network.len()).filter(|mote| *mote != station);
        let powers: Vec<f64> = motes.map(mean_mw).collect();
        let mean = powers.iter().sum::<f64>() / powers.len().max(1) as f64;
        format!(
            "{:.0} s on emulated chips, {} frames; a mote drew {mean:.3} mW on average, the base station {:.3} mW",
            network.now().as_secs_f64(),
            network.network.counts().sent,
            mean_mw(station)
        )
    }

    /// Serves the host at the other end of `line`, until `stop` says so.
    pub(crate) fn run(
        &mut self,
        line: &mut dyn Stream,
        speed: f64,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let mut since = (Wall::now(), self.0.now());
        let mut out = Vec::new();
        while !stop() {
            let began = Wall::now();
            let real = began.duration_since(since.0).as_secs_f64();
            let target = since.1 + Duration::from_secs_f64(real * speed);
            let step = Duration::from_secs_f64(0.001 * speed);
            while self.0.now() < target && began.elapsed() < TURN {
                let until = (self.0.now() + step).min(target);
                self.0.run(until).map_err(Failure::job)?;
            }
            if self.is_behind(target, speed) {
                since = (Wall::now(), self.0.now());
            }
            if out.len() < UNREAD {
                out.extend(self.0.read());
            }
            let wrote = line.write(&out).map_err(Failure::job)?;
            out.drain(..wrote);
            let mut room = [0; 256];
            let len = match self.0.unheard() < UNREAD {
                true => line.read(&mut room, READ).map_err(Failure::job)?,
                // A line takes what its speed allows: the host has to wait.
                false => {
                    thread::sleep(READ);
                    0
                }
            };
            if let Some(bytes) = room.get(..len).filter(|bytes| !bytes.is_empty()) {
                self.0.write(bytes);
            }
        }
        Ok(())
    }

    /// What the images took so far, of the motes and of the base station: the most RAM, and the times in which they armed
    /// starts after frames.
    pub(crate) fn footprints(&self) -> [String; 2] {
        let all = 0..self.0.len();
        let (station, motes): (Vec<usize>, Vec<usize>) =
            all.partition(|mote| *mote == self.0.station());
        [("motes", motes), ("base station", station)].map(|(who, of)| self.footprint(who, &of))
    }
    fn footprint(&self, who: &str, of: &[usize]) -> String {
        let memory = of.iter().filter_map(|mote| self.0.network.memory(*mote));
        let (stack, statics) = memory.max().unwrap_or_default();
        let starts = |after: usize| {
            let times = of.iter().filter_map(|mote| self.0.network.starts(*mote));
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
        self.0.now() + slack < target
    }
}

#[cfg(test)]
#[path = "emulated_tests.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
