//! Writes the memory's layout for the linker, as the image's boot loader leaves it.

use std::{env, fs, path::PathBuf};

// The driver's own table, so that image, driver and `thalweg firmware` have one. Not all of it is for here.
#[allow(dead_code)]
#[path = "../crates/nrf52840/src/layout.rs"]
mod layout;
use layout::{Area, BootLoader, PAGE_BYTES};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let boot_loader = match (has("DONGLE"), has("UF2"), has("UF2_S7")) {
        (false, false, false) => BootLoader::None,
        (true, false, false) => BootLoader::Dongle,
        (false, true, false) => BootLoader::Uf2,
        (false, false, true) => BootLoader::Uf2S7,
        _ => return Err("several boot loaders' features: an image has one".into()),
    };
    let layout = boot_loader.layout();
    let line = |name: &str, area: Area| {
        let (first, bytes) = (area.first, u32::from(area.pages) * PAGE_BYTES);
        format!("  {name:10} : ORIGIN = {first:#010x}, LENGTH = {bytes:#x}\n")
    };
    let areas = [
        line("FLASH", layout.program),
        line("IDENTITY", layout.identity),
        line("SECOND", layout.second),
        line("RECORDINGS", layout.recordings),
    ];
    // Not called memory.x: the linker would find it, in its own folder, before what is written here.
    let sections = fs::read_to_string("sections.x")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let memory = format!("MEMORY\n{{\n{}}}\n{sections}", areas.concat());
    fs::write(out.join("memory.x"), memory)?;
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rerun-if-changed=sections.x");
    println!("cargo:rerun-if-changed=../crates/nrf52840/src/layout.rs");
    Ok(())
}
