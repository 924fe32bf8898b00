//! `thalweg gateway`: the daemon with its page, over a base station's line or a simulated network. Tests: at the end, and
//! `crates/cli/tests/all/gateway/`.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;
use thalweg_daemon::config::{base_stations, Config, NetworkConfig, SecurityConfig};
use thalweg_daemon::{Daemon, StartError, Station};
use thalweg_host::line::AddressError;
use thalweg_host::store::StoreError;
use thalweg_simnet::motes::RunError;
use thalweg_simnet::networks::{Behind, Simulated};
use thalweg_testbeds::{Site, Testbed};
use thalweg_wire::seal::frame::Sealing;

use crate::args::GatewayArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;

/// How often it checks whether it should end.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until it is asked to stop.
pub(crate) fn run(args: &GatewayArgs) -> Result<(), Failure> {
    let mut config = config(args)?;
    if args.check {
        Daemon::check(&config, &stations(&mut config.clone(), args)?)?;
        return crate::output::print("the configuration is fine\n");
    }
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        // Standard error may be closed, and saying so there ends a thread.
        .log_internal_errors(false)
        .init();
    let stations = stations(&mut config, args)?;
    let stop = Interrupt::on_signals();
    let daemon = Daemon::start_all(&config, stations)?;
    let page = page_at(daemon.address());
    let line = format!("thalweg: the page is at {page} (Ctrl-C ends it)");
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "{line}");
    let mut service = Service::ready();
    while !stop.is_set() && daemon.runs() {
        thread::sleep(LOOK);
        service.lives();
    }
    let is_well = daemon.runs();
    service.ends();
    daemon.stop();
    match is_well {
        true => Ok(()),
        false => Err(Failure::job("the gateway broke down")),
    }
}

/// Where a browser finds the page of a gateway that listens at `address`. One that listens everywhere has no address that
/// can be opened: this machine's own is named.
fn page_at(address: SocketAddr) -> String {
    let own: IpAddr = match address.ip() {
        ip if !ip.is_unspecified() => return format!("http://{address}/"),
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let own = SocketAddr::new(own, address.port());
    format!("http://{own}/, and at every other address of this machine")
}

/// The networks of `config`, with their testbeds.
fn stations(config: &mut Config, args: &GatewayArgs) -> Result<Vec<Station>, Failure> {
    let testbeds = testbeds(config)?;
    let all = config.networks().iter().zip(testbeds);
    all.map(|(of, testbed)| station(of, testbed, args))
        .collect()
}

/// Reports to systemd, if it started the gateway: that it serves, that it lives, that it ends.
struct Service {
    /// How often systemd wants to hear that the gateway lives.
    period: Option<Duration>,
    notified: Instant,
}

impl Service {
    fn ready() -> Self {
        notify(NotifyState::Ready);
        Self {
            // Half of its patience, as sd_watchdog_enabled(3) recommends.
            period: sd_notify::watchdog_enabled().map(|patience| patience / 2),
            notified: Instant::now(),
        }
    }
    fn lives(&mut self) {
        if self
            .period
            .is_some_and(|period| self.notified.elapsed() >= period)
        {
            notify(NotifyState::Watchdog);
            self.notified = Instant::now();
        }
    }
    fn ends(self) {
        notify(NotifyState::Stopping);
    }
}

fn notify(what: NotifyState<'_>) {
    // Without systemd there is no listener.
    let _ = sd_notify::notify(&[what]);
}

/// The testbeds of all networks. From now on the configuration names each control channel, and no two stations of one
/// building may share one.
fn testbeds(config: &mut Config) -> Result<Vec<Testbed>, Failure> {
    let networks = match config.stations.is_empty() {
        true => slice::from_mut(&mut config.network),
        false => &mut config.stations[..],
    };
    let load = |of: &mut NetworkConfig| {
        let testbed = testbed(of)?;
        of.control = Some(testbed.control);
        Ok(testbed)
    };
    let testbeds = networks.iter_mut().map(load);
    let testbeds: Vec<Testbed> = testbeds.collect::<Result<_, Failure>>()?;
    config.check().map_err(Failure::Input)?;
    Ok(testbeds)
}

/// The testbed that `of` names, with floods on the channel that it says.
fn testbed(of: &NetworkConfig) -> Result<Testbed, Failure> {
    let testbed = Testbed::load(of.testbed().map_err(Failure::Input)?)?;
    match of.control {
        Some(control) => {
            (testbed.flooding_on(control)).map_err(|why| Failure::Input(format!("control: {why}")))
        }
        None => Ok(testbed),
    }
}

/// The network that `of` names.
fn station(of: &NetworkConfig, testbed: Testbed, args: &GatewayArgs) -> Result<Station, Failure> {
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let site = Site::new(testbed, of.seed);
    let site = match of.security {
        SecurityConfig::Require => site.secured(Sealing::Sealed),
        // As its file says.
        SecurityConfig::Off => site,
    };
    let line = of.line().map_err(|why| named_port(&why))?;
    let refused = |why: RunError| match &of.name {
        Some(name) => Failure::Input(format!("station \"{name}\": {why}")),
        None => Failure::input(why),
    };
    Ok(match line {
        Some(address) => {
            let keys = network::keys_where(&site.testbed, site.sealing())?;
            let behind = Behind::new(address, site, of.bytes).map_err(refused)?;
            Station::new(of, behind.keyed(keys))
        }
        None => {
            let network = Simulated::new(site, of.speed, of.bytes).map_err(refused)?;
            let network = network
                .to(&of.to)
                .map_err(|why| Failure::Input(format!("to: {why}")))?;
            Station::new(of, network)
        }
    })
}

/// The file's configuration, with what options say.
fn config(args: &GatewayArgs) -> Result<Config, Failure> {
    let mut config = match &args.config {
        Some(path) => Config::read(path).map_err(Failure::input)?,
        None => Config::default(),
    };
    let of_network = [
        ("--port", args.port.is_some()),
        ("--baud", args.baud.is_some()),
        ("--testbed", args.testbed.is_some()),
        ("--seed", args.seed.is_some()),
        ("--speed", args.speed.is_some()),
        ("--bytes", args.bytes.is_some()),
        ("--to", !args.to.is_empty()),
    ];
    let named = of_network.iter().find(|(_, is_named)| *is_named);
    if let (Some((option, _)), false) = (named, config.stations.is_empty()) {
        return Err(Failure::Input(format!(
            "{option}: the configuration names stations; say it there"
        )));
    }
    let network = &mut config.network;
    if let Some(port) = &args.port {
        network.port = Some(port.clone());
    }
    if let Some(baud) = args.baud {
        network.baud = baud;
    }
    if let Some(testbed) = &args.testbed {
        network.testbed = Some(testbed.clone());
    }
    if let Some(seed) = args.seed {
        network.seed = seed;
    }
    if let Some(speed) = args.speed {
        network.speed = speed;
    }
    if let Some(bytes) = args.bytes {
        network.bytes = bytes;
    }
    if !args.to.is_empty() {
        let named = base_stations(args.to.clone());
        network.to = named.map_err(|why| Failure::Input(format!("--to: {why}")))?;
    }
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(data) = &args.data {
        config.data.clone_from(data);
    }
    config.network.line().map_err(|why| named_port(&why))?;
    for network in config.networks() {
        network.testbed().map_err(Failure::Input)?;
    }
    // Options may not suit what the file says.
    config.check().map_err(Failure::Input)?;
    Ok(config)
}

fn named_port(why: &AddressError) -> Failure {
    Failure::Input(format!("--port: {why}"))
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(why @ StoreError::NotAFolder(_)) => Self::input(why),
            why @ (StartError::NoToken(_) | StartError::Stations(_)) => Self::input(why),
            why => Self::job(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_told_at_an_address_that_opens() {
        let told = |address: &str| page_at(address.parse().unwrap());
        assert_eq!(told("127.0.0.1:8654"), "http://127.0.0.1:8654/");
        assert_eq!(told("192.0.2.7:80"), "http://192.0.2.7:80/");
        assert_eq!(told("[::1]:8654"), "http://[::1]:8654/");
        let everywhere = "and at every other address of this machine";
        let v4 = format!("http://127.0.0.1:8654/, {everywhere}");
        assert_eq!(told("0.0.0.0:8654"), v4);
        assert_eq!(
            told("[::]:8654"),
            format!("http://[::1]:8654/, {everywhere}")
        );
    }
}
