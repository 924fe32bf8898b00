//! The images in this program: those that `firmware/images.sh` had made when it was built with the feature `images`.

use thalweg_nrf52840::identity::Role;
use thalweg_nrf52840::layout::BootLoader;

/// The image for `role` beside `boot_loader`; none where none are built in.
#[cfg(feature = "images")]
pub(crate) fn image(boot_loader: BootLoader, role: Role) -> Option<&'static [u8]> {
    macro_rules! image {
        ($name:literal) => {
            include_bytes!(concat!("../../../../firmware/images/", $name, ".elf"))
        };
    }
    Some(match (boot_loader, role) {
        (BootLoader::None, Role::Mote) => image!("mote"),
        (BootLoader::None, Role::BaseStation) => image!("station"),
        (BootLoader::Dongle, Role::Mote) => image!("dongle/mote"),
        (BootLoader::Dongle, Role::BaseStation) => image!("dongle/station"),
        (BootLoader::Uf2, Role::Mote) => image!("uf2/mote"),
        (BootLoader::Uf2, Role::BaseStation) => image!("uf2/station"),
        (BootLoader::Uf2S7, Role::Mote) => image!("uf2-s7/mote"),
        (BootLoader::Uf2S7, Role::BaseStation) => image!("uf2-s7/station"),
    })
}
#[cfg(not(feature = "images"))]
pub(crate) const fn image(_: BootLoader, _: Role) -> Option<&'static [u8]> {
    None
}
