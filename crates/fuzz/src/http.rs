//! Arbitrary bytes on a connection to a gateway: no panic, no hang, no status of 500 and above, and no answer that the guard
//! should have refused.

use std::cell::OnceCell;
use std::net::IpAddr;

use tempfile::TempDir;
use thalweg_daemon::answering::{Answering, Seen};
use thalweg_daemon::config::{Config, Token};
use thalweg_daemon::Station;
use thalweg_simnet::networks::Simulated;
use thalweg_testbeds::{Site, Testbed};

/// The token of the gateway that wants one.
const TOKEN: &str = "a-token-of-the-fuzzer";
/// Open without a token.
const OPEN: [&str; 4] = ["/healthz", "/login", "/style.css", "/page.js"];

/// Two gateways: one that wants no token, and one that does.
struct Gateways {
    both: [Answering; 2],
    _folders: [TempDir; 2],
}

impl Gateways {
    fn new() -> Self {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let site = || Site::new(Testbed::load("floor21").expect("it is built in"), 1);
        let answering = |token: Option<Token>, folder: &TempDir| {
            let mut config = Config::default();
            config.data = folder.path().to_owned();
            config.token = token;
            config.transfers.queue = 8;
            let network = Simulated::new(site(), 1.0, 3_000).expect("a network");
            let station = Station::new(&config.network, network);
            Answering::new(&config, station).expect("it begins")
        };
        let token = Token::new(TOKEN).expect("it is one");
        let both = [
            answering(None, &folders[0]),
            answering(Some(token), &folders[1]),
        ];
        Self {
            both,
            _folders: folders,
        }
    }
}

thread_local! {
    /// They start slowly, and what one keeps is bounded.
    static GATEWAYS: OnceCell<Gateways> = const { OnceCell::new() };
}

/// A connection: the first byte says which gateway it is to, the others are what it brings.
pub fn http(bytes: &[u8]) {
    let Some((which, bytes)) = bytes.split_first() else {
        return;
    };
    let which = usize::from(which & 1);
    let seen = GATEWAYS.with(|gateways| {
        let gateways = gateways.get_or_init(Gateways::new);
        gateways.both[which].answer(bytes).expect("it has an end")
    });
    let knows = bytes.windows(TOKEN.len()).any(|w| w == TOKEN.as_bytes());
    for seen in &seen {
        assert!(!seen.status.is_server_error(), "{seen:?}");
        let is_done = seen.status.is_success() || seen.status.is_redirection();
        if !is_ours(seen) {
            assert_eq!(seen.status, 421, "{seen:?}");
        }
        let reads = seen.method == "GET" || seen.method == "HEAD";
        if !reads && is_foreign(seen) {
            assert!(!is_done, "{seen:?}");
        }
        let is_secret = which == 1 && !knows;
        if is_secret && !OPEN.contains(&&*seen.path) {
            assert!(!seen.status.is_success(), "{seen:?}");
        }
        if is_secret && !reads {
            assert!(!is_done, "{seen:?}");
        }
    }
}

fn texts(seen: &Seen, name: &str) -> Vec<String> {
    let values = seen.headers.get_all(name).iter();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    values.map(|value| text(value.as_bytes())).collect()
}

/// Whether the request is to an address or to `localhost`, whatever stands behind a colon.
fn is_ours(seen: &Seen) -> bool {
    let hosts = texts(seen, "host");
    let [host] = &hosts[..] else {
        return false;
    };
    let ends = host.match_indices(':').map(|(at, _)| at);
    let mut names = ends.chain([host.len()]).map(|end| &host[..end]);
    names.any(|name| {
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        address.is_ok() || name.eq_ignore_ascii_case("localhost")
    })
}

/// Whether a page of another site makes the request, as browsers say it.
fn is_foreign(seen: &Seen) -> bool {
    let (sites, origins) = (texts(seen, "sec-fetch-site"), texts(seen, "origin"));
    let hosts = texts(seen, "host");
    let is_site = |site: &String| site == "same-origin" || site == "none";
    let is_host = |origin: &String| {
        let host = origin.split_once("://").map(|(_, host)| host);
        host == hosts.first().map(String::as_str)
    };
    !sites.iter().all(is_site) || !origins.iter().all(is_host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// How requests of the kept inputs are answered: they reach what they are for.
    #[test]
    fn seeds_reach_what_they_are_for() {
        let gateways = Gateways::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/http");
        for (name, statuses) in [
            ("fetch", &[201][..]),
            ("fetch-several", &[201]),
            ("fetch-all", &[201]),
            ("chunked", &[201]),
            ("survey", &[201]),
            ("cancel", &[200]),
            ("cancel-form", &[303]),
            ("form", &[429]),
            ("foreign", &[403]),
            ("rebound", &[421]),
            ("login", &[303]),
            ("login-wrong", &[401]),
            ("no-token", &[401]),
            ("cookie", &[303]),
            ("range", &[404]),
            ("events", &[200]),
            ("cut", &[]),
        ] {
            let bytes = fs::read(folder.join(name)).unwrap();
            let seen = gateways.both[usize::from(bytes[0] & 1)].answer(&bytes[1..]);
            let seen: Vec<u16> = seen.unwrap().iter().map(|s| s.status.as_u16()).collect();
            assert_eq!(seen, statuses, "{name}");
        }
    }
}
