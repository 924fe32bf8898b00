//! Builds the testbed files in.

fn main() -> std::io::Result<()> {
    thalweg_built_in::list("testbeds")
}
