//! Builds the testbed files in.

fn main() -> std::io::Result<()> {
    thalweg_workspace::build_in("testbeds")
}
