//! How objects travel: one file for each family, with its nodes, its terms and its jobs. Families of streams
//! share the job in [`stream`].

pub mod account;
pub mod burst;
pub mod fastforward;
pub mod log;
pub mod pipeline;
pub mod rcrt;
pub mod session;
pub mod stages;
pub mod stream;
pub mod terms;
pub mod ways;
