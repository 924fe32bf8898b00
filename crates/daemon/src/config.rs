//! The daemon's configuration, as a TOML file has it; every key has a default. `docs/examples/gateway.toml`
//! explains each. Invariant: what is parsed can be run. Tests: `config_tests.rs`.

mod station;
mod window;

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use thalweg_units::{BatteryLevel, Duration};

pub use super::disk::StoreConfig;
pub use super::mqtt::MqttConfig;
use super::secret;
pub use station::{base_stations, NetworkConfig, SecurityConfig};
use thalweg_host::collector::Patience;
use thalweg_host::registry::Pipelined;
use thalweg_host::store::plain;
pub use window::{Hours, Limits, Window};

/// The longest patience of a job: a year.
const LONGEST_PATIENCE: std::time::Duration = std::time::Duration::from_secs(31_536_000);

/// Why a configuration is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: cannot read: {}", .path.display(), plain(.source))]
    Unread {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It says something that it may not.
    #[error("{}: {why}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
}

/// The configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The folder for objects, jobs and surveys.
    pub data: PathBuf,
    /// The token that gives access to everything; needed where `listen` is not a loopback address.
    pub token: Option<Token>,
    /// A file whose first line is the token.
    pub(super) token_file: Option<PathBuf>,
    /// Names under which browsers reach the daemon, beside `localhost` and addresses.
    #[serde(deserialize_with = "hosts")]
    pub hosts: Vec<String>,
    /// Ways to base stations.
    pub line: LineConfig,
    /// How transfers are made.
    pub transfers: Transfers,
    /// The network, where there is one: behind a base station's line, or simulated.
    pub network: NetworkConfig,
    /// The networks, where there are several.
    #[serde(rename = "station")]
    pub stations: Vec<NetworkConfig>,
    /// The broker that gets messages about objects and nodes.
    pub mqtt: MqttConfig,
    /// What is kept, and how much of the disk is left alone.
    pub store: StoreConfig,
}

/// Ways to base stations. A line has no cipher and no password: anyone on that network can read objects and give orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LineConfig {
    /// Whether `tcp:` may lead to another machine.
    pub allow: bool,
}

/// How transfers are made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Transfers {
    /// What carries objects.
    pub protocol: Pipelined,
    /// Links older than this, in hours, are measured again before a transfer.
    #[serde(deserialize_with = "hours")]
    pub resurvey_after_h: f64,
    /// Such links are also measured again while no job waits.
    pub survey_when_idle: bool,
    /// How long a job waits for links to its node, in pauses and surveys.
    #[serde(deserialize_with = "patience")]
    pub patience: Patience,
    /// So many jobs wait at most.
    #[serde(deserialize_with = "queue")]
    pub queue: u32,
    /// Jobs begin only then, by UTC; at any time where none is named.
    pub windows: Vec<Window>,
    /// So many stations of a building are at work at once, unless a window says otherwise.
    #[serde(deserialize_with = "window::at_most")]
    pub at_most: Option<u32>,
    /// Nodes whose batteries have less are left alone, unless a window says otherwise.
    #[serde(deserialize_with = "window::volts")]
    pub least_battery_v: Option<BatteryLevel>,
    /// Nodes that spent so many joules since midnight, UTC, are left alone, unless a window says otherwise.
    #[serde(deserialize_with = "window::joules")]
    pub energy_j_per_day: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8654),
            data: PathBuf::from("thalweg-data"),
            token: None,
            token_file: None,
            hosts: Vec::new(),
            line: LineConfig::default(),
            transfers: Transfers::default(),
            network: NetworkConfig::default(),
            stations: Vec::new(),
            mqtt: MqttConfig::default(),
            store: StoreConfig::default(),
        }
    }
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            protocol: Pipelined::named("thalweg").unwrap_or(Pipelined::P3),
            resurvey_after_h: 6.0,
            survey_when_idle: false,
            patience: Patience::DEFAULT,
            queue: 256,
            windows: Vec::new(),
            at_most: None,
            least_battery_v: None,
            energy_j_per_day: None,
        }
    }
}

impl Transfers {
    /// What holds where no window says otherwise.
    pub(super) const fn limits(&self) -> Limits {
        Limits {
            at_most: self.at_most,
            least_battery: self.least_battery_v,
            energy_j_per_day: self.energy_j_per_day,
        }
    }
    /// What holds at `second`, counted from 1970; none where no window is open. Of several that are open the first
    /// counts.
    pub(super) fn limits_at(&self, second: u64) -> Option<Limits> {
        let always = self.limits();
        if self.windows.is_empty() {
            return Some(always);
        }
        let open = self.windows.iter().find(|w| w.hours.is_open(second));
        open.map(|window| window.limits.or(always))
    }
}

impl Config {
    /// Reads the file `path`; folders and files that it names are relative to where it is.
    ///
    /// # Errors
    /// [`ConfigError`], which names the file and the place.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unread = |path: &Path| {
            let path = path.to_owned();
            move |source| ConfigError::Unread { path, source }
        };
        let wrong_in = |path: &Path, why: String| {
            let path = path.to_owned();
            ConfigError::Wrong { path, why }
        };
        let wrong = |why: String| wrong_in(path, why);
        let text = fs::read_to_string(path).map_err(unread(path))?;
        let mut config = Self::parse(&text).map_err(wrong)?;
        let mode = fs::metadata(path).map_err(unread(path))?.mode();
        if config.token.is_some() && secret::is_for_all(mode) {
            return Err(wrong(format!("it has the token, and {}", secret::FOR_ALL)));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        config.data = folder.join(&config.data);
        if let Some(file) = config.token_file.take() {
            if config.token.is_some() {
                return Err(wrong("`token` and `token_file`: one of them".to_owned()));
            }
            let line = secret::first_line(folder, &file);
            let line = line.map_err(|(file, why)| wrong_in(&file, why))?;
            let token = Token::new(line.trim()).map_err(|why| wrong_in(&file, why))?;
            config.token = Some(token);
        }
        (config.mqtt.complete(folder)).map_err(|(file, why)| {
            let file = file.as_deref().unwrap_or(path);
            wrong_in(file, why)
        })?;
        Ok(config)
    }

    /// Reads the text of a file; `token_file` is left alone.
    ///
    /// # Errors
    /// A line that names the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|why: toml::de::Error| {
            let span = why.span().map_or(0, |span| span.start);
            let line = text.get(..span).unwrap_or_default().lines().count().max(1);
            let said = why.message().replace('\n', " ");
            format!("line {line}: {said}")
        })?;
        config.check()?;
        Ok(config)
    }

    /// Whether its parts suit each other.
    ///
    /// # Errors
    /// A line that says which do not.
    pub fn check(&self) -> Result<(), String> {
        if !self.stations.is_empty() && self.network != NetworkConfig::default() {
            return Err("`[network]` and `[[station]]`: one of them".to_owned());
        }
        let is_secured = |of: &&NetworkConfig| of.security == SecurityConfig::Require;
        if self.networks().iter().any(|of| is_secured(&of)) {
            let protocol = self.transfers.protocol;
            if !protocol.is_sealed() {
                let name = protocol.name;
                return Err(format!(
                    "security: {name} is not sealed; thalweg and hop-by-hop are"
                ));
            }
        }
        for network in self.networks() {
            let port = network.port.as_deref().unwrap_or_default();
            if network.port.is_some() && !network.to.is_empty() {
                return Err(
                    "to: one base station is behind a port; a simulation has several".to_owned(),
                );
            }
            if !self.line.allow && network.is_elsewhere() {
                return Err(format!(
                    "port \"{port}\" leads to another machine, and nothing protects a line: `[line] allow = true` takes it"
                ));
            }
        }
        station::check(&self.stations)
    }

    /// The networks: one, or several that have names.
    pub fn networks(&self) -> &[NetworkConfig] {
        match self.stations.is_empty() {
            true => std::slice::from_ref(&self.network),
            false => &self.stations,
        }
    }

    /// Whether anybody but this machine may connect.
    pub fn is_open(&self) -> bool {
        !self.listen.ip().is_loopback()
    }
}

/// A secret that is long enough.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Shorter ones can be guessed, in characters.
    const SHORTEST: usize = 16;

    /// `text`, where it can be one.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn new(text: &str) -> Result<Self, String> {
        let is_plain = text.chars().all(|c| c.is_ascii_graphic());
        match is_plain && text.len() >= Self::SHORTEST {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "a token has at least {} letters, digits and signs, and no spaces",
                Self::SHORTEST
            )),
        }
    }
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Token(..)")
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// A number within `range`, or an error that says `wanted`.
fn within<'de, D, T>(
    from: D,
    range: std::ops::RangeInclusive<T>,
    wanted: &str,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + PartialOrd,
{
    let value = T::deserialize(from)?;
    match range.contains(&value) {
        true => Ok(value),
        false => Err(serde::de::Error::custom(wanted)),
    }
}

fn hours<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    within(from, 0.0..=87_600.0, "expected 0 to 87600 hours")
}
/// A time, for whatever node.
fn patience<'de, D: Deserializer<'de>>(from: D) -> Result<Patience, D::Error> {
    let text = String::deserialize(from)?;
    let time = humantime::parse_duration(&text).ok();
    let time = time.filter(|time| *time <= LONGEST_PATIENCE);
    let seconds = time.map(|time| time.as_secs_f64());
    let wrong = || serde::de::Error::custom("expected a time of at most a year, such as \"2h\"");
    let time = Duration::from_secs_f64(seconds.ok_or_else(wrong)?);
    Ok(Patience::of(time))
}
fn hosts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = |name: &&String| (1..=253).contains(&name.len()) && name.chars().all(is_part);
    match names.iter().find(|name| !is_name(name)) {
        None => Ok(names),
        Some(other) => Err(serde::de::Error::custom(format!(
            "hosts: {other:?} is no name; expected such as \"gateway.example\", without scheme and port"
        ))),
    }
}
fn queue<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(from, 1..=10_000, "expected 1 to 10000 jobs")
}
#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
