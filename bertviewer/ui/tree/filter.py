"""Reads what a person types into the tree's filter: words, ``class:Linear``, ``params>1M``.

Without Qt. Any text gives a filter; what is not understood of it is said in one line.
"""

import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from msgspec import Struct

from bertviewer.charts.labels import shortened
from bertviewer.charts.translation import translate
from bertviewer.core.util.text import printable
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.tree.terms import Not, Sizes, Term, TreeFilter, Truth, Within, Words, Written

LONGEST = 40
"""Letters of a term that is not understood, where that is said."""


class Key(Struct, frozen=True):
    """A word that a term may begin with, an example of the term, and what that finds."""

    name: str
    read: Callable[[str, str, str], Term | None]
    example: str
    meaning: str


def parse_filter(text: str) -> TreeFilter:
    """Return the filter that a text asks for, an empty one for an empty text."""
    terms: list[Term] = []
    unclear = ""
    for token in TOKEN.findall(_COMPARISON.sub(r"\1\2", text)):
        try:
            terms.append(_term(token))
        except _NotUnderstoodError as error:
            unclear = unclear or printable(str(error))
    return TreeFilter(tuple(terms), unclear)


class _NotUnderstoodError(ValueError):
    """A term means nothing; the text says why."""


def _term(token: str) -> Term:
    if bare := token.lstrip("-"):
        term = _positive(bare)
        return Not(term) if (len(token) - len(bare)) % 2 else term
    return Words(token)


def _positive(token: str) -> Term:
    """Return what a term without a minus before it asks for."""
    found = KEYED.fullmatch(token)
    if found is None:
        return Words(_bare(token))
    name, sign, value = found[1].lower(), _SIGNS.get(found[2], found[2]), _bare(found[3])
    key = _KEYS.get(name)
    if key is None:
        raise _NotUnderstoodError(_unknown(found[1]))
    term = key.read(name, sign, value) if value else None
    if term is None:
        incomplete = translate("filter", "Incomplete filter. Example: {1}")
        line = translate("filter", "Invalid filter {0}. Example: {1}") if value else incomplete
        raise _NotUnderstoodError(line.format(shortened(token, LONGEST), key.example))
    return term


def _unknown(name: str) -> str:
    if len(name) < LONGEST and (close := get_close_matches(name.lower(), _KEYS, n=1)):
        line = translate("filter", "Unknown filter {0}. Did you mean {1}?")
        return line.format(name, close[0])
    line = translate("filter", "Unknown filter {0}. Click “?” for all filters")
    return line.format(shortened(name, LONGEST))


def _bare(text: str) -> str:
    return text.replace('"', "").strip().casefold()


def _written(key: str, sign: str, value: str) -> Term | None:
    return Written(key, value, is_whole=sign == "=") if sign in (":", "=") else None


def _sizes(key: str, sign: str, value: str) -> Term | None:
    sizes = tuple(re.split(r"[x×,\s]+", value.strip("[]() \t")))
    return Sizes(key, sizes) if sign in (":", "=") and all(sizes) else None


def _truth(key: str, sign: str, value: str) -> Term | None:
    is_so = _TRUTHS.get(value)
    return None if is_so is None or sign not in (":", "=") else Truth(key, is_so)


def _number(key: str, sign: str, value: str) -> Term | None:
    if sign in (":", "=") and (between := _BETWEEN.fullmatch(value)):
        ends = sorted([_value(between[1]), _value(between[2])])
        low, high = ends[0][0] - ends[0][1], ends[1][0] + ends[1][1]
        return Within(key, low, high)
    if not _NUMBER.fullmatch(value):
        return None
    number, slack = _value(value)
    match sign:
        case ">":
            return Within(key, number, math.inf, is_open=True)
        case "<":
            return Within(key, -math.inf, number, is_open=True)
        case ">=":
            return Within(key, number, math.inf)
        case "<=":
            return Within(key, -math.inf, number)
    return Within(key, number - slack, number + slack)


def _value(text: str) -> tuple[float, float]:
    """Return a number, and how far off one may be that is rounded to it: 1.77M has two digits."""
    found = _NUMBER.fullmatch(text)
    assert found is not None  # whoever asks has looked
    digits, letter = found[1].replace(",", "").replace("_", "").replace("−", "-"), found[2]
    factor = _FACTORS[letter]
    behind = len(digits.partition(".")[2])
    return float(digits) * factor, 0.5 * factor / 10**behind if letter else 0.0


KEYS = (
    Key("class", _written, "class:Linear",
        QT_TRANSLATE_NOOP("filter", "modules of this class")),
    Key("name", _written, "name=query",
        QT_TRANSLATE_NOOP("filter", "modules with exactly this name")),
    Key("path", _written, "path:encoder.layer",
        QT_TRANSLATE_NOOP("filter", "modules with this in their path")),
    Key("part", _written, "part:attention",
        QT_TRANSLATE_NOOP("filter", "also embeddings, feed-forward, norm, head")),
    Key("layer", _number, "layer:3-5",
        QT_TRANSLATE_NOOP("filter", "modules in these layers")),
    Key("params", _number, "params>1M",
        QT_TRANSLATE_NOOP("filter", "by parameter count: >, >=, <, <=, =; K, M, G")),
    Key("macs", _number, "macs>1G",
        QT_TRANSLATE_NOOP("filter", "by multiply-adds")),
    Key("shape", _sizes, "shape:768x3072",
        QT_TRANSLATE_NOOP("filter", "sizes in the weight’s shape")),
    Key("output", _sizes, "output:768",
        QT_TRANSLATE_NOOP("filter", "sizes in the output’s shape")),
    Key("trained", _truth, "trained:no",
        QT_TRANSLATE_NOOP("filter", "weights missing from the checkpoint")),
    Key("trainable", _truth, "trainable:no",
        QT_TRANSLATE_NOOP("filter", "frozen weights")),
    Key("mean", _number, "mean<0",
        QT_TRANSLATE_NOOP("filter", "by mean of the output in the last run")),
    Key("std", _number, "std>0.5",
        QT_TRANSLATE_NOOP("filter", "by standard deviation of the output")),
    Key("min", _number, "min<-10",
        QT_TRANSLATE_NOOP("filter", "by minimum of the output")),
    Key("max", _number, "max>10",
        QT_TRANSLATE_NOOP("filter", "by maximum of the output")),
    Key("rms", _number, "rms>1",
        QT_TRANSLATE_NOOP("filter", "by root mean square of the output")),
    Key("zeros", _number, "zeros>0.5",
        QT_TRANSLATE_NOOP("filter", "by share of zeros in the output")),
    Key("nan", _number, "nan>0",
        QT_TRANSLATE_NOOP("filter", "outputs with NaN")),
    Key("inf", _number, "inf>0",
        QT_TRANSLATE_NOOP("filter", "outputs with infinities")),
)  # fmt: skip
"""All that a term may begin with."""

_KEYS: Mapping[str, Key] = {key.name: key for key in KEYS}
TOKEN = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
"""Quotes hold words together, up to the text's end where they are not closed."""
KEYED = re.compile(r"([A-Za-z]+)(>=|<=|[≥≤<>=:])(.*)", re.DOTALL)
_COMPARISON = re.compile(
    rf"(?<!\S)(-?(?:{'|'.join(_KEYS)}))\s*(>=|<=|[≥≤<>])\s*(?=[\d.+−-])", re.IGNORECASE
)
_SIGNS = {"≥": ">=", "≤": "<="}
_DIGITS = r"[+−-]?(?:[0-9][0-9,_]{0,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,3})?"
_NUMBER = re.compile(rf"({_DIGITS})([kmgt]?)")
_BETWEEN = re.compile(rf"({_DIGITS}[kmgt]?)(?:-|–|\.\.)({_DIGITS}[kmgt]?)")
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_TRUTHS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
