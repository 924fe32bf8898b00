use super::*;
use crate::config::Token;

fn guard() -> Guard {
    Guard::new(&Config {
        token: Some(Token::new("0123456789abcdef").unwrap()),
        hosts: vec!["Gateway.example".to_owned()],
        ..Config::default()
    })
}
fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &str)| {
        let name = header::HeaderName::from_static(name);
        (name, value.parse().unwrap())
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn a_host_is_an_address_or_a_name_of_ours() {
    let knows = |host: &str| guard().knows_host(&headers(&[("host", host)]));
    for ours in [
        "localhost",
        "LOCALHOST:8654",
        "127.0.0.1:1",
        "[::1]:8654",
        "[::1]",
    ] {
        assert!(knows(ours), "{ours}");
    }
    assert!(knows("gateway.example:8654") && knows("10.0.0.7"));
    for other in [
        "evil.example",
        "localhost.evil.example",
        "",
        "127.0.0.1.evil.example:80",
    ] {
        assert!(!knows(other), "{other}");
    }
    assert!(!guard().knows_host(&HeaderMap::new()));
}

#[test]
fn the_token_or_its_cookie_is_wanted() {
    let guard = guard();
    let at = |now, pairs: &[(&'static str, &str)]| guard.lets_in(&headers(pairs), now);
    let lets_in = |pairs: &[(&'static str, &str)]| at(1_000, pairs);
    assert!(lets_in(&[("authorization", "Bearer 0123456789abcdef")]));
    assert!(lets_in(&[("authorization", "bearer 0123456789abcdef")]));
    assert!(!lets_in(&[("authorization", "Bearer 0123456789abcdeF")]));
    assert!(!lets_in(&[]));
    let set = guard.cookie(1_000);
    let cookie = format!("a=b; {}", set.split(';').next().unwrap());
    assert!(
        !set.contains("0123456789abcdef"),
        "the token itself is not in it"
    );
    assert!(lets_in(&[("cookie", &cookie)]));
    // It ends, whatever the browser thinks of that, and nobody can put it off.
    assert!(!at(1_000 + STAYS_S, &[("cookie", &cookie)]));
    let later = cookie.replace(&(1_000 + STAYS_S).to_string(), "999999999999");
    assert!(later != cookie && !lets_in(&[("cookie", &later)]));
    assert!(!lets_in(&[("cookie", "thalweg=0123456789abcdef")]));
    assert!(Guard::new(&Config::default()).lets_in(&HeaderMap::new(), 0));
}

#[test]
fn writes_of_other_pages_are_told_apart() {
    let ours = ("host", "localhost:8654");
    assert!(!is_foreign(&headers(&[ours])), "no browser");
    assert!(!is_foreign(&headers(&[
        ours,
        ("origin", "http://localhost:8654")
    ])));
    assert!(!is_foreign(&headers(&[
        ours,
        ("sec-fetch-site", "same-origin")
    ])));
    for other in ["http://localhost:1", "https://evil.example", "null"] {
        assert!(is_foreign(&headers(&[ours, ("origin", other)])), "{other}");
    }
    for site in ["cross-site", "same-site"] {
        assert!(is_foreign(&headers(&[ours, ("sec-fetch-site", site)])));
    }
}
