"""All families, and what a class is by its name.

A new class of a known kind is one line in its family's file; a new family is one file, named here.
"""

from collections.abc import Iterable
from types import MappingProxyType

from bertviewer.core.families.bart import BART, MBART, T5
from bertviewer.core.families.bert import BERT, ELECTRA, MPNET, ROBERTA
from bertviewer.core.families.big_bird import BIG_BIRD
from bertviewer.core.families.deberta import DEBERTA, LEGACY_DEBERTA
from bertviewer.core.families.decoders import GPT2, LLAMA
from bertviewer.core.families.esm import ESM
from bertviewer.core.families.family import Description, Descriptions, Family, kind_of
from bertviewer.core.families.modernbert import MODERNBERT
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.families.roformer import ROFORMER
from bertviewer.core.families.small_encoders import ALBERT, DISTILBERT
from bertviewer.core.families.squeezebert import SQUEEZEBERT
from bertviewer.core.families.torch_nn import SHARED, TORCH

FAMILIES: tuple[Family, ...] = (
    TORCH,
    SHARED,
    *(BERT, ROBERTA, ELECTRA, MPNET, ALBERT, DISTILBERT),
    *(DEBERTA, LEGACY_DEBERTA, ROFORMER, BIG_BIRD, SQUEEZEBERT, ESM, MODERNBERT),
    *(GPT2, LLAMA, BART, MBART, T5),
)


def classes_of(families: Iterable[Family]) -> Descriptions:
    """Return what each class of these families is, by its name.

    Raises:
        ValueError: two families have a class of the same name.
    """
    found: dict[str, Description] = {}
    for family in families:
        own = family.descriptions()
        if twice := found.keys() & own:
            raise ValueError(f"of two families: {', '.join(sorted(twice))}")
        found |= own
    return MappingProxyType(found)


CLASSES = classes_of(FAMILIES)
"""What every known class is."""


def kind_of_class(class_name: str, classes: Descriptions = CLASSES) -> ModuleKind | None:
    """Return the kind of a class of modules, ``None`` where no family has it."""
    return kind_of(classes.get(class_name))


def role_of_class(class_name: str) -> str:
    """Return what the kind of a class is called, empty where no family has it."""
    kind = kind_of_class(class_name)
    return "" if kind is None else kind.role
