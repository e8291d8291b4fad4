"""Configurations that come with the program: a name each, and no weights."""

from pathlib import Path

from msgspec import Struct

from bertviewer.core.util.files import resources_folder


class Preset(Struct, frozen=True):
    """A configuration by name, with one line that says what it is."""

    name: str
    description: str


PRESETS = (
    Preset("bert-base-uncased", "BERT base, English, lower-cased: 12 layers, D = 768"),
    Preset("bert-large-uncased", "BERT large, English, lower-cased: 24 layers, D = 1024"),
    Preset("bert-base-chinese", "BERT base, Chinese: 12 layers, D = 768, V = 21128"),
    Preset("bert-large-chinese", "BERT large, Chinese vocabulary: 24 layers, D = 1024, V = 21128"),
    Preset("roberta-base", "RoBERTa base: BERT with a byte-level vocabulary and no token types"),
    Preset("distilbert-base-uncased", "DistilBERT: 6 layers, no token types, no pooler"),
    Preset("albert-base-v2", "ALBERT base v2: one stored layer, applied 12 times"),
    Preset("electra-base-discriminator", "ELECTRA base discriminator: 12 layers, D = 768"),
    Preset("gpt2", "GPT-2: decoder only, 12 pre-norm layers"),
    Preset(
        "transformer-base",
        "The original Transformer (2017): 6 encoder and 6 decoder layers, D = 512",
    ),
)


def preset_names() -> tuple[str, ...]:
    """Return the presets' names, in the order in which they are listed."""
    return tuple(preset.name for preset in PRESETS)


def find_preset(name: str) -> Path | None:
    """Return the configuration file of the preset of that name, ``None`` if there is none."""
    if name not in preset_names():
        return None
    return resources_folder() / "presets" / f"{name}.json"
