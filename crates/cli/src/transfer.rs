//! One transfer: the request to a network, and what the store keeps of it.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;
use thalweg::{Network, Object, Report, Summary, OBJECT_BYTES};
use thalweg_host::store::{CampaignId, NewTransfer, Store, StoredObject};
use thalweg_testbeds::Testbed;
use thalweg_wire::seal::frame::Sealing;

use crate::args::CollectArgs;
use crate::failure::Failure;
use crate::network::{losses, Ends};

/// The network that `args` name, with their request, and the ends that they name.
pub(crate) fn network(args: &CollectArgs) -> Result<(Network, Ends), Failure> {
    let network = Network::open(&args.testbed)?;
    let ends = Ends::of(network.testbed(), &args.from, &args.to)?;
    let losses = losses(network.testbed(), &args.loss)?;
    let network = network
        .seed(args.seed)
        .carried_by(args.protocol)
        .from(ends.from.first().copied())
        .to(ends.to.first().copied())
        .channels(args.channels.as_ref().map(|list| list.0.clone()))
        .payload(args.payload)
        .paths(args.paths)
        .hops(args.hops)
        .age(args.age)
        .idle(args.idle)
        .patience(args.patience)
        .secured(match args.secure {
            true => Sealing::Sealed,
            false => Sealing::Open,
        })
        .at(args.at)
        .losses(losses)
        .control_channel(args.control_channel)?;
    Ok((network.object(object(args)?), ends))
}

/// The object that `--file` or `--bytes` names.
fn object(args: &CollectArgs) -> Result<Object, Failure> {
    match &args.file {
        Some(path) => Ok(thalweg::read_object(path)?),
        None => Ok(Object::Random {
            bytes: args.bytes.unwrap_or(OBJECT_BYTES),
        }),
    }
}

/// The line about an object of a node of `testbed` that did not arrive.
pub(crate) fn not_whole(testbed: &Testbed, o: &Summary) -> String {
    let why = o.failure.as_deref().unwrap_or("it is not whole");
    let source = testbed.named(o.source);
    format!("node {source}: the object did not arrive: {why}")
}

/// Stores the record of `report`, and the object if it arrived whole.
pub(crate) fn remember(
    report: &Report,
    store: &mut Store,
    of: Of<'_>,
) -> Result<Option<StoredObject>, Failure> {
    let summaries = (report.summary(), report.baseline());
    keep(report, summaries, report.object(), store, of)
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

/// Stores `report` with summary `record`, that of the baseline, and `object` if it is whole.
pub(crate) fn keep(
    report: &impl Serialize,
    (record, baseline): (&Summary, Option<&Summary>),
    object: Option<&[u8]>,
    store: &mut Store,
    of: Of<'_>,
) -> Result<Option<StoredObject>, Failure> {
    let json = serde_json::to_string(report).map_err(Failure::job)?;
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
