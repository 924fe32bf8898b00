//! What goes wrong, and whether the input or the job is to blame.

use thalweg_host::link_state::PlanRequestError;
use thalweg_lab::experiment::Refused;
use thalweg_simnet::collect::CollectError;
use thalweg_testbeds::{SiteError, TestbedError};

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be used.
    Input,
    /// The job began, and failed.
    Job,
    /// The observer stopped it.
    Stopped,
}

/// Why there is no result, in one line each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The testbed's file; a line for each of its faults.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The protocol does not take an option.
    #[error("{option} is not for protocol {protocol}")]
    NotTaken {
        /// The option, as [`crate::Network`] calls it.
        option: &'static str,
        /// The protocol.
        protocol: &'static str,
    },
    /// An option's value does not do.
    #[error("{option}: {why}")]
    Option {
        /// The option, as [`crate::Network`] calls it.
        option: &'static str,
        /// Why not.
        why: String,
    },
    /// An experiment does not take an option, or not with its value.
    #[error("{experiment}: {why}")]
    Refused {
        /// The experiment's id.
        experiment: String,
        /// Which option, and why.
        why: Refused,
    },
    /// There is no such paper or result.
    #[error("no paper and no result is called {name:?}; there are the papers {papers} and their results")]
    NoResult {
        /// What was asked for.
        name: String,
        /// The papers.
        papers: String,
    },
    /// The input cannot be used.
    #[error("{0}")]
    Input(String),
    /// The job began, and failed.
    #[error("{0}")]
    Job(String),
    /// The observer stopped it.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// Its kind.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Testbed(_)
            | Self::NotTaken { .. }
            | Self::Option { .. }
            | Self::Refused { .. }
            | Self::NoResult { .. }
            | Self::Input(_) => ErrorKind::Input,
            Self::Job(_) => ErrorKind::Job,
            Self::Stopped => ErrorKind::Stopped,
        }
    }
}

impl From<CollectError> for Error {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Stopped => Self::Stopped,
            error if error.is_input() => Self::Input(error.to_string()),
            error => Self::Job(error.to_string()),
        }
    }
}

impl From<PlanRequestError> for Error {
    fn from(error: PlanRequestError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<SiteError> for Error {
    fn from(error: SiteError) -> Self {
        Self::Input(error.to_string())
    }
}
