//! Builds the experiments and the papers' values in.

fn main() -> std::io::Result<()> {
    thalweg_workspace::build_in("experiments")?;
    thalweg_workspace::build_in("papers")
}
