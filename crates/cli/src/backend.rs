//! The shape of `thalweg_lab::collect`, until it is there.

use std::io::Write;
use std::ops::ControlFlow;

use serde::Serialize;
use thalweg_units::{Channel, NodeId};

#[derive(Debug)]
pub(crate) enum ObjectSpec {
    Random { bytes: u32 },
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    P3,
    Pip,
}

#[allow(dead_code)]
pub(crate) struct CollectOptions {
    pub(crate) testbed: String,
    pub(crate) from: Option<NodeId>,
    pub(crate) to: Option<NodeId>,
    pub(crate) object: ObjectSpec,
    pub(crate) protocol: Protocol,
    pub(crate) channels: Option<Vec<Channel>>,
    pub(crate) payload: u8,
    pub(crate) paths: Option<u8>,
    pub(crate) hops: Option<u8>,
    pub(crate) seed: u64,
    pub(crate) pcap: Option<Box<dyn Write>>,
}

#[allow(dead_code)]
pub(crate) enum Progress {
    Phase(&'static str),
    Measuring {
        done: u64,
        total: u64,
    },
    Collecting {
        done: u64,
        total: u64,
    },
    Planned {
        hops: u8,
        paths: u8,
    },
    Packets {
        round: u32,
        received: u64,
        total: u64,
        goodput_kbps: f64,
    },
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    pub(crate) protocol: String,
    pub(crate) testbed: String,
    pub(crate) source: u16,
    pub(crate) sink: u16,
    pub(crate) bytes: u64,
    pub(crate) verified: bool,
    pub(crate) goodput_kbps: Option<f64>,
    pub(crate) utilisation: Option<f64>,
    pub(crate) rounds: u32,
    pub(crate) first_round_reliability: Option<f64>,
    pub(crate) active_nodes: u32,
    pub(crate) hops: u32,
    pub(crate) paths: u32,
    pub(crate) energy_j: f64,
    pub(crate) duration_s: f64,
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct CollectReport {
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    pub(crate) baseline: Option<Outcome>,
    #[serde(skip)]
    pub(crate) object: Vec<u8>,
}

#[allow(dead_code)]
#[derive(Debug, thiserror::Error)]
pub(crate) enum CollectError {
    #[error("{0}")]
    Input(String),
    #[error("{0}")]
    Failed(String),
    #[error("stopped")]
    Stopped,
}

pub(crate) fn collect(
    options: CollectOptions,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<CollectReport, CollectError> {
    let _ = (options, observer);
    Err(CollectError::Failed(
        "transfers are not connected yet".into(),
    ))
}

pub(crate) fn nodes(_testbed: &str) -> Result<(Vec<NodeId>, NodeId), CollectError> {
    let all: Vec<NodeId> = (1..=9).filter_map(|n| NodeId::new(n).ok()).collect();
    Ok((all.clone(), all[0]))
}
