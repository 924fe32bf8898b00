//! Thalweg's protocol engines: one folder per system.
