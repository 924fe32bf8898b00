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
    let job = format!("/jobs/{id}");
    for (path, parts) in [
        (
            "/",
            &["All is well", "20 of 20", "Fetch the object of", "2 done"][..],
        ),
        ("/map", &["Links were measured", "<svg", "/nodes/8"]),
        ("/map?find=8&links=on", &["1 node found", "found</text>"]),
        ("/nodes?sort=object", &["/nodes/8", "Last object", "ago"]),
        ("/nodes?show=battery", &["least_battery_v"]),
        ("/transfers", &["done", "expected", "kbit/s", "/objects/"]),
        (&job, &["Tries", "whole", "has the object", "kbit/s over"]),
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
            let link = &*link.replace("&amp;", "&");
            assert_eq!(get(to, link).status, 200, "{path} leads to {link}");
        }
    }
}

#[test]
fn who_looks_for_nothing_in_particular_is_told_what_that_is() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path(), 500.0);
    let to = daemon.address();
    for (path, part) in [
        ("/", "Ready: nothing is measured yet"),
        ("/transfers", "choose a node above"),
        ("/objects", "Fetch one"),
        ("/nodes?show=silent", "measure them"),
        ("/nodes/8", "Measure links now"),
        ("/map?find=nobody", "No node is called <strong>nobody"),
    ] {
        let page = get(to, path).text();
        assert!(page.contains(part), "{path}: {part}");
        // Nobody has to act, so nothing has the colour of that.
        assert!(!page.contains("class=\"bad"), "{path}");
    }
    assert_eq!(get(to, "/nodes?sort=nonsense").status, 400);
}

#[test]
fn names_of_a_testbed_are_on_every_page_and_in_the_api() {
    let dir = tempfile::tempdir().unwrap();
    let mut testbed = thalweg_testbeds::Testbed::load("floor21").unwrap();
    let kitchen = thalweg_units::NodeId::new(17).unwrap();
    testbed.labels.insert(kitchen, "<kitchen>".to_owned());
    let site = thalweg_testbeds::Site::new(testbed, super::client::SEED);
    let network = thalweg_simnet::networks::Simulated::new(site, 500.0, 2_000).unwrap();
    let daemon =
        thalweg_daemon::Daemon::start(&super::client::config(dir.path()), network).unwrap();
    let to = daemon.address();
    let id = post(to, "{\"kind\": \"fetch\", \"from\": 17}").json()["id"]
        .as_i64()
        .unwrap();
    let job = until(to, id, |job| job["state"] == "done");
    assert_eq!(job["from_name"], "<kitchen>");
    let object = get(to, &format!("/api/objects/{}", job["object"])).json();
    assert_eq!(object["from_name"], "<kitchen>");
    assert_eq!(get(to, "/api/nodes/17").json()["node"]["name"], "<kitchen>");
    let job = format!("/jobs/{id}");
    for path in [
        "/",
        "/map?captions=names",
        "/nodes",
        "/transfers",
        "/objects",
        "/log",
        "/nodes/17",
        &job,
    ] {
        let page = get(to, path).text();
        assert!(
            page.contains("&lt;kitchen&gt;") && !page.contains("<kitchen>"),
            "{path}"
        );
    }
    assert!(get(to, "/map?find=KITCH").text().contains("1 node found"));
}
