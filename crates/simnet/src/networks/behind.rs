//! A network behind a base station's line, for the daemon.
//!
//! Nodes, board and channels are a testbed's; the base station's greeting says which node it is. Time base: real time
//! since the line was opened. Tests: `crates/cli/tests/all/gateway/`.

use std::sync::Arc;
use std::time::Duration;

use thalweg_host::collector::Description;
use thalweg_host::connector::{Connector, Facts, Sessions, Spending, Tree};
use thalweg_host::job::Failure;
use thalweg_host::line::{LineError, LineNetwork, Open};
use thalweg_host::network::NetworkFault;
use thalweg_host::security::NetworkKeys;
use thalweg_host::transfer::session::SessionRequest;
use thalweg_testbeds::Site;
use thalweg_units::NodeId;
use thalweg_wire::host::{About, Carries};

use crate::motes::{check_pipelines, description, RunError};

/// How long a greeting is waited for; it comes every half second.
const PATIENCE: Duration = Duration::from_secs(3);

/// A line to the base station of a site.
pub struct Behind<O> {
    address: O,
    site: Site,
    sink: NodeId,
    carries: Carries,
    bytes: u32,
    keys: Option<Arc<NetworkKeys>>,
    /// The line, until the daemon takes it.
    network: Option<LineNetwork>,
}

impl<O: Open + Clone + Send + 'static> Behind<O> {
    /// The nodes of `site`, whose base station is at `address`; objects have about `bytes` bytes. Waits some seconds for
    /// its greeting. Where none comes, or one of a node that `site` lacks, the testbed's sink is taken to be the base station,
    /// until it is there: other stations of the daemon are served meanwhile.
    ///
    /// # Errors
    /// [`RunError`] where the nodes cannot carry pipelines.
    pub fn new(address: O, site: Site, bytes: u32) -> Result<Self, RunError> {
        let named = |lack| RunError::Board(site.testbed.board_name.clone(), lack);
        check_pipelines(&site.board).map_err(named)?;
        let is_ours = |network: &LineNetwork| {
            let has = |about: About| site.testbed.nodes.iter().any(|node| node.id == about.node);
            network.station().is_none_or(has)
        };
        let network = Self::greeted(&address).ok().filter(is_ours);
        let station = network.as_ref().and_then(LineNetwork::station);
        let sink = station.map_or(site.testbed.sink, |about| about.node);
        Ok(Self {
            address,
            site,
            sink,
            carries: station.map_or(Carries::PipelinesAndSessions, |about| about.carries),
            bytes,
            keys: None,
            network,
        })
    }
    /// The same where the nodes have these keys.
    #[must_use]
    pub fn keyed(self, keys: Option<Arc<NetworkKeys>>) -> Self {
        Self { keys, ..self }
    }

    fn greeted(address: &O) -> Result<LineNetwork, LineError> {
        LineNetwork::open(Box::new(address.clone()), PATIENCE, Box::new(|| false))
    }
}

impl<O: Open + Clone + Send + 'static> Connector for Behind<O> {
    type Network = LineNetwork;

    fn facts(&self) -> Facts {
        let testbed = &self.site.testbed;
        let (name, nodes) = (&testbed.name, testbed.len());
        Facts {
            network: Description {
                keys: self.keys.clone(),
                ..description(&self.site, self.sink, None)
            },
            usual_bytes: u64::from(self.bytes),
            about: format!("{name}, {nodes} nodes behind {}", self.address.address()),
            // One that was absent at the start says so in its greeting.
            sessions: match self.carries {
                _ if self.keys.is_some() => Sessions::Lacking(
                    "sessions are not sealed behind a port yet, and the network is secured",
                ),
                Carries::Pipelines => Sessions::Lacking(
                    "the base station's firmware carries no sessions: pipelines and surveys alone",
                ),
                Carries::PipelinesAndSessions => Sessions::Carried,
            },
            spending: Spending::AtMost {
                watts: self.site.board.currents.most_w(),
            },
        }
    }

    fn open(&mut self) -> Result<LineNetwork, NetworkFault> {
        let network = match self.network.take() {
            Some(network) => network,
            None => Self::greeted(&self.address)?,
        };
        match network.station() {
            Some(about) if about.node != self.sink => {
                let (node, name) = (about.node, &self.site.testbed.name);
                let has = self.site.testbed.nodes.iter().any(|of| of.id == node);
                let line = match has {
                    true => format!(
                        "the base station is node {node}, and the gateway began with node {}: begin it again",
                        self.sink
                    ),
                    false => format!("the base station is node {node}, which {name} does not have"),
                };
                Err(NetworkFault::Broken(line.into()))
            }
            _ => Ok(network),
        }
    }

    fn session<'a>(
        &'a mut self,
        network: &'a mut LineNetwork,
        request: &SessionRequest,
        _number: Option<u32>,
    ) -> Result<Tree<'a>, Failure> {
        let sources: Vec<_> = request
            .nodes()
            .map(|id| (id, request.demand_of(id)))
            .collect();
        network.session(self.sink, &sources).map(Tree::new)
    }
}
