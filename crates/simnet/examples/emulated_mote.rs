//! Motes that run their real images on emulated chips, in the corridor `motes20`: what they send and what they draw. The images come
//! of `firmware/images.sh`, whose folder is the argument:
//!
//!     cargo run --release -p thalweg-simnet --example emulated_mote firmware/images

use std::error::Error;
use std::path::Path;
use std::{env, fs};
use thalweg_emulator::network::Line;
use thalweg_emulator::perturbation::Perturbation;
use thalweg_host::line::Steps as _;
use thalweg_nrf52840::layout::BootLoader;
use thalweg_simnet::emulated::{Emulated, Images, Program};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("expected the folder of images")?;
    let image = |name| {
        let path = Path::new(&folder).join(name);
        fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))
    };
    let (mote, station) = (image("mote.elf")?, image("station.elf")?);
    // Without a boot loader, as `firmware/images.sh none` links them.
    let identity = BootLoader::None.layout().identity.first;
    let images = Images {
        mote: Program {
            elf: &mote,
            identity,
        },
        station: Program {
            elf: &station,
            identity,
        },
        keys: None,
    };
    let site = Site::new(Testbed::load("motes20")?, 1);
    let mut network = Emulated::open(&site, (None, Line::Uart), &images, Perturbation::NONE)?;
    let end = network.now() + Duration::from_secs(5);
    network.run(end)?;
    println!(
        "{} frames in {:.1} s",
        network.network.counts().sent,
        network.now().as_secs_f64()
    );
    for mote in 0..network.len() {
        println!(
            "mote {mote:>2}: {:.2} mJ",
            1e3 * network.energy(mote).joules()
        );
    }
    Ok(())
}
