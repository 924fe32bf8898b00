//! One transfer: what is asked of a network, and what the store keeps of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use thalweg_host::known::Ask;
use thalweg_host::outcome::Core;
use thalweg_host::parts::LARGEST;
use thalweg_host::registry::{Family, Protocol};
use thalweg_host::store::{CampaignId, Kept, NewTransfer, Store};
use thalweg_simnet::collect::Object;
use thalweg_simnet::fetch::{Report, Wish};
use thalweg_units::NodeId;
use thalweg_wire::route::PayloadSize;

use crate::args::CollectArgs;
use crate::failure::Failure;
use crate::output;
use crate::values::MAX_PAYLOAD;

/// The object of the paper's experiments: 500 packets of 118 bytes.
const DEFAULT_BYTES: u32 = 59_000;
/// The largest file that is read into memory to be sent; a transfer takes far less.
const MAX_FILE: u64 = LARGEST as u64;

/// What to ask of the planner for `bytes` bytes from `from`; a line that says why not, where `protocol` plans
/// no routes for one radio.
pub(crate) fn ask(
    protocol: &Protocol,
    from: Option<NodeId>,
    bytes: u64,
    payload: u8,
    (paths, hops): (Option<u8>, Option<u8>),
) -> Result<Ask, Failure> {
    let Family::Pipeline(pipelined) = protocol.family else {
        let line = format!(
            "--protocol {}: its paths are not planned alone",
            protocol.name
        );
        return Err(Failure::Input(line));
    };
    Ok(Ask {
        from,
        bytes,
        protocol: pipelined,
        payload: self::payload(payload)?,
        paths,
        hops,
    })
}

/// What `collect` asks.
pub(crate) fn wish(args: &CollectArgs) -> Result<Wish, Failure> {
    Ok(Wish {
        protocol: args.protocol,
        from: args.from.first().copied(),
        to: args.to.first().copied(),
        channels: args.channels.as_ref().map(|list| list.0.clone()),
        payload: payload(args.payload.unwrap_or(MAX_PAYLOAD))?,
        paths: args.paths,
        hops: args.hops,
        object: object(args)?,
    })
}

fn payload(bytes: u8) -> Result<PayloadSize, Failure> {
    let payload = PayloadSize::new(bytes);
    payload.ok_or_else(|| Failure::input("a packet holds 1 to 118 bytes"))
}

/// The object that `--file` or `--bytes` names.
pub(crate) fn object(args: &CollectArgs) -> Result<Object, Failure> {
    let Some(path) = &args.file else {
        return Ok(Object::Random {
            bytes: args.bytes.unwrap_or(DEFAULT_BYTES),
        });
    };
    let named = |what: &str| Failure::Input(format!("{}: {what}", path.display()));
    let unreadable = |error| named(&format!("cannot be read: {}", output::plain(&error)));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() as u64 {
        0 => Err(named("is empty; there is nothing to send")),
        length if length > MAX_FILE => Err(named("is larger than 64 MiB")),
        _ => Ok(Object::Bytes(Arc::from(bytes))),
    }
}

/// The line about an object that did not arrive.
pub(crate) fn not_whole(o: &Core) -> String {
    let why = o.failure.as_deref().unwrap_or("it is not whole");
    format!("node {}: the object did not arrive: {why}", o.source)
}

/// Stores what `report` tells: the object if it arrived whole, and its record in either case.
pub(crate) fn remember(
    report: &Report,
    store: &mut Store,
    of: Of<'_>,
) -> Result<Option<Kept>, Failure> {
    let cores = (report.core(), report.baseline());
    keep(report, cores, report.object(), store, of)
}

/// What a transfer belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Of<'a> {
    /// Its campaign.
    pub(crate) campaign: Option<CampaignId>,
    /// The name of the file that was sent.
    pub(crate) file: Option<&'a str>,
}

impl<'a> Of<'a> {
    /// What `--file` says.
    pub(crate) fn file(args: &'a CollectArgs) -> Self {
        let name = args.file.as_deref().and_then(Path::file_name);
        Self {
            campaign: None,
            file: name.and_then(OsStr::to_str),
        }
    }
    /// The same in a campaign.
    pub(crate) const fn within(self, campaign: CampaignId) -> Self {
        Self {
            campaign: Some(campaign),
            ..self
        }
    }
}

/// The same of `told`, whose core is `record`, with that of the baseline that ran beside it.
pub(crate) fn keep(
    told: &impl Serialize,
    (record, baseline): (&Core, Option<&Core>),
    object: Option<&[u8]>,
    store: &mut Store,
    of: Of<'_>,
) -> Result<Option<Kept>, Failure> {
    let json = serde_json::to_string(told).map_err(Failure::job)?;
    let new = NewTransfer {
        record,
        baseline,
        report: &json,
        campaign: of.campaign,
        job: None,
        file: of.file,
    };
    Ok(match object {
        Some(object) => Some(store.keep(&new, object)?),
        None => store.note(&new).map(|_| None)?,
    })
}
