//! The medium against closed forms and against a receiver written a second time.

mod common;
mod facts;
mod oracle;
