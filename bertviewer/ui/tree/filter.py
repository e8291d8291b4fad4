"""Filter of the module tree: words, ``class:Linear``, ``params>1M``. Without Qt.

Any text can be parsed; what is invalid in it is reported in one line. ``KEYS`` is the table of all
keys: parser, completion and the menu of examples read it.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from bertviewer.charts.labels import shortened
from bertviewer.charts.translation import translate
from bertviewer.core.util.text import printable
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.tree.rows import TreeItem

LONGEST = 40
"""Characters of an invalid term in its message."""


class FilterKey(Struct, frozen=True):
    """A key that a term may begin with.

    Attributes:
        name: as users type it.
        kind: of its values; shapes are tuples of sizes as texts.
        value: the value of a row, ``None`` where it is unknown: no term matches that.
        example: a term.
        meaning: what the example finds.
    """

    name: str
    kind: Literal["text", "number", "shape", "flag"]
    value: Callable[[TreeItem], Any]
    example: str
    meaning: str

    @property
    def is_of_structure(self) -> bool:
        """Whether values are known as soon as the tree is shown, and never change."""
        return self.name in ("class", "name", "path", "part")


class Term(Struct, frozen=True):
    """A condition on rows.

    Attributes:
        matches: whether a row meets it.
        key: ``None`` for a word in the path or the class.
        highlight: the text to highlight, case-folded; "" for none.
    """

    matches: Callable[[TreeItem], bool]
    key: FilterKey | None = None
    highlight: str = ""


class TreeFilter(Struct, frozen=True):
    """A conjunction of terms; ``error`` is a line about what is invalid, "" if nothing is."""

    terms: tuple[Term, ...] = ()
    error: str = ""

    def matches(self, item: TreeItem) -> bool:
        """Return whether a row meets all terms."""
        return all(term.matches(item) for term in self.terms)

    @property
    def needs_figures(self) -> bool:
        """Whether matches may change with derived costs or with a run."""
        return any(term.key is not None and not term.key.is_of_structure for term in self.terms)

    def highlights(self, key: str) -> tuple[str, ...]:
        """Return the texts to highlight in a row's ``name`` or ``class``, case-folded."""
        keys = ("name", "path") if key == "name" else (key,)
        terms = (term for term in self.terms if term.key is None or term.key.name in keys)
        return tuple(term.highlight for term in terms if term.highlight)


class _InvalidTermError(ValueError):
    """The message for the user."""


def parse_filter(text: str) -> TreeFilter:
    """Parse a filter; an empty text matches everything. Invalid terms are left out."""
    terms: list[Term] = []
    message = ""
    for token in TOKEN.findall(_COMPARISON.sub(r"\1\2", text)):
        try:
            terms.append(_parse_term(token))
        except _InvalidTermError as error:
            message = message or printable(str(error))
    return TreeFilter(tuple(terms), message)


def _parse_term(token: str) -> Term:
    if not (bare := token.lstrip("-")):
        return _word(token)
    term = _parse_positive(bare)
    if (len(token) - len(bare)) % 2:
        return Term(lambda item: not term.matches(item), term.key)
    return term


def _parse_positive(token: str) -> Term:
    """Parse a term without leading minus signs."""
    found = KEYED.fullmatch(token)
    if found is None:
        return _word(_unquoted(token))
    sign, value = _SIGNS.get(found[2], found[2]), _unquoted(found[3])
    key = _KEYS.get(found[1].lower())
    if key is None:
        raise _InvalidTermError(_unknown_key(found[1]))
    test = _PARSERS[key.kind](sign, value) if value else None
    if test is None:
        incomplete = translate("filter", "Incomplete filter. Example: {1}")
        line = translate("filter", "Invalid filter {0}. Example: {1}") if value else incomplete
        raise _InvalidTermError(line.format(shortened(token, LONGEST), key.example))

    def matches(item: TreeItem) -> bool:
        found = key.value(item)
        return found is not None and test(found)

    return Term(matches, key, value if key.kind == "text" else "")


def _unknown_key(name: str) -> str:
    if len(name) < LONGEST and (close := get_close_matches(name.lower(), _KEYS, n=1)):
        line = translate("filter", "Unknown filter {0}. Did you mean {1}?")
        return line.format(name, close[0])
    line = translate("filter", "Unknown filter {0}. Click “?” for all filters")
    return line.format(shortened(name, LONGEST))


def _unquoted(text: str) -> str:
    return text.replace('"', "").strip().casefold()


def _word(text: str) -> Term:
    return Term(lambda item: text in item.text, highlight=text)


Test = Callable[[Any], bool]
"""Whether a known value meets a condition."""


def _parse_text(sign: str, value: str) -> Test | None:
    tests: dict[str, Test] = {
        "=": lambda text: bool(text.casefold() == value),
        ":": lambda text: value in text.casefold(),
    }
    return tests.get(sign)


def _parse_shape(sign: str, value: str) -> Test | None:
    sizes = tuple(re.split(r"[x×,\s]+", value.strip("[]() \t")))
    if sign not in (":", "=") or not all(sizes):
        return None
    count = len(sizes)
    return lambda shape: any(
        tuple(shape[start : start + count]) == sizes for start in range(len(shape) - count + 1)
    )


def _parse_flag(sign: str, value: str) -> Test | None:
    flag = _FLAGS.get(value)
    return None if flag is None or sign not in (":", "=") else lambda found: found is flag


def _parse_number(sign: str, value: str) -> Test | None:
    if sign in (":", "=") and (between := _RANGE.fullmatch(value)):
        (first, slack), (last, last_slack) = sorted((_number(between[1]), _number(between[2])))
        return lambda number: first - slack <= number <= last + last_slack
    if not _NUMBER.fullmatch(value):
        return None
    limit, slack = _number(value)
    comparisons: dict[str, Test] = {
        ">": lambda number: bool(number > limit),
        "<": lambda number: bool(number < limit),
        ">=": lambda number: bool(number >= limit),
        "<=": lambda number: bool(number <= limit),
    }
    if sign in comparisons:
        return comparisons[sign]
    return lambda number: limit - slack <= number <= limit + slack


_PARSERS: Mapping[str, Callable[[str, str], Test | None]] = {
    "text": _parse_text,
    "number": _parse_number,
    "shape": _parse_shape,
    "flag": _parse_flag,
}


def _number(text: str) -> tuple[float, float]:
    """Return a number and half a unit of its last digit if it has a suffix: 1.77M is rounded."""
    found = _NUMBER.fullmatch(text)
    assert found is not None
    digits, suffix = found[1].replace(",", "").replace("_", "").replace("−", "-"), found[2]
    factor = _FACTORS[suffix]
    decimals = len(digits.partition(".")[2])
    return float(digits) * factor, 0.5 * factor / 10**decimals if suffix else 0.0


def _statistic(name: str, item: TreeItem) -> float | None:
    return item.rows.figures.statistic(item.row, name)


KEYS = (
    FilterKey("class", "text", lambda item: item.row.node.class_name, "class:Linear",
        QT_TRANSLATE_NOOP("filter", "modules of this class")),
    FilterKey("name", "text", lambda item: item.row.label, "name=query",
        QT_TRANSLATE_NOOP("filter", "modules with exactly this name")),
    FilterKey("path", "text", lambda item: item.key, "path:encoder.layer",
        QT_TRANSLATE_NOOP("filter", "modules with this in their path")),
    FilterKey("part", "text", lambda item: item.rows.part(item), "part:attention",
        QT_TRANSLATE_NOOP("filter", "also embeddings, feed-forward, norm, head")),
    FilterKey("layer", "number", lambda item: item.layer, "layer:3-5",
        QT_TRANSLATE_NOOP("filter", "modules in these layers")),
    FilterKey("params", "number", lambda item: item.row.parameters, "params>1M",
        QT_TRANSLATE_NOOP("filter", "by parameter count: >, >=, <, <=, =; K, M, G")),
    FilterKey("macs", "number", lambda item: item.rows.figures.macs(item.row), "macs>1G",
        QT_TRANSLATE_NOOP("filter", "by multiply-adds")),
    FilterKey("shape", "shape", lambda item: tuple(map(str, item.row.shape or ())),
        "shape:768x3072",
        QT_TRANSLATE_NOOP("filter", "sizes in the weight’s shape")),
    FilterKey("output", "shape", lambda item: item.rows.figures.output(item.row), "output:768",
        QT_TRANSLATE_NOOP("filter", "sizes in the output’s shape")),
    FilterKey("trained", "flag", lambda item: item.rows.figures.is_trained(item.row.node),
        "trained:no",
        QT_TRANSLATE_NOOP("filter", "weights missing from the checkpoint")),
    FilterKey("trainable", "flag",
        lambda item: item.row.trainable > 0 if item.row.parameters else None, "trainable:no",
        QT_TRANSLATE_NOOP("filter", "frozen weights")),
    FilterKey("mean", "number", partial(_statistic, "mean"), "mean<0",
        QT_TRANSLATE_NOOP("filter", "by mean of the output in the last run")),
    FilterKey("std", "number", partial(_statistic, "std"), "std>0.5",
        QT_TRANSLATE_NOOP("filter", "by standard deviation of the output")),
    FilterKey("min", "number", partial(_statistic, "min"), "min<-10",
        QT_TRANSLATE_NOOP("filter", "by minimum of the output")),
    FilterKey("max", "number", partial(_statistic, "max"), "max>10",
        QT_TRANSLATE_NOOP("filter", "by maximum of the output")),
    FilterKey("rms", "number", partial(_statistic, "rms"), "rms>1",
        QT_TRANSLATE_NOOP("filter", "by root mean square of the output")),
    FilterKey("zeros", "number", partial(_statistic, "zero_fraction"), "zeros>0.5",
        QT_TRANSLATE_NOOP("filter", "by share of zeros in the output")),
    FilterKey("nan", "number", partial(_statistic, "nan_count"), "nan>0",
        QT_TRANSLATE_NOOP("filter", "outputs with NaN")),
    FilterKey("inf", "number", partial(_statistic, "inf_count"), "inf>0",
        QT_TRANSLATE_NOOP("filter", "outputs with infinities")),
)  # fmt: skip

_KEYS: Mapping[str, FilterKey] = {key.name: key for key in KEYS}
TOKEN = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
"""A term; quotes group words, and an unclosed one extends to the end of the text."""
KEYED = re.compile(r"([A-Za-z]+)(>=|<=|[≥≤<>=:])(.*)", re.DOTALL)
_COMPARISON = re.compile(
    rf"(?<!\S)(-?(?:{'|'.join(_KEYS)}))\s*(>=|<=|[≥≤<>])\s*(?=[\d.+−-])", re.IGNORECASE
)
_SIGNS = {"≥": ">=", "≤": "<="}
_DIGITS = r"[+−-]?(?:[0-9][0-9,_]{0,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,3})?"
_NUMBER = re.compile(rf"({_DIGITS})([kmgt]?)")
_RANGE = re.compile(rf"({_DIGITS}[kmgt]?)(?:-|–|\.\.)({_DIGITS}[kmgt]?)")
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
