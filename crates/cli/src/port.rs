//! `thalweg collect --port`: the network is behind a base station's line. Tests: `tests/all/line.rs`.

use std::time::Duration;

use thalweg::{Network, PipelineReport};
use thalweg_host::line::{Address, LineError, LineNetwork};
use thalweg_host::recovery::first_transfer;
use thalweg_host::security::Security;

use crate::failure::Stop;
use crate::interrupt::Interrupt;
use crate::progress::Watch;

/// How long a base station's greeting is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The line at `port`, a serial one at `baud`.
pub(crate) fn open((port, baud): (&str, u32), interrupt: &Interrupt) -> Result<LineNetwork, Stop> {
    let address = Address::parse(port, baud);
    let address = address.map_err(|why| Stop::Input(format!("--port: {why}")))?;
    let asked = interrupt.clone();
    let stopping = Box::new(move || asked.is_set());
    match LineNetwork::open(Box::new(address), PATIENCE, stopping) {
        Ok(line) => Ok(line),
        Err(_) if interrupt.is_set() => Err(Stop::Interrupted),
        Err(why @ LineError::Open { .. }) => Err(Stop::Input(why.to_string())),
        Err(why) => Err(Stop::Failed(why.to_string())),
    }
}

/// Surveys and fetches over a line; of a secured network with its `security`.
pub(crate) fn fetch(
    port: (&str, u32),
    network: &Network,
    security: Option<&Security>,
    watch: &mut Watch,
) -> Result<PipelineReport, Stop> {
    let (protocol, request) = (network.pipeline("port")?, network.request()?);
    if protocol.measures_again() {
        watch.sought = request.from.map(|node| (node, request.patience.unknown));
    }
    let mut line = open(port, &watch.interrupt)?;
    let sink = network.testbed().sink;
    let about = line.station();
    let station = about.map_or(sink, |about| about.node);
    if let Some(about) = about.filter(|about| !about.last_words.as_str().is_empty()) {
        let words = about.last_words.as_str();
        let line = format!("thalweg: the base station's program had ended: {words}");
        watch.reporter.line(&line);
    }
    let ends = (station, first_transfer());
    let mut observer = |label: &str, progress| watch.note(label, progress);
    Ok(network.remote(&mut line, ends, security, &mut observer)?)
}
