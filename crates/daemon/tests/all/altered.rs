//! A byte that changes on the way from the air to the host.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use super::client::{config, get, network, post, until};
use super::whole;
use thalweg_daemon::Daemon;
use thalweg_host::connector::{Connector, Facts};
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_simnet::networks::Simulated;
use thalweg_units::{Instant, NodeId};

type Inner = <Simulated as Connector>::Network;

/// Opens networks that change a byte of so many objects.
struct Altering {
    network: Simulated,
    left: Arc<AtomicU32>,
}

struct Altered {
    network: Inner,
    left: Arc<AtomicU32>,
}

impl Connector for Altering {
    type Network = Altered;
    fn facts(&self) -> Facts {
        self.network.facts()
    }
    fn open(&mut self) -> Result<Altered, NetworkFault> {
        Ok(Altered {
            network: self.network.open()?,
            left: self.left.clone(),
        })
    }
}

impl Clock for Altered {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        self.network.when(station, local)
    }
}

impl Network for Altered {
    type Order = <Inner as Network>::Order;
    type Event = <Inner as Network>::Event;
    fn now(&self) -> NetworkTime {
        self.network.now()
    }
    fn order(&mut self, station: NodeId, order: Self::Order) -> Result<(), NetworkFault> {
        self.network.order(station, order)
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Self::Event>, NetworkFault> {
        self.network.next(until)
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, NetworkFault> {
        let mut bytes = self.network.take(station, len)?;
        let less = |left: u32| left.checked_sub(1);
        let changed = (self.left).fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if let (Ok(_), Some(byte)) = (changed, bytes.get_mut(300)) {
            *byte ^= 1;
        }
        Ok(bytes)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.network.joules(node)
    }
}

#[test]
fn a_changed_byte_costs_one_more_transfer_over_the_same_plan_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let left = Arc::new(AtomicU32::new(0));
    let altering = Altering {
        network: network(500.0),
        left: left.clone(),
    };
    let daemon = Daemon::start(&config(dir.path()), altering).unwrap();
    let to = daemon.address();
    let fetch = || {
        let job = post(to, "{\"kind\": \"fetch\", \"from\": 17}").json();
        until(to, job["id"].as_i64().unwrap(), |job| {
            job["ended_at"].is_string()
        })
    };
    let took = |job: &serde_json::Value| job["outcome"]["duration_s"].as_f64().unwrap();
    let undisturbed = fetch();
    left.store(1, Ordering::SeqCst);
    let disturbed = fetch();
    assert_eq!(disturbed["state"], "done", "{disturbed}");
    let content = format!("/api/objects/{}/content", disturbed["object"]);
    assert_eq!(get(to, &content).body[..], whole(17)[..]);
    assert!(
        took(&disturbed) < 3.0 * took(&undisturbed),
        "one transfer more, and no rest between: {disturbed}"
    );
    let tried = &disturbed["outcome"]["tried"];
    assert_eq!(tried, &serde_json::json!(["thalweg", "thalweg"]));
    let log = get(to, "/api/log").text();
    assert!(log.contains("another digest"), "{log}");
    assert!(!log.contains("broke off"), "{log}");
    // Where it stays so, the job ends and says so.
    left.store(u32::MAX, Ordering::SeqCst);
    let never = fetch();
    assert_eq!(never["state"], "failed");
    let why = never["error"].as_str().unwrap();
    assert!(why.contains("another digest"), "{why}");
}
