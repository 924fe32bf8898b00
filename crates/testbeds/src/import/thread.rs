//! OpenThread's network diagnostics as its border router gives them in JSON: each router tells with what link quality (1
//! to 3) it hears the others and they hear it, and of its children. A link quality is a margin above the noise floor:
//! OpenThread's typical ones are 5, 15 and 50 dB (`kLinkQuality1LinkMargin` and so on in `link_quality.hpp`), over a
//! noise floor of -100 dBm. Nodes are numbered by their RLOC16, and routers called by their extended addresses. Tests: `tests.rs`.

use serde_json::{Map, Value};

use super::{level, Found};
use crate::assumed::Assumed;
use crate::draft::Measure;
use crate::error::Problem;

const NOISE_DBM: f64 = -100.0;
const MARGINS_DB: [f64; 3] = [5.0, 15.0, 50.0];

pub(super) fn read(file: &Value) -> Result<Found, Problem> {
    let mut found = Found::new();
    let answers = match file {
        Value::Array(answers) => answers.iter().collect(),
        Value::Object(_) => match file.get("data").and_then(Value::as_array) {
            Some(answers) => answers.iter().collect(),
            None => vec![file],
        },
        _ => Vec::new(),
    };
    for answer in answers {
        let answer = answer.get("attributes").unwrap_or(answer);
        if let Some(answer) = answer.as_object() {
            add(&mut found, answer)?;
        }
    }
    if found.names.len() == 0 {
        let what = "OpenThread diagnostics without link qualities; expected `Rloc16` and `Route` with `RouteData` of each router";
        return Err(Problem::Foreign(what.to_owned()));
    }
    found.assumed.push(Assumed::LevelsByClass);
    found.assumed.extend(found.draft.mirror());
    Ok(found)
}

/// The value of a key, which is `RouteData`, `routeData` or `route_data`.
fn value<'a>(of: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let is = |name: &str| name.replace('_', "").eq_ignore_ascii_case(key);
    of.iter().find(|(name, _)| is(name)).map(|(_, value)| value)
}

fn number(of: &Map<String, Value>, key: &str) -> Option<u16> {
    let value = value(of, key)?;
    let number = match value.as_str() {
        Some(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => text.parse().ok()?,
        },
        None => value.as_u64()?,
    };
    u16::try_from(number).ok()
}

fn add(found: &mut Found, answer: &Map<String, Value>) -> Result<(), Problem> {
    let Some(own) = number(answer, "rloc16") else {
        return Ok(());
    };
    let name = |rloc: u16| format!("0x{rloc:04x}");
    let me = name(own);
    if let Some(address) = value(answer, "extaddress").and_then(Value::as_str) {
        found.names.label(own, address);
    }
    let route = value(answer, "route").and_then(Value::as_object);
    let others = route.and_then(|route| value(route, "routedata")?.as_array());
    for other in others.into_iter().flatten().filter_map(Value::as_object) {
        // A router's RLOC16 is its id and six zeros for the child.
        let id = number(other, "routeid").filter(|id| *id < 63);
        let Some(rloc) = id.map(|id| id << 10).filter(|rloc| *rloc != own) else {
            continue;
        };
        let quality = |key| number(other, key).unwrap_or(0);
        let (inward, outward) = (quality("linkqualityin"), quality("linkqualityout"));
        if is_class(inward) {
            found.add(&name(rloc), &me, level_of(inward)?)?;
        }
        if is_class(outward) {
            found.add(&me, &name(rloc), level_of(outward)?)?;
        }
    }
    let children = value(answer, "childtable").and_then(Value::as_array);
    for child in children.into_iter().flatten().filter_map(Value::as_object) {
        let id = number(child, "childid").filter(|id| (1..512).contains(id));
        let quality = number(child, "linkquality").filter(|quality| is_class(*quality));
        if let (Some(id), Some(quality)) = (id, quality) {
            found.add(&name(own | id), &me, level_of(quality)?)?;
        }
    }
    Ok(())
}

/// The level of a link quality that [`is_class`].
pub(super) fn level_of(quality: u16) -> Result<Measure, Problem> {
    let margin = MARGINS_DB.get(usize::from(quality).wrapping_sub(1));
    let wrong = || Problem::value("a link quality", &quality.to_string(), "0 to 3");
    margin.map(|db| level(NOISE_DBM + db)).ok_or_else(wrong)
}

/// Whether there is a link: routers that are several hops away have a quality of 0.
pub(super) const fn is_class(quality: u16) -> bool {
    quality > 0
}
