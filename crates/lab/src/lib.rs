//! Testbeds, experiments, metrics and reports of Thalweg.
