"""The files of a model's tokenizer: which there are, and what they say before any is read."""

from os.path import lexists
from pathlib import Path

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import loads

SETTINGS = "tokenizer_config.json"
TOKENIZER = "tokenizer.json"
SENTENCEPIECE_FILES = (
    *("spiece.model", "spm.model", "sentencepiece.model"),
    *("sentencepiece.bpe.model", "tokenizer.model"),
)
TOKENIZER_FILES = (TOKENIZER, "vocab.txt", "vocab.json", *SENTENCEPIECE_FILES)
"""One of these is there, or there is no tokenizer, unless it needs no vocabulary."""
WITHOUT_VOCABULARY = ("ByT5Tokenizer", "CanineTokenizer", "DiaTokenizer", "PerceiverTokenizer")
"""They read bytes or characters: their settings are all that there is of them."""
READ_BY_TRANSFORMERS = (
    SETTINGS, TOKENIZER, "vocab.txt", "vocab.json", "merges.txt", "tokenizer.model",
    "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model",
    "spm_char.model", "source.spm", "target.spm", "vocab-src.json", "vocab-tgt.json",
    "target_vocab.json", "entity_vocab.json", "word_shape.json", "word_pronunciation.json",
    "bpe.codes", "prophetnet.tokenizer", "normalizer.json", "emoji.json", "dict.txt",
    "byte_maps.json", "special_tokens_map.json", "added_tokens.json", "tekken.json",
    "tiktoken.model",
)  # fmt: skip
"""All files that a tokenizer of transformers is made from."""
# One for many languages takes 20 MB.
MAX_BYTES = 100_000_000
MAX_SETTINGS = 20_000_000
# Of one without vocabulary; these are looked at whenever a model is opened.
_MAX_FEW_SETTINGS = 1_000_000
# These share bert-base-uncased's vocabulary, which the demo model carries.
_UNCASED_PRESETS = frozenset({
    "bert-base-uncased", "bert-large-uncased", "distilbert-base-uncased",
    "electra-base-discriminator",
})  # fmt: skip


def has_tokenizer(source: ModelSource) -> bool:
    """Tell whether a model has a tokenizer of its own, which may be bad."""
    if source.kind in ("preset", "runs"):
        return False
    # A pipe or a broken link is one that cannot be read.
    own = (source.folder / name for name in TOKENIZER_FILES)
    return any(map(lexists, own)) or _needs_no_vocabulary(source.folder)


def shares_vocabulary(source: ModelSource) -> bool:
    """Tell whether a model is a preset that reads text by the demo model's vocabulary."""
    return source.kind == "preset" and source.name in _UNCASED_PRESETS


def lacks_tokenizer(source: ModelSource) -> bool:
    """Tell whether a model cannot be run for want of one: its weights know no others' tokens."""
    # Weights from the hub come with the first run.
    return not has_tokenizer(source) and (source.has_weights or source.kind == "hub")


def _needs_no_vocabulary(folder: Path) -> bool:
    return tokenizer_class(folder, _MAX_FEW_SETTINGS) in WITHOUT_VOCABULARY


def tokenizer_class(folder: Path, most: int = MAX_SETTINGS) -> str:
    """Return the class that the settings of a tokenizer name, "" if they name none, or are bad.

    They are not read if they take more than ``most`` bytes.
    """
    file = folder / SETTINGS
    if not file.is_file():
        return ""
    try:
        data = loads(read_small_file(file, most, "a tokenizer's settings"))
    except (UserError, ValueError, RecursionError):
        return ""  # what is bad is told where it is checked
    name = data.get("tokenizer_class") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""
