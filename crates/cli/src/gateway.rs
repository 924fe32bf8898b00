//! `thalweg gateway`: the daemon with its page, over a simulated network.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use thalweg_gateway::daemon::config::Config;
use thalweg_gateway::daemon::{Daemon, StartError};
use thalweg_gateway::store::StoreError;
use thalweg_lab::gateway::Simulated;
use thalweg_testbeds::{Site, Testbed};

use crate::args::GatewayArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;

/// So often it is looked whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until somebody asks it to stop.
pub(crate) fn run(args: &GatewayArgs) -> Result<(), Failure> {
    let config = config(args)?;
    if args.check {
        return crate::output::print("the configuration is fine\n");
    }
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        // Standard error may be closed, and saying so there ends a thread.
        .log_internal_errors(false)
        .init();
    let simulation = &config.simulation;
    let testbed = Testbed::load(&simulation.testbed)?;
    network::tell(&testbed.name, &testbed.assumed, args.say.verbosity());
    let site = Site::new(testbed, simulation.seed);
    let network = Simulated::new(site, simulation.speed, simulation.bytes);
    let network = network.map_err(Failure::input)?;
    let stop = Interrupt::on_signals();
    let daemon = Daemon::start(&config, network)?;
    let address = daemon.address();
    let line = format!("thalweg: the page is at http://{address}/ (Ctrl-C ends it)");
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{line}");
    while !stop.is_set() && daemon.runs() {
        thread::sleep(LOOK);
    }
    let is_well = daemon.runs();
    daemon.stop();
    match is_well {
        true => Ok(()),
        false => Err(Failure::job("the gateway broke down")),
    }
}

/// The file's configuration, with what options say.
fn config(args: &GatewayArgs) -> Result<Config, Failure> {
    let mut config = match &args.config {
        Some(path) => Config::read(path).map_err(Failure::input)?,
        None => Config::default(),
    };
    let simulation = &mut config.simulation;
    if let Some(testbed) = &args.testbed {
        simulation.testbed.clone_from(testbed);
    }
    if let Some(seed) = args.seed {
        simulation.seed = seed;
    }
    if let Some(speed) = args.speed {
        simulation.speed = speed;
    }
    if let Some(bytes) = args.bytes {
        simulation.bytes = bytes;
    }
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(data) = &args.data {
        config.data.clone_from(data);
    }
    Ok(config)
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(why @ StoreError::NotAFolder(_)) => Self::input(why),
            why @ StartError::NoToken(_) => Self::input(why),
            why => Self::job(why),
        }
    }
}
