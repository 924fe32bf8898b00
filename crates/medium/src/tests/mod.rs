//! Tests of whole media: the synchronous one against a naive one, and both against each other.

mod naive;
mod naive_agrees;
mod same_air;
