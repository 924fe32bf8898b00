//! The JSON Schema of experiments' files, for editors and for programs that write files.
//!
//! Keys of runs are those that kinds declare; the other tables stand here. A schema knows no rules between keys: a file
//! that it lets pass may still be refused. Tests: `schema_tests.rs`.

use super::keys::{names_of, Key, Shape};
use super::run::Entry;
use super::spec::Taken;
use super::KINDS;
use crate::results::{Best, Confidence, Mark, Over, Ratio};
use serde::de::DeserializeOwned;
use serde_json::{json, Map, Value};

/// The JSON Schema (draft 2020-12) of an experiment's file.
pub fn schema() -> Value {
    let kinds: Vec<Value> = KINDS.iter().map(of_kind).collect();
    let keys = json!({
        "id": text("Its id: a paper's short name, a dot, and the result's name."),
        "title": text("One line."),
        "paper": text("The paper whose claims it answers."),
        "about": text("What is done and measured."),
        "seeds": whole("How many seeds.", [1, 10_000], Some(10)),
        "first_seed": whole("The first of them.", [0, 1_000_000], Some(1)),
        "cpu_s": {"type": "number", "description": "Processor time of one seed, in seconds."},
        "quick": table("The subset of `reproduce --quick`.", &[], json!({
            "seeds": whole("How many seeds.", [1, 10_000], Some(2)),
            "routes": whole("Routes of each; without it the run's own.", [0, u32::MAX.into()], None),
            "taken": one_of::<Taken>("When it is taken."),
        })),
        "run": {"description": "What is run.", "oneOf": kinds},
        "metric": list(&metric()),
        "figure": list(&figure()),
    });
    let mut schema = table("An experiment.", &["id", "title", "run"], keys);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema
}

fn metric() -> Value {
    let values = json!({"type": "object", "additionalProperties": {"type": ["number", "string"]}});
    let keys = json!({
        "name": text("Its stable name."),
        "of": text("The column that it is taken of."),
        "over": text("A column to divide by, of the same rows."),
        "ratio": one_of::<Ratio>("How that ratio is taken of several seeds."),
        "against": values,
        "minus": values,
        "stat": statistic(),
        "scale": {"type": "number", "description": "What values are multiplied by.", "default": 1.0},
        "unit": text("Its unit, as printed."),
        "confidence": one_of::<Confidence>("Another interval than the 95 % one."),
        "best": one_of::<Best>("Which value is best, where what is compared has ranks."),
        "by": list(&text("A column that splits the rows.")),
        "most": table("Of a column's values, the share whose results lie in a span.", &["of", "between"], json!({
            "of": text("The column."),
            "between": pair(),
        })),
        "where": values,
    });
    table("What is measured.", &["name", "of", "stat"], keys)
}

fn statistic() -> Value {
    let plain = ["mean", "median", "min", "max", "sum", "count", "share_zero"];
    let of = |name: &str, value: Value| table("", &[name], json!({ name: value }));
    json!({"anyOf": [
        {"enum": plain},
        of("quantile", json!({"type": "number", "minimum": 0, "maximum": 1})),
        of("share_below", json!({"type": "number"})),
        of("share_between", pair()),
        of("best_of", text("A column.")),
    ]})
}

fn figure() -> Value {
    let axis = table(
        "A column, and its label.",
        &["column", "label"],
        json!({
            "column": text("The rows' column."),
            "label": text("Its label with unit."),
        }),
    );
    let reference = table(
        "What the paper has.",
        &["label"],
        json!({
            "label": text("What it is."),
            "value": {"type": "number", "description": "A level on the vertical axis."},
            "points": list(&json!({"type": "array", "minItems": 2, "maxItems": 2})),
        }),
    );
    let keys = json!({
        "name": text("Its file's stem."),
        "title": text("Title."),
        "x": axis,
        "y": axis,
        "series": text("Column that tells series apart."),
        "beside": list(&text("A name that is drawn lightly.")),
        "mark": one_of::<Mark>("Kind of marks."),
        "over": one_of::<Over>("Which rows are drawn."),
        "where": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
        "confidence": one_of::<Confidence>("Which intervals are drawn, instead of 95 %."),
        "reference": list(&reference),
    });
    table("How it is drawn.", &["name", "title", "x", "y"], keys)
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}
fn whole(about: &str, [least, most]: [u64; 2], default: Option<u64>) -> Value {
    let mut schema =
        json!({"type": "integer", "description": about, "minimum": least, "maximum": most});
    if let Some(default) = default {
        schema["default"] = default.into();
    }
    schema
}
fn one_of<T: DeserializeOwned>(about: &str) -> Value {
    json!({"enum": names_of::<T>(), "description": about})
}
fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}
fn pair() -> Value {
    json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
}
fn table(about: &str, required: &[&str], keys: Value) -> Value {
    json!({
        "type": "object",
        "description": about,
        "properties": keys,
        "required": required,
        "additionalProperties": false,
    })
}

/// A kind's table, whose key `kind` names it.
fn of_kind(entry: &Entry) -> Value {
    let mut schema = of_table(entry.about, entry.keys);
    schema["properties"]["kind"] = json!({"const": entry.name});
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("kind".into());
    }
    schema
}

fn of_table(about: &str, keys: &[Key]) -> Value {
    let is_required = |key: &&Key| key.default.is_none() && !matches!(key.shape, Shape::Maybe(_));
    let required: Vec<&str> = keys
        .iter()
        .filter(is_required)
        .map(|key| key.name)
        .collect();
    let mut properties = Map::new();
    for key in keys {
        properties.extend(key.names().map(|name| (name.to_owned(), of_key(key))));
    }
    table(about.trim(), &required, Value::Object(properties))
}

fn of_key(key: &Key) -> Value {
    let mut schema = match key.shape {
        Shape::List(of) => {
            let one = of_shape(*of, key.range);
            let mut several = list(&one);
            if key.default != Some("[]") {
                several["minItems"] = 1.into();
            }
            json!({"anyOf": [several, one]})
        }
        shape => of_shape(shape, key.range),
    };
    schema["description"] = key.about.trim().into();
    let default = key
        .default
        .and_then(|text| text.parse::<toml::Value>().ok());
    if let Some(default) = default.and_then(|value| serde_json::to_value(value).ok()) {
        schema["default"] = default;
    }
    schema
}

fn of_shape(shape: Shape, range: Option<[f64; 2]>) -> Value {
    let number = |name: &str| match range {
        Some([least, most]) => json!({"type": name, "minimum": least, "maximum": most}),
        None => json!({"type": name}),
    };
    match shape {
        Shape::Whole => number("integer"),
        Shape::Number => number("number"),
        Shape::YesNo => json!({"type": "boolean"}),
        Shape::Text => json!({"type": "string"}),
        Shape::Name(names) => json!({"enum": names()}),
        Shape::List(of) => list(&of_shape(*of, range)),
        Shape::Maybe(of) => of_shape(*of, range),
        Shape::Either(two) => json!({"anyOf": two.map(|of| of_shape(of, range))}),
        Shape::Table(keys) => of_table("", keys),
    }
}
