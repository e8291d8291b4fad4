"""A template: a pattern of the data-flow graph and the text that explains it."""

import re
from collections.abc import Callable, Mapping
from string import Formatter

from msgspec import Struct, field
from msgspec.structs import replace

from bertviewer.core.formulas.formula import TARGET, TOKENS, Formula, Term
from bertviewer.core.formulas.module_view import ModuleView, reads_target

_LENGTH = re.compile(r"\bS\b'?")
_FLAG = re.compile(r"\{(not )?([^}?]+)\?\} ")
_TEXTS = ("role", "title", "summary", "notes", "keys", "source")
Values = Mapping[str, object]
"""Values of placeholders in texts, such as ``{outputs}``."""


class Match(Struct, frozen=True):
    """The match of a template with a module: mathematics, and values for its texts.

    Attributes:
        maths: the lines.
        terms: the symbols, in the order of the lines.
        values: of placeholders.
        keys: further configuration keys that affect the module.
        has_model_lengths: whether S and S_d are the lengths of source and target; else S is the
            length of the module's input, and S' that of the other sequence.
        case: the key in ``Template.cases``.
    """

    maths: tuple[str, ...]
    terms: tuple[Term, ...]
    values: Values = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    has_model_lengths: bool = False
    case: str = ""


class Template(Struct, frozen=True):
    """A kind of module, with the text that explains it.

    Placeholders in all texts are filled with the values of the match. A note or key is omitted if
    one of its placeholders is missing, ``None`` or empty, or if its condition is false: see
    ``filled``.

    Attributes:
        role: the kind, for example ``self-attention``; colours, groups of a report and questions
            depend on it.
        match: returns the match with a module, ``None`` for other modules.
        title: the formula's title.
        summary: one sentence.
        notes: facts, some with a condition.
        keys: names of ``CONFIG_KEYS``, some with a condition.
        source: the paper and section.
        cases: the texts that differ, by the case of the match.
    """

    role: str = ""
    match: Callable[[ModuleView], Match | None] = lambda _: None
    title: str = ""
    summary: str = ""
    notes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    source: str = ""
    cases: Mapping[str, "Template"] = field(default_factory=dict)

    def explain(self, view: ModuleView) -> tuple[Formula, str] | None:
        """Return the formula and role of a module that matches, else ``None``."""
        found = self.match(view)
        if found is None:
            return None
        case = self.cases.get(found.case, self)
        texts = {name: getattr(case, name) or getattr(self, name) for name in _TEXTS}
        template = replace(self, **texts)
        formula, role = template._filled(found, view), template.role.format_map(found.values)
        of_target = not found.has_model_lengths and reads_target(view.node, view.architecture)
        return _for_target(formula) if of_target else formula, role

    def _filled(self, found: Match, view: ModuleView) -> Formula:
        values = found.values
        keys = view.config_keys(*(key for each in self.keys if (key := filled(each, values))))
        return Formula(
            title=self.title.format_map(values),
            summary=self.summary.format_map(values),
            maths=found.maths,
            terms=found.terms,
            notes=tuple(text for note in self.notes if (text := filled(note, values))),
            config_keys=tuple(dict.fromkeys((*keys, *found.keys))),
            source=self.source.format_map(values),
        )


def filled(text: str, values: Values) -> str:
    """Return a text with its placeholders filled, "" if one is missing, ``None`` or empty.

    Placeholders may be attributes: ``{norm.name}``. A text that starts with ``{gated?}`` is only
    for values in which ``gated`` is true, ``{not gated?}`` for others.
    """
    if (flag := _FLAG.match(text)) is not None:
        if bool(values.get(flag[2])) == bool(flag[1]):
            return ""
        text = text[flag.end() :]
    names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    try:
        found = [Formatter().get_field(name, (), values)[0] for name in names]
    except (KeyError, AttributeError):
        return ""
    return "" if any(each in (None, "") for each in found) else text.format_map(values)


def first_true(texts: Mapping[str, object]) -> str:
    """Return the first text with a true condition, or ""."""
    return next((text for text, holds in texts.items() if holds), "")


def _for_target(formula: Formula) -> Formula:
    """Return a formula with S_d as the length of the target, and S as that of the source."""

    def renamed(text: str) -> str:
        return _LENGTH.sub(lambda found: "S" if found[0].endswith("'") else "S_d", text)

    def of_target(term: Term) -> Term:
        value = term.value and renamed(term.value)
        return TARGET if term == TOKENS else replace(term, symbol=renamed(term.symbol), value=value)

    maths, terms = map(renamed, formula.maths), map(of_target, formula.terms)
    return replace(formula, maths=tuple(maths), terms=tuple(terms))
