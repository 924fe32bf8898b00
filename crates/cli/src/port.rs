//! `thalweg collect --port`: the network is behind a base station's line. Tests: `tests/line.rs`.

use std::time::Duration;

use thalweg_host::collector::Report;
use thalweg_host::line::{Address, LineError, LineField};
use thalweg_host::recovery::first_transfer;
use thalweg_host::registry::Family;
use thalweg_simnet::collect::Remote;
use thalweg_simnet::fetch::Wish;
use thalweg_testbeds::Site;

use crate::failure::Stop;
use crate::progress::Watch;

/// How long a base station's greeting is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Surveys and fetches over the line at `port`, a serial one at `baud`.
pub(crate) fn fetch(
    (port, baud): (&str, u32),
    wish: &Wish,
    site: &Site,
    watch: &mut Watch,
) -> Result<Report, Stop> {
    let Family::Pipeline(protocol) = wish.protocol.family else {
        let line = format!("--port is not for --protocol {}", wish.protocol.name);
        return Err(Stop::Input(line));
    };
    let address = Address::parse(port, baud);
    let address = address.map_err(|why| Stop::Input(format!("--port: {why}")))?;
    let interrupt = watch.interrupt.clone();
    let stopping = Box::new(move || interrupt.is_set());
    let mut field = match LineField::open(Box::new(address), PATIENCE, stopping) {
        Ok(field) => field,
        Err(_) if watch.interrupt.is_set() => return Err(Stop::Interrupted),
        Err(why @ LineError::Open { .. }) => return Err(Stop::Input(why.to_string())),
        Err(why) => return Err(Stop::Failed(why.to_string())),
    };
    let station = field
        .station()
        .map_or(site.testbed.sink, |about| about.node);
    let (ends, channels) = ((station, protocol), wish.channels.as_deref());
    let first = first_transfer();
    let mut observer = |label: &str, progress| watch.note(label, progress);
    let mut network = Remote::survey(&mut field, site, ends, channels, first, &mut observer)?;
    Ok(network.fetch(&wish.ask(protocol), &mut observer)?)
}
