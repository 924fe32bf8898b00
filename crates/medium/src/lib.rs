//! The physics of Thalweg's simulator: propagation, interference, modems.
