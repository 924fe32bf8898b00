//! Nothing but a manifest: the features of other packages that all of Thalweg's crates are built with.
