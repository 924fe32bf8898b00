use super::*;
use crate::view;
use std::collections::BTreeSet;

#[test]
fn the_description_has_every_route_and_no_other() {
    let text: serde_json::Value = serde_json::from_str(api::DESCRIPTION).unwrap();
    let mut keys_of = BTreeSet::new();
    for (path, methods) in text["paths"].as_object().unwrap() {
        for (method, what) in methods.as_object().unwrap() {
            if method != "parameters" {
                keys_of.insert(format!("{method} {path}"));
                assert!(what["summary"].is_string(), "{method} {path}");
                assert!(what["responses"].is_object(), "{method} {path}");
            }
        }
    }
    let routes = API
        .iter()
        .map(|(method, path, _)| format!("{method} {path}"));
    assert_eq!(keys_of, routes.collect());
    // What is referred to is there.
    let schemas = text["components"]["schemas"].as_object().unwrap();
    for part in api::DESCRIPTION.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[test]
fn the_description_has_every_status_that_comes_before_a_handler() {
    let text: serde_json::Value = serde_json::from_str(api::DESCRIPTION).unwrap();
    for (path, methods) in text["paths"].as_object().unwrap() {
        let of_path = &methods["parameters"];
        for (method, what) in methods.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            // The guard, the body, a thread that broke down.
            let mut statuses = vec!["408", "413", "421", "500"];
            if path != "/healthz" {
                statuses.push("401");
            }
            if method != "get" {
                statuses.push("403");
            }
            if of_path.is_array() || what["parameters"].is_array() {
                statuses.push("400");
            }
            for status in statuses {
                let told = &what["responses"][status];
                assert!(told.is_object(), "{method} {path}: {status}");
            }
        }
    }
}

#[test]
fn what_the_library_says_of_a_number_is_said_plainly() {
    let said = "Invalid URL: Cannot parse `x` to a `i64`";
    assert_eq!(plain_words(said), "\"x\" is no number that can stand here");
    let said = "Failed to deserialize query string: unknown field `a`";
    assert_eq!(plain_words(said), "unknown field `a`");
}

#[test]
fn the_description_has_the_keys_that_are_told() {
    let text: serde_json::Value = serde_json::from_str(api::DESCRIPTION).unwrap();
    let keys = |name: &str| -> BTreeSet<String> {
        let of = &text["components"]["schemas"][name]["properties"];
        of.as_object().unwrap().keys().cloned().collect()
    };
    let keys_of = |value: serde_json::Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let (jobs, rates, object, node) = view::tests::examples();
    assert_eq!(keys_of(node["health"].clone()), keys("Health"));
    assert_eq!(keys_of(node), keys("Node"));
    let of_jobs = jobs.into_iter().flat_map(keys_of).collect();
    assert_eq!(keys("Job"), of_jobs);
    assert_eq!(keys_of(rates["sources"][0].clone()), keys("Rate"));
    assert_eq!(keys_of(rates), keys("Rates"));
    assert_eq!(keys_of(object), keys("Object"));
}
