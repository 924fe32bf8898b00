//! Builds the board files in.

fn main() -> std::io::Result<()> {
    thalweg_built_in::list("boards")
}
