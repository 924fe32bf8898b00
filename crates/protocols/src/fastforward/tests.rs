//! Scripted: see below.
