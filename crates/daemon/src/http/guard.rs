//! Access control: host names that a browser may have been led to, writes from other sites, and tokens.
//!
//! A page elsewhere can make a browser send requests here. A name that its owner points here (DNS rebinding)
//! is refused by `Host`, which must be an address, `localhost` or a configured name; a write that another
//! page makes by `Sec-Fetch-Site` and `Origin`. Where a token is configured, it comes as `Authorization: Bearer`,
//! or as the cookie that the page's login sets, which is not the token and ends by itself. Tests: `guard_tests.rs`.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{header, HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use sha2::{Digest, Sha256};

use super::{App, Refusal};
use crate::config::Config;
use crate::station_state::now;

/// The name of the cookie.
const COOKIE: &str = "thalweg";
/// How long a browser stays logged in, in seconds.
const STAYS_S: i64 = 8 * 3_600;

/// What is compared instead of secrets: equal where these are, and as quickly wherever they differ.
type Print = [u8; 32];

/// Decides on access.
pub(crate) struct Guard {
    hosts: Vec<String>,
    /// Of the token.
    token: Option<Print>,
}

fn print(text: &str) -> Print {
    Sha256::digest(text).into()
}

/// Takes the same time wherever the two differ.
fn equal(a: &Print, b: &Print) -> bool {
    let differ = a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0
}

impl Guard {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            hosts: config.hosts.iter().map(|h| h.to_lowercase()).collect(),
            token: config.token.as_ref().map(|token| print(token.as_str())),
        }
    }

    /// Whether a token is wanted.
    pub(super) fn wants_token(&self) -> bool {
        self.token.is_some()
    }
    /// Whether `text` is the token.
    pub(super) fn is_token(&self, text: &str) -> bool {
        (self.token.as_ref()).is_some_and(|token| equal(token, &print(text)))
    }
    /// The header that logs a browser in, from `now` on, in seconds since 1970.
    pub(super) fn cookie(&self, now: i64) -> String {
        let ends = now + STAYS_S;
        let seal = self.seal(ends);
        format!("{COOKIE}={ends}-{seal}; Path=/; Max-Age={STAYS_S}; HttpOnly; SameSite=Strict")
    }
    /// The header that logs a browser out.
    pub(super) fn no_cookie() -> String {
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }
    /// What only who has the token can put beside the end of a session. Hashed twice, as in RFC 2104, so that nothing can be
    /// appended.
    fn seal(&self, ends: i64) -> String {
        let token = self.token.unwrap_or_default();
        let inner = Sha256::digest([&token[..], ends.to_string().as_bytes()].concat());
        let seal = Sha256::digest([&token[..], b"thalweg cookie", &inner].concat());
        seal.iter().map(|byte| format!("{byte:02x}")).collect()
    }
    /// Whether `cookie` is one of ours that has not ended.
    fn is_cookie(&self, cookie: &str, now: i64) -> bool {
        let Some((end, seal)) = cookie.split_once('-') else {
            return false;
        };
        let is_ours = |ends: i64| ends > now && equal(&print(seal), &print(&self.seal(ends)));
        end.parse().is_ok_and(is_ours)
    }

    /// Whether the request is to a name that is ours.
    fn knows_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let Some(host) = host.filter(|_| hosts.next().is_none()) else {
            return false;
        };
        let name = name_of(host).to_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        is_address || name == "localhost" || self.hosts.contains(&name)
    }

    /// Whether the request has the token, or none is needed.
    fn lets_in(&self, headers: &HeaderMap, now: i64) -> bool {
        if !self.wants_token() {
            return true;
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // The scheme's name in any case (RFC 9110, 11.1).
        let scheme = text(header::AUTHORIZATION).and_then(|text| text.split_once(' '));
        let bearer = scheme.filter(|(name, _)| name.eq_ignore_ascii_case("bearer"));
        if let Some((_, token)) = bearer {
            return self.is_token(token.trim());
        }
        let cookies = text(header::COOKIE).unwrap_or_default().split(';');
        let mut values = cookies.filter_map(|pair| pair.trim().split_once('='));
        values.any(|(name, value)| name == COOKIE && self.is_cookie(value, now))
    }
}

/// The name in `host`, without its port.
fn name_of(host: &str) -> &str {
    match (host.rfind(':'), host.rfind(']')) {
        (Some(colon), Some(end)) if colon < end => host,
        (Some(colon), _) => &host[..colon],
        (None, _) => host,
    }
}

/// Whether the request comes from a page of another site.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = text("sec-fetch-site");
    let origin = text("origin").map(|origin| {
        let host = origin.split_once("://").map(|(_, host)| host);
        host.is_some() && host == text("host")
    });
    !matches!(site, None | Some("same-origin" | "none")) || origin == Some(false)
}

/// Passes on requests that have access.
pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Response {
    let (headers, guard) = (request.headers(), &app.guard);
    if !guard.knows_host(headers) {
        let why = "unknown Host; name it under `hosts` in the configuration";
        return Refusal::new(StatusCode::MISDIRECTED_REQUEST, why).into_response();
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads && is_foreign(headers) {
        let why = "a write from another site's page";
        return Refusal::new(StatusCode::FORBIDDEN, why).into_response();
    }
    let path = request.uri().path();
    let is_open = matches!(path, "/healthz" | "/login" | "/style.css" | "/page.js");
    if !is_open && !guard.lets_in(headers, now()) {
        let is_page = !path.starts_with("/api/") && path != "/metrics";
        if reads && is_page {
            return Redirect::to("/login").into_response();
        }
        let why = "a token is needed: Authorization: Bearer TOKEN";
        return Refusal::new(StatusCode::UNAUTHORIZED, why).into_response();
    }
    next.run(request).await
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
