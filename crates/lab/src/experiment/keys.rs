//! Keys of experiments' files: what may be said, with type, default and range, declared once.
//!
//! `keys!` and `table!` declare a struct of keys. From that come what is read and refused, the tables of
//! `experiments/README.md`, and [`super::schema()`]. Tests: `run_tests.rs`, `bad_file_tests.rs`, `schema_tests.rs`.

use serde::de::value::Error;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;
use thalweg_host::registry::Pipelined;
use thalweg_simnet::rcrt::{Happens, Incident, Wanted};
use thalweg_simnet::streams::Carrier;
use toml::{Table, Value};

/// A key in an experiment's file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it says, and in which unit.
    pub about: &'static str,
    /// What its value is.
    pub shape: Shape,
    /// What it is where nothing is said, as TOML; none where it must be said, or leaves something out.
    pub default: Option<&'static str>,
    /// Least and most of its numbers.
    pub range: Option<[f64; 2]>,
}

/// What the value of a key is.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// `true` or `false`.
    YesNo,
    /// A text.
    Text,
    /// One of these names.
    Name(fn() -> Vec<&'static str>),
    /// A list; in files a single value is a list of one.
    List(&'static Self),
    /// A value that may be left out.
    Maybe(&'static Self),
    /// One or the other.
    Either(&'static [Self; 2]),
    /// A table with these keys.
    Table(&'static [Key]),
}

impl fmt::Display for Shape {
    /// In a word or two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Number => f.write_str("number"),
            Self::YesNo => f.write_str("true or false"),
            Self::Text => f.write_str("text"),
            Self::Name(_) => f.write_str("name"),
            Self::List(of) => write!(f, "[{of}]"),
            Self::Maybe(of) => of.fmt(f),
            Self::Either([one, other]) => write!(f, "{one} or {other}"),
            Self::Table(_) => f.write_str("table"),
        }
    }
}

/// What can be the value of a key.
pub(super) trait Said {
    /// How it is said.
    const SHAPE: Shape;
}

/// A kind's name and keys, as `keys!` reads them off its struct.
pub trait Keyed {
    /// The value of `kind` in files.
    const NAME: &'static str;
    /// What a run of the kind does.
    const ABOUT: &'static str;
    /// What can be said of it.
    const KEYS: &'static [Key];
}

/// Declares the keys of the kind called by the first word. Doc comments are what users read of them.
macro_rules! keys {
    ($kind:literal, $(#[doc = $about:literal])+ pub struct $Name:ident { $($keys:tt)+ }) => {
        $crate::experiment::keys::table! {
            $(#[doc = $about])+
            pub struct $Name { $($keys)+ }
        }
        impl $crate::experiment::keys::Keyed for $Name {
            const NAME: &'static str = $kind;
            const ABOUT: &'static str = concat!($($about),+);
            const KEYS: &'static [$crate::experiment::keys::Key] = $Name::OF_TABLE;
        }
    };
}
pub(super) use keys;

/// Declares a table's keys as `name: Type = default, least..=most;`, the last two where there are any.
macro_rules! table {
    ($(#[doc = $about:literal])+ $(#[derive($Also:ident)])? pub struct $Name:ident { $(
        $(#[doc = $says:literal])+
        pub $key:ident: $Type:ty $(= $default:tt)? $(, $least:literal..=$most:expr)?;
    )+ }) => {
        $(#[doc = $about])+
        $(#[derive($Also)])?
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::experiment) struct $Name {
            $( $(#[doc = $says])+ pub(in crate::experiment) $key: $Type, )+
        }
        impl $Name {
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            const OF_TABLE: &'static [$crate::experiment::keys::Key] = &[$(
                $crate::experiment::keys::Key {
                    name: stringify!($key),
                    about: concat!($($says),+),
                    shape: <$Type as $crate::experiment::keys::Said>::SHAPE,
                    default: $crate::experiment::keys::table!(@some $(stringify!($default))?),
                    range: $crate::experiment::keys::table!(@some $([$least as f64, $most as f64])?),
                },
            )+];
        }
        impl $crate::experiment::keys::Said for $Name {
            const SHAPE: $crate::experiment::keys::Shape =
                $crate::experiment::keys::Shape::Table(Self::OF_TABLE);
        }
    };
    (@some) => { None };
    (@some $value:expr) => { Some($value) };
}
pub(super) use table;

/// Makes single values lists of one where `known` has lists, as deep as tables go.
pub(super) fn make_lists(table: &mut Table, known: &[Key]) {
    for (name, value) in table.iter_mut() {
        let Some(key) = known.iter().find(|key| key.names().any(|n| n == name)) else {
            continue;
        };
        match (key.shape, value) {
            (Shape::Table(keys), Value::Table(table)) => make_lists(table, keys),
            (Shape::List(_), value) if !value.is_array() => {
                *value = Value::Array(vec![value.clone()]);
            }
            _ => {}
        }
    }
}

/// What `keys` say of `T`, a table at `path`, where nothing is said its defaults.
///
/// # Errors
/// The key and what was expected, on one line.
pub(super) fn read<T: DeserializeOwned>(
    mut keys: Table,
    known: &[Key],
    path: &str,
) -> Result<T, String> {
    make_lists(&mut keys, known);
    complete(&mut keys, known, path)?;
    keys.try_into().map_err(|error| with_key(&error, path))
}

/// Adds to the table at `path` what it leaves to defaults, and checks ranges.
fn complete(table: &mut Table, known: &[Key], path: &str) -> Result<(), String> {
    for key in known {
        let (name, path) = (key.name, format!("{path}.{}", key.name));
        if let Some(value) = key.other_name().and_then(|other| table.remove(other)) {
            let alone = !table.contains_key(name);
            expect(&path, alone, "one of its two names")?;
            table.insert(name.to_owned(), value);
        }
        if let (None, Some(default)) = (table.get(name), key.default) {
            let default: Value = default.parse().map_err(|e| format!("{path}: {e}"))?;
            table.insert(name.to_owned(), default);
        }
        let Some(value) = table.get_mut(name) else {
            continue;
        };
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        let may_be = key.default == Some("[]") || !matches!(key.shape, Shape::List(_));
        expect(&path, !is_empty || may_be, "at least one value")?;
        if let Some([least, most]) = key.range {
            let wanted = format!("{least} to {most}");
            expect(&path, is_within(value, [least, most]), &wanted)?;
        }
        complete_below(value, key.shape, &path)?;
    }
    Ok(())
}

/// `ok`, or what the key at `path` was expected to be.
fn expect(path: &str, ok: bool, wanted: &str) -> Result<(), String> {
    match ok {
        true => Ok(()),
        false => Err(format!("{path}: expected {wanted}")),
    }
}

/// The same of the tables in `value`.
fn complete_below(value: &mut Value, shape: Shape, path: &str) -> Result<(), String> {
    match (shape, value) {
        (Shape::Table(keys), Value::Table(table)) => complete(table, keys, path),
        (Shape::Maybe(of), value) => complete_below(value, *of, path),
        (Shape::List(of), Value::Array(list)) => {
            (list.iter_mut()).try_for_each(|value| complete_below(value, *of, path))
        }
        _ => Ok(()),
    }
}

/// Whether `value`, or each of its list, lies in `range`; the reader reports what is no number.
fn is_within(value: &Value, range: [f64; 2]) -> bool {
    let fits = |x: f64| (range[0]..=range[1]).contains(&x);
    match value {
        Value::Integer(n) => fits(*n as f64),
        Value::Float(x) => fits(*x),
        Value::Array(list) => list.iter().all(|value| is_within(value, range)),
        _ => true,
    }
}

impl Key {
    /// Another name that files may call it by: `paths`, as the option is called.
    fn other_name(&self) -> Option<&'static str> {
        (self.name == "max_paths").then_some("paths")
    }
    /// The names that files may call it by.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.name), self.other_name()].into_iter().flatten()
    }
}

/// `error` with its key in the table at `path`, on one line.
fn with_key(error: &toml::de::Error, path: &str) -> String {
    let text = error.to_string();
    let (what, table) = match text.trim_end().rsplit_once("\nin `") {
        Some((what, key)) => (what, format!("{path}.{}", key.trim_end_matches('`'))),
        None => (text.trim_end(), path.to_owned()),
    };
    // The error of an unknown key names its table.
    match unknown_key(what) {
        Some((key, why)) => format!("{table}.{key}: {why}"),
        None => format!("{table}: {what}").replace('\n', " "),
    }
}

/// The key that serde's `message` calls unknown, and the one most like it with all that there are.
pub(super) fn unknown_key(message: &str) -> Option<(&str, String)> {
    let mut quoted = message
        .strip_prefix("unknown field ")?
        .split('`')
        .skip(1)
        .step_by(2);
    let key = quoted.next()?;
    let names: Vec<&str> = quoted.collect();
    let likeness = |name: &str| strsim::jaro_winkler(key, name);
    let nearest = (names.iter()).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    let why = format!(
        "unknown key; the nearest is {nearest}, and there are {}",
        names.join(", ")
    );
    Some((key, why))
}

/// The names of a choice, or of a table's keys, as its `Deserialize` tells them.
pub(super) fn names_of<'de, T: Deserialize<'de>>() -> Vec<&'static str> {
    let mut names: &[&str] = &[];
    // It fails, as there is no value.
    let _ = T::deserialize(Names(&mut names));
    names.to_vec()
}

struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no value"))
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        self.deserialize_any(visitor)
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// Says how values of types are said.
macro_rules! said {
    ($($Type:ty => $shape:expr;)+) => {
        $( impl $crate::experiment::keys::Said for $Type {
            const SHAPE: $crate::experiment::keys::Shape = $shape;
        } )+
    };
}
/// Says that types are choices by name.
macro_rules! choices {
    ($($Type:ty),+) => {
        $( impl $crate::experiment::keys::Said for $Type {
            const SHAPE: $crate::experiment::keys::Shape =
                $crate::experiment::keys::Shape::Name($crate::experiment::keys::names_of::<$Type>);
        } )+
    };
}
pub(super) use {choices, said};

said! {
    u8 => Shape::Whole;
    u16 => Shape::Whole;
    u32 => Shape::Whole;
    u64 => Shape::Whole;
    usize => Shape::Whole;
    f64 => Shape::Number;
    bool => Shape::YesNo;
    String => Shape::Text;
    Pipelined => Shape::Name(|| Pipelined::all().map(|p| p.name).collect());
    Carrier => Shape::Name(|| Carrier::all().map(Carrier::name).collect());
    Happens => Shape::Table(HAPPENS);
    Wanted => Shape::Table(TREE);
}
choices!(
    Incident,
    thalweg_host::survey::SurveyKind,
    thalweg_planner::pairs::Floors,
    thalweg_simnet::forwarding::Channels,
    thalweg_simnet::forwarding::ForwardingName
);

impl<T: Said> Said for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}
impl<T: Said, const N: usize> Said for [T; N] {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}
impl<T: Said> Said for Option<T> {
    const SHAPE: Shape = Shape::Maybe(&T::SHAPE);
}

/// A key without default and range of a table that another crate owns.
const fn key(name: &'static str, about: &'static str, shape: Shape) -> Key {
    Key {
        name,
        about,
        shape,
        default: None,
        range: None,
    }
}

const HAPPENS: &[Key] = &[
    key("at", "When, as \"500 s\".", Shape::Text),
    key("what", "What.", Incident::SHAPE),
    key("node", "To which node, by number.", Shape::Whole),
];

const PAIR: Shape = <Option<[u32; 2]>>::SHAPE;
const TREE: &[Key] = &[
    key("depth", "Least and most depth.", <[u32; 2]>::SHAPE),
    key(
        "children",
        "Least and most children of the base station.",
        PAIR,
    ),
    key(
        "largest",
        "Least and most nodes of the largest subtree.",
        PAIR,
    ),
];

/// Sets what `key` leads to in `table`; tables on the way are made. None where something else is on the way.
pub(super) fn set(table: &mut Table, key: &str, value: Value) -> Option<()> {
    match key.split_once('.') {
        None => table.insert(key.to_owned(), value),
        Some((first, rest)) => {
            let below = table.entry(first).or_insert_with(|| Table::new().into());
            return set(below.as_table_mut()?, rest, value);
        }
    };
    Some(())
}
