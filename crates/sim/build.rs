//! Builds the board files in.

fn main() -> std::io::Result<()> {
    thalweg_workspace::build_in("boards")
}
