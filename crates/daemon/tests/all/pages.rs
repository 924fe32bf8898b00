//! The page: what it says, that it loads nothing from elsewhere, that it is small, that its forms work.

use super::client::{daemon, get, post, send, until};
use flate2::{write::GzEncoder, Compression};
use std::io::Write;

/// What a page may take, packed, with its style and script.
pub(crate) const MOST: usize = 120_000;

pub(crate) fn packed(text: &[u8]) -> usize {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text).unwrap();
    packed.finish().unwrap().len()
}

#[test]
fn pages_say_what_there_is_and_need_nothing_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 500.0);
    let to = daemon.address();
    assert!(get(to, "/")
        .text()
        .contains("Nobody has measured the links yet"));
    let form = |path: &str, body: &str| {
        let head = format!("POST {path} HTTP/1.1\nContent-Type: application/x-www-form-urlencoded");
        send(to, &head, body).status
    };
    assert_eq!(form("/transfers", "what=8"), 303);
    assert_eq!(form("/transfers", "what=nobody"), 422);
    let id = get(to, "/api/jobs").json()["jobs"][0]["id"]
        .as_i64()
        .unwrap();
    let object = until(to, id, |job| job["state"] == "done")["object"].clone();
    let csv = post(to, "{\"kind\": \"fetch\", \"from\": 6}").json()["id"]
        .as_i64()
        .unwrap();
    let csv = until(to, csv, |job| job["state"] == "done")["object"].clone();
    assert_eq!(
        form(&format!("/transfers/{id}/cancel"), ""),
        303,
        "too late, and no harm"
    );

    let assets: usize = ["/style.css", "/page.js"]
        .map(|path| packed(&get(to, path).body))
        .iter()
        .sum();
    let (picture, table) = (format!("/objects/{object}"), format!("/objects/{csv}"));
    for (path, parts) in [
        (
            "/",
            &[
                "Links were measured",
                "<svg",
                "Fetch the object of",
                "/nodes/8",
            ][..],
        ),
        ("/transfers", &["done", "expected", "kbit/s", "/objects/"]),
        ("/objects", &["2 objects", "node 8", "Download"]),
        (&picture, &["Preview: picture", "<img", "SHA-256"]),
        (&table, &["Preview: table", "<svg", "x_mg", "<td>"]),
        (
            "/nodes/8",
            &[
                "Hops to the base station",
                "Good links over time",
                "<svg",
                "Links",
            ],
        ),
        ("/log", &["kbit/s over", "links measured"]),
    ] {
        let page = get(to, path);
        let text = page.text();
        for part in parts {
            assert!(text.contains(part), "{path}: {part}");
        }
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        // Every address in it is one of ours; the name of SVG's vocabulary is none that is loaded.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for mark in [
            "http:",
            "https:",
            "=\"//",
            "url(",
            "@import",
            "javascript:",
            " onclick",
            " style=",
        ] {
            assert!(!text.contains(mark), "{path}: {mark}");
        }
        let gzip = send(
            to,
            &format!("GET {path} HTTP/1.1\nAccept-Encoding: br, gzip"),
            "",
        );
        assert_eq!(gzip.header("content-encoding"), Some("gzip"));
        assert!(gzip.body.len() < text.len() / 2 + 500, "{path}");
        let size = gzip.body.len() + assets;
        assert!(size < MOST, "{path}: {size} bytes");
        let links = text
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let ours = links
            .filter(|link| link.starts_with('/'))
            .collect::<std::collections::BTreeSet<_>>();
        for link in ours {
            assert_eq!(get(to, link).status, 200, "{path} leads to {link}");
        }
    }
}
