//! Where a gateway is, as it is typed. Tests: `address_tests.rs`.

use std::fmt;

use ureq::http::Uri;

/// Where a gateway listens by default.
pub(crate) const USUAL: &str = "http://127.0.0.1:8654";
/// The port of an address that names none.
const PORT: u16 = 8654;

/// A gateway's address: host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    /// The address that `text` names, such as `http://127.0.0.1:8654`.
    ///
    /// # Errors
    /// A line that says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("expected an address such as {USUAL}");
        let full = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        let uri: Uri = full.parse().map_err(|_| expected())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                let why = "https is not spoken here; go through a tunnel, with an address of http";
                return Err(why.to_owned());
            }
            _ => return Err(expected()),
        }
        let authority = uri.authority().ok_or_else(expected)?;
        let is_bare = uri.path() == "/" && uri.query().is_none();
        // Nothing stands before the host, and behind it nothing or a port.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => Some(PORT),
            Some(rest) => {
                (rest.strip_prefix(':').and_then(|port| port.parse().ok())).filter(|port| *port > 0)
            }
            None => None,
        };
        let host = authority.host();
        match port.filter(|_| is_bare && !host.is_empty()) {
            Some(port) => Ok(Self(format!("{host}:{port}"))),
            None => Err(expected()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
