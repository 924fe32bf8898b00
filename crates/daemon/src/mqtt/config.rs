//! The broker, as the configuration's table `[mqtt]` has it. Invariant: what is parsed can be used, and a password
//! is never printed. Tests: `config_tests.rs`.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::secret;

/// The broker, and what is sent to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MqttConfig {
    /// Its name or address; without one, nothing is sent.
    #[serde(deserialize_with = "host")]
    pub host: Option<String>,
    /// Its port.
    pub port: u16,
    /// The name to log in with.
    pub user: Option<String>,
    /// A file whose first line is the password.
    password_file: Option<PathBuf>,
    /// What is in it.
    #[serde(skip)]
    password: Password,
    /// All topics begin with it.
    #[serde(deserialize_with = "prefix")]
    pub prefix: String,
    /// Whether to announce devices to Home Assistant.
    pub discovery: bool,
    /// Whether messages of the broker may ask for surveys and objects, as buttons of Home Assistant do.
    pub buttons: bool,
}

#[derive(Clone, Default)]
struct Password(String);

impl std::fmt::Debug for Password {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Password(..)")
    }
}

impl Default for MqttConfig {
    fn default() -> Self {
        Self {
            host: None,
            port: 1_883,
            user: None,
            password_file: None,
            password: Password::default(),
            prefix: "thalweg".to_owned(),
            discovery: false,
            buttons: false,
        }
    }
}

impl MqttConfig {
    /// Takes the password from its file, which is relative to `folder`.
    ///
    /// # Errors
    /// The file that is wrong, or none where the configuration is; and why.
    pub(crate) fn complete(&mut self, folder: &Path) -> Result<(), (Option<PathBuf>, String)> {
        let Some(file) = &self.password_file else {
            return Ok(());
        };
        if self.user.is_none() {
            return Err((None, "`password_file` takes a `user`".to_owned()));
        }
        let line = secret::first_line(folder, file).map_err(|(file, why)| (Some(file), why))?;
        self.password = Password(line);
        Ok(())
    }

    /// The name to log in with, and the password.
    pub(super) fn login(&self) -> Option<(&str, &str)> {
        let user = self.user.as_deref()?;
        Some((user, &self.password.0))
    }
}

fn host<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<Ipv6Addr>().is_ok() {
        return Ok(Some(format!("[{bare}]")));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match (1..=253).contains(&text.len()) && text.chars().all(is_part) {
        true => Ok(Some(text)),
        false => Err(serde::de::Error::custom(
            "a broker's host is a name or an address, such as \"127.0.0.1\"",
        )),
    }
}

fn prefix<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let is_segment = |s: &str| {
        let is_part = |c: char| !c.is_control() && !"+#".contains(c);
        !s.is_empty() && s.chars().all(is_part)
    };
    let is_prefix = text.len() <= 100 && !text.starts_with('$') && text.split('/').all(is_segment);
    match is_prefix {
        true => Ok(text),
        false => Err(serde::de::Error::custom(
            "a prefix is such as \"thalweg\" or \"site/thalweg\", without + and #",
        )),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
