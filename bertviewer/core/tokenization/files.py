"""The files of a tokenizer: their names, and whether a model has one."""

from os.path import lexists
from pathlib import Path

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import read_small_file
from bertviewer.core.util.serialization import parse_lenient

SETTINGS = "tokenizer_config.json"
TOKENIZER = "tokenizer.json"
SENTENCEPIECE_FILES = (
    *("spiece.model", "spm.model", "sentencepiece.model"),
    *("sentencepiece.bpe.model", "tokenizer.model"),
)
TOKENIZER_FILES = (TOKENIZER, "vocab.txt", "vocab.json", *SENTENCEPIECE_FILES)
"""A tokenizer has one of these, unless its class needs no vocabulary."""
WITHOUT_VOCABULARY = ("ByT5Tokenizer", "CanineTokenizer", "DiaTokenizer", "PerceiverTokenizer")
"""Classes that read bytes or characters: settings are their only file."""
READ_BY_TRANSFORMERS = (
    SETTINGS, TOKENIZER, "vocab.txt", "vocab.json", "merges.txt", "tokenizer.model",
    "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model",
    "spm_char.model", "source.spm", "target.spm", "vocab-src.json", "vocab-tgt.json",
    "target_vocab.json", "entity_vocab.json", "word_shape.json", "word_pronunciation.json",
    "bpe.codes", "prophetnet.tokenizer", "normalizer.json", "emoji.json", "dict.txt",
    "byte_maps.json", "special_tokens_map.json", "added_tokens.json", "tekken.json",
    "tiktoken.model",
)  # fmt: skip
"""All files that tokenizer classes of transformers read."""
# A tokenizer for many languages takes 20 MB.
MAX_BYTES = 100_000_000
MAX_SETTINGS = 20_000_000
# For classes without a vocabulary: these settings are read whenever a model is opened.
_MAX_FEW_SETTINGS = 1_000_000
# They share bert-base-uncased's vocabulary, which the demo model has.
_UNCASED_PRESETS = frozenset({
    "bert-base-uncased", "bert-large-uncased", "distilbert-base-uncased",
    "electra-base-discriminator",
})  # fmt: skip


def has_tokenizer(source: ModelSource) -> bool:
    """Return whether a model's folder has a tokenizer, which may be invalid."""
    if source.kind in ("preset", "runs"):
        return False
    # A pipe or a broken link counts: loading it reports an error.
    files = (source.folder / name for name in TOKENIZER_FILES)
    found = any(map(lexists, files))
    return found or tokenizer_class(source.folder, _MAX_FEW_SETTINGS) in WITHOUT_VOCABULARY


def shares_vocabulary(source: ModelSource) -> bool:
    """Return whether a model is a preset with the demo model's vocabulary."""
    return source.kind == "preset" and source.name in _UNCASED_PRESETS


def lacks_tokenizer(source: ModelSource) -> bool:
    """Return whether a model cannot be run without a tokenizer: it has weights, but none."""
    # Weights from the hub come with the first run.
    return not has_tokenizer(source) and (source.has_weights or source.kind == "hub")


def tokenizer_class(folder: Path, max_bytes: int = MAX_SETTINGS) -> str:
    """Return the ``tokenizer_class`` in a tokenizer's settings, "" without valid settings.

    Settings of more than ``max_bytes`` bytes are not read.
    """
    file = folder / SETTINGS
    if not file.is_file():
        return ""
    try:
        data = parse_lenient(read_small_file(file, max_bytes, "a tokenizer's settings"))
    except (UserError, ValueError, RecursionError):
        return ""  # loading the tokenizer reports it
    name = data.get("tokenizer_class") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""
