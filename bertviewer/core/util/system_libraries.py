"""The system libraries that Qt needs and PySide6 does not bring, as Debian's packages."""

DEBIAN_PACKAGES = (
    "libegl1",
    "libgl1",
    "libdbus-1-3",
    "libfontconfig1",
    "libxkbcommon-x11-0",
    "libxcb-cursor0",
    "libxcb-icccm4",
    "libxcb-image0",
    "libxcb-keysyms1",
    "libxcb-randr0",
    "libxcb-render-util0",
    "libxcb-shape0",
    "libxcb-xinerama0",
    "libxcb-xkb1",
)

INSTALL_HINT = f"on Debian and Ubuntu run 'apt install {' '.join(DEBIAN_PACKAGES)}'"
