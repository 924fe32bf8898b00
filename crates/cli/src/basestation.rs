//! `thalweg basestation`: a simulated network behind a base station's line. Tests: `tests/all/line.rs`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Instant, SystemTime};

use thalweg_emulator::network::Line as Cable;
use thalweg_host::line::Stream;
use thalweg_host::security::NetworkKeys;
use thalweg_simnet::basestation::{BaseStation, Listener, Pty, Setup};
use thalweg_simnet::collect::{check, Object};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::NodeId;

use crate::args::{BasestationArgs, CableArg};
use crate::emulated::Emulated;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::network;
use crate::output::{self, plain};
use crate::progress::Reporter;

/// Below this share of the speed that was asked for, emulated chips are said to be slower.
const KEPT_UP: f64 = 0.9;

/// Runs a base station until it is stopped.
pub(crate) fn run(args: &BasestationArgs) -> Result<(), Failure> {
    let testbed = Testbed::load(&args.testbed)?;
    let keys = network::keys(&testbed)?;
    let to = args.to.as_ref();
    let to = to.map(|node| network::id(&testbed, "--to", node));
    let to = to.transpose()?;
    check(&testbed, (None, to)).map_err(Failure::input)?;
    network::report_assumed(&testbed.name, &testbed.assumed, args.say.verbosity());
    let site = Site::new(testbed, args.seed);
    if let Some(folder) = &args.emulated {
        return emulated(args, to, (&site, keys.as_deref()), folder.as_deref());
    }
    let setup = Setup {
        node: to,
        object: Object::Random { bytes: args.bytes },
        speed: args.speed,
        baud: args.baud,
        room_bytes: args.room,
        boot: boot(),
        keys,
    };
    if let Some(folder) = &args.save {
        save(folder, &site, &setup)?;
    }
    let mut station = BaseStation::open(&site, &setup).map_err(Failure::input)?;
    let about = format!(
        "node {} of {}, {} times as fast as the clock",
        station.about().node,
        site.testbed.name,
        args.speed
    );
    serve(args, &about, |line, stop| {
        station.run(line, stop).map_err(Failure::job)
    })
}

/// The same with images on emulated chips.
fn emulated(
    args: &BasestationArgs,
    to: Option<NodeId>,
    (site, keys): (&Site, Option<&NetworkKeys>),
    folder: Option<&Path>,
) -> Result<(), Failure> {
    let line = match args.line {
        CableArg::Uart => Cable::Uart,
        CableArg::Usb => Cable::Usb,
    };
    let mut network = Emulated::open((site, keys), to, line, folder)?;
    let node = to.unwrap_or(site.testbed.sink);
    let about = format!("node {node} of {}, on emulated chips", site.testbed.name);
    let mut reached = args.speed;
    serve(args, &about, |line, stop| {
        let (began, from) = (Instant::now(), network.now());
        let ran = network.run(line, args.speed, stop);
        let took = began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        reached = network.now().since(from).as_secs_f64() / took;
        ran
    })?;
    let mut reporter = Reporter::to_stderr(args.say.verbosity());
    reporter.line(&format!("thalweg: {}", network.spent()));
    if reached < KEPT_UP * args.speed {
        let asked = args.speed;
        reporter.line(&format!(
            "thalweg: this computer ran them {reached:.1} times as fast as the clock, and --speed {asked} asked for more"
        ));
    }
    // With what firmware developers hold an image to its limits.
    for line in network.footprints() {
        reporter.line(&format!("thalweg: {line}"));
    }
    Ok(())
}

/// Opens the line, says where it is, and has `run` serve it until it is stopped.
fn serve(
    args: &BasestationArgs,
    about: &str,
    run: impl FnOnce(&mut dyn Stream, &dyn Fn() -> bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let interrupt = Interrupt::on_signals();
    let Line {
        mut stream,
        place,
        link,
    } = open(args)?;
    let mut reporter = Reporter::to_stderr(args.say.verbosity());
    reporter.line(&format!("thalweg: {about}; Ctrl-C stops it"));
    output::print(&format!("{place}\n"))?;
    let ran = run(&mut *stream, &|| interrupt.is_set());
    drop(link);
    ran
}

/// Writes what each node has into `folder`.
fn save(folder: &Path, site: &Site, setup: &Setup) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|why| output::cannot_write(folder, &why))?;
    let station = setup.node.unwrap_or(site.testbed.sink);
    let nodes = site.testbed.nodes.iter().map(|node| node.id);
    for node in nodes.filter(|node| *node != station) {
        let path = folder.join(format!("{node}.bin"));
        let object = setup.object.of(site.seed, node);
        fs::write(&path, object).map_err(|why| output::cannot_write(&path, &why))?;
    }
    Ok(())
}

/// A symbolic link that goes with the program.
struct Link(PathBuf);

impl Drop for Link {
    fn drop(&mut self) {
        // Somebody else may have taken it away.
        let _ = fs::remove_file(&self.0);
    }
}

/// The base station's end of its line.
struct Line {
    stream: Box<dyn Stream>,
    /// Where a host finds it.
    place: String,
    link: Option<Link>,
}

fn open(args: &BasestationArgs) -> Result<Line, Failure> {
    if let Some(address) = &args.tcp {
        let named = |why: io::Error| Failure::Input(format!("--tcp {address}: {}", plain(&why)));
        let listener = Listener::open(address).map_err(named)?;
        let place = listener.address().map_err(named)?;
        return Ok(Line {
            stream: Box::new(listener),
            place: format!("tcp:{place}"),
            link: None,
        });
    }
    let none = |why: io::Error| Failure::Job(format!("no pseudo-terminal: {}", plain(&why)));
    let pty = Pty::open().map_err(none)?;
    let path = pty.path().to_owned();
    let link = args
        .link
        .as_deref()
        .map(|at| linked(at, &path))
        .transpose()?;
    let place = args.link.as_deref().unwrap_or(&path).display().to_string();
    Ok(Line {
        stream: Box::new(pty),
        place,
        link,
    })
}

/// Makes `at` a symbolic link to `path`. What is there goes if it is one, too.
fn linked(at: &Path, path: &Path) -> Result<Link, Failure> {
    let named = |why: &dyn std::fmt::Display| Failure::Input(format!("{}: {why}", at.display()));
    match fs::symlink_metadata(at) {
        Ok(found) if !found.is_symlink() => return Err(named(&"exists, and is no symbolic link")),
        Ok(_) => fs::remove_file(at).map_err(|why| named(&plain(&why)))?,
        Err(_) => {}
    }
    symlink(path, at).map_err(|why| named(&plain(&why)))?;
    Ok(Link(at.to_owned()))
}

/// Another number for each start.
fn boot() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| (since.as_nanos() / 1_000) as u32) ^ process::id().rotate_left(16)
}
