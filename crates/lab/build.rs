//! Builds the experiments and the papers' values in.

fn main() -> std::io::Result<()> {
    thalweg_built_in::list("experiments")?;
    thalweg_built_in::list("papers")
}
