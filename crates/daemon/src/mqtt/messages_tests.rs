use super::*;

fn link(out: f64, back: f64) -> view::Link {
    view::Link {
        channel: 11,
        back,
        node: 1,
        out,
    }
}

#[test]
fn a_state_has_the_best_links_in_their_order() {
    let many = (0..LINKS + 300).map(|n| link((n % 7) as f64 / 7.0, 1.0));
    let (links, left_out) = best(many.collect());
    assert_eq!((links.len(), left_out), (LINKS, 300));
    assert!(links.iter().all(|link| link.out > 0.2), "the worst went");
    let (all, none) = best(vec![link(0.0, 0.1), link(1.0, 1.0)]);
    assert_eq!((all.len(), none), (2, 0));
    let bytes = written(&links).len();
    assert!(bytes < thalweg_host::store::LONGEST_PAYLOAD / 4, "{bytes}");
}

#[test]
fn states_have_the_number_of_their_message_and_objects_are_as_they_are() {
    let waiting = |topic: &str, payload: &str, keep| Waiting {
        id: 7,
        message: Message {
            topic: topic.to_owned(),
            payload: payload.to_owned(),
            keep,
        },
    };
    let sent = |topic, text, keep| payload(&waiting(topic, text, keep));
    assert_eq!(
        sent("t", "{\"a\":1}", Retention::Newest),
        "{\"message\":7,\"a\":1}"
    );
    assert_eq!(sent("t", "{}", Retention::Newest), "{\"message\":7}");
    assert_eq!(sent("t", "{\"id\":1}", Retention::All), "{\"id\":1}");
    let place = Topics::discovery("x");
    assert_eq!(sent(&place, "{\"a\":1}", Retention::Newest), "{\"a\":1}");
}
