//! `thalweg objects --gateway`: a gateway's objects, printed as a folder's are.

use std::path::Path;

use serde_json::Value;
use thalweg_host::store::{digest_of, file_name};
use thalweg_units::NodeId;
use ureq::http::StatusCode;

use super::http::{Answered, Client, Trouble};
use super::model::Object;
use crate::address::Address;
use crate::args::ObjectsCommand;
use crate::failure::{one_line, Failure};
use crate::objects::{self, Export, Shown, Wrong};
use crate::output::print_json;

/// The largest object that is taken into memory, in bytes.
const LARGEST: u64 = 256 << 20;
/// Objects of a page.
const PAGE: usize = 1_000;

/// Runs `thalweg objects` for the gateway at `address`.
pub(crate) fn run(command: &ObjectsCommand, address: &Address) -> Result<(), Failure> {
    let client = Client::new(address, command.remote().token_file.as_deref())?;
    let all = all(&client)?;
    match command {
        ObjectsCommand::List { json, .. } => {
            objects::tell_list(&shown(&client, &all), &address.to_string(), *json)
        }
        ObjectsCommand::Show { object, json, .. } => show(&client, &all, object, *json),
        ObjectsCommand::Export {
            objects,
            into,
            force,
            ..
        } => export(&client, &all, objects, (into, *force)),
        ObjectsCommand::Delete { objects, .. } => delete(&client, &all, objects),
        ObjectsCommand::Verify { json, .. } => verify(&client, &all, *json),
    }
}

/// All objects, the oldest first.
fn all(client: &Client) -> Answered<Vec<Object>> {
    let mut all: Vec<Object> = Vec::new();
    loop {
        let before = all.last().map(|last| format!("&before={}", last.id));
        let path = format!("/api/objects?limit={PAGE}{}", before.unwrap_or_default());
        let answer: Value = client.value(&path)?;
        let page: Vec<Object> = client.understood(answer["objects"].clone())?;
        let ends = page.len() < PAGE;
        for object in page {
            if all.last().is_some_and(|last| last.id <= object.id) {
                return Err(client.strange(&"objects out of their order"));
            }
            all.push(object);
        }
        if ends {
            all.reverse();
            return Ok(all);
        }
    }
}

fn delete(client: &Client, all: &[Object], names: &[String]) -> Result<(), Failure> {
    let shown = shown(client, all);
    for index in objects::chosen(&shown, names)? {
        let id = shown[index].id;
        match client.delete(&format!("/api/objects/{id}")) {
            Ok(_) => objects::tell_deleted(id, shown[index].bytes)?,
            // Named twice, or gone with another of the same bytes.
            Err(Trouble::Refused(StatusCode::NOT_FOUND, _)) => {}
            Err(why) => return Err(why.into()),
        }
    }
    Ok(())
}

fn shown(client: &Client, all: &[Object]) -> Vec<Shown> {
    all.iter().map(|object| one(client, object)).collect()
}

/// `object` as it is printed, with every text made harmless.
fn one(client: &Client, object: &Object) -> Shown {
    Shown {
        id: object.id,
        digest: object.sha256.as_deref().map(one_line),
        file: object.file.as_deref().map(one_line),
        path: Some(format!(
            "{}/api/objects/{}/content",
            client.address(),
            object.id
        )),
        stored_at: one_line(&object.stored_at),
        testbed: one_line(&object.network),
        protocol: one_line(&object.protocol),
        source: object.from,
        sink: None,
        bytes: object.bytes,
        goodput_kbps: object.goodput_kbps,
        duration_s: object.duration_s,
        seed: None,
    }
}

/// The bytes of `object`, at most one more than there should be; none where `goes_on` says so.
pub(super) fn download(
    client: &Client,
    object: &Object,
    goes_on: &dyn Fn() -> bool,
) -> Answered<Option<Vec<u8>>> {
    client.content(object.id, object.bytes.min(LARGEST) + 1, goes_on)
}

/// Whether `bytes` are those that the gateway stored.
pub(super) fn is_whole(object: &Object, bytes: &[u8]) -> bool {
    let digest = object.sha256.as_deref();
    bytes.len() as u64 == object.bytes && digest == Some(&*digest_of(bytes))
}

fn show(client: &Client, all: &[Object], name: &str, json: bool) -> Result<(), Failure> {
    let mut all = shown(client, all);
    let shown = all.swap_remove(objects::named(&all, name)?);
    match json {
        true => print_json(&serde_json::json!({
            "object": shown,
            "condition": Value::Null,
            "report": Value::Null,
        })),
        false => objects::tell_one(shown, None),
    }
}

fn export(
    client: &Client,
    all: &[Object],
    names: &[String],
    (into, force): (&Path, bool),
) -> Result<(), Failure> {
    let shown = shown(client, all);
    let chosen = objects::chosen(&shown, names)?;
    let mut export = Export::new(into, force)?;
    for index in chosen {
        let (Some(object), Some(shown)) = (all.get(index), shown.get(index)) else {
            continue;
        };
        let bytes = download(client, object, &|| true)?.unwrap_or_default();
        if !is_whole(object, &bytes) {
            let line = format!("object {} is changed; nothing more was exported", object.id);
            return Err(Failure::Job(line));
        }
        let from = NodeId::new(object.from).map_err(|why| client.strange(&why))?;
        let kept = file_name(&object.network, from, &digest_of(&bytes));
        export.write(shown, &kept, &bytes)?;
    }
    export.report()
}

fn verify(client: &Client, all: &[Object], json: bool) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for object in all {
        let condition = match download(client, object, &|| true) {
            Ok(bytes) => match is_whole(object, &bytes.unwrap_or_default()) {
                true => continue,
                false => "changed",
            },
            Err(Trouble::Refused(StatusCode::GONE, _)) => "missing",
            Err(why) => return Err(why.into()),
        };
        wrong.push(Wrong::new(object.id, None, condition));
    }
    objects::tell_verified(all.len(), wrong, json)
}
