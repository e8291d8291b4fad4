"""A module's forward formula as plain data, ready for the screen and for paper."""

from msgspec import Struct


class Term(Struct, frozen=True):
    """One symbol of a formula, explained.

    ``symbol`` is Typst mathematics; ``meaning`` and ``value`` are plain text. ``value`` is this
    node's number or shape, ``None`` where the symbol stands for data that only a run has.
    """

    symbol: str
    meaning: str
    value: str | None = None


class Formula(Struct, frozen=True):
    """What one module computes, in evaluation mode.

    ``maths`` holds Typst mathematics without the dollar signs, one display line each. All other
    texts are plain words. ``config_keys`` names the keys of this model's configuration that bear
    on the module; ``source`` is the paper and section, or the code, that the formula follows.
    """

    title: str
    summary: str
    maths: tuple[str, ...]
    terms: tuple[Term, ...]
    source: str
    notes: tuple[str, ...] = ()
    config_keys: tuple[str, ...] = ()
