"""Chapter with the forward formulas, one for each class of module, and their common notation."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

from msgspec import Struct

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import styled
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.util.text import lower_first
from bertviewer.report.blocks import (
    Block,
    Code,
    Column,
    FormulaBlock,
    Letters,
    Maths,
    Paragraph,
    Row,
    Section,
    See,
    Table,
    Text,
)
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.words import separated

_TRIVIAL_ROLES = frozenset({"composition", "dropout", "identity", "product"})
"""Roles of modules that are described in one sentence."""

_STORED = re.compile(r", stored \[\w+, \w+\]$")
_LINE_LENGTH = 72
"""Shorter lines of a formula share one, in characters."""

_LETTERS = "table:letters"
_INTRO = (
    "Each kind of module has one formula, for evaluation mode and with the sizes of its first "
    "module. The batch dimension is omitted: the sequences of a batch do not affect each other. "
    "Bold capitals are matrices, bold lowercase letters vectors, italic letters numbers and "
    "indices, and upright names functions; a lowercase letter with indices such as i and j is an "
    "element of the matrix or vector of that letter. Sizes may be given below a symbol."
)
_LINEAR: Text = (
    *(" A weight ", Maths("bold(W)"), " and a bias ", Maths("bold(b)")),
    " with the same index belong to one linear layer, as in ",
)
_ANSWERED = {
    "Residual connection: ": "Why is the input added back",
    "Next-sentence prediction and ": "What is the pooler for",
}
"""Starts of notes by those of the common questions whose answers say the same."""

_PAPERS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (("N", "N_e", "N_d"), "layers", "L", "N"),
    (("D",), "hidden size", "H", 'd_"model"'),
    (("A", "A_e", "A_d"), "attention heads", "A", "h"),
    (("d_k",), "head size", "H \\/ A", "d_k"),
    (("I", "I_e", "I_d"), "inner size of feed-forward networks", "4 H", 'd_"ff"'),
    (("S",), "sequence length", "", "n"),
)
"""Symbols, their meaning, and the letters of Devlin et al. 2019 and Vaswani et al. 2017."""


class Group(Struct, frozen=True):
    """The modules of one class and formula, one for each use.

    Queries and feed-forward networks are both computed by a ``Linear``, for example.
    """

    uses: tuple[tuple[ModuleNode, Formula], ...]

    @property
    def node(self) -> ModuleNode:
        """The first module."""
        return self.uses[0][0]

    @property
    def formula(self) -> Formula:
        """The formula of the first module."""
        return self.uses[0][1]

    @property
    def name(self) -> str:
        """The name for references."""
        return f"equation:{self.node.path}"

    @property
    def is_trivial(self) -> bool:
        """Whether one sentence describes the modules."""
        return self.node.role in _TRIVIAL_ROLES


def formulas(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` where no module has a formula."""
    architecture, answers = subject.architecture, subject.answers("formulas")
    groups, by_path = _groups(fold(architecture), architecture)
    shown = [group for group in groups if not group.is_trivial]
    if not shown:
        return None
    common = _common_terms([group.formula for group in shown])
    blocks: list[Block] = [*_notation(shown, common, architecture)]
    questions = tuple(answer.question for answer in answers)
    said = [
        note for note, asked in _ANSWERED.items() if any(q.startswith(asked) for q in questions)
    ]
    notes = {n for g in shown for n in g.formula.notes if n.startswith(tuple(said))}
    for group in shown:
        blocks += _blocks(group, common, notes, _parts(group, by_path, architecture))
    blocks += _trivial(group for group in groups if group.is_trivial)
    return ChapterDraft(Section("formulas", "What each part computes", (*blocks, *answers)))


def _groups(tree: TreeRow, architecture: Architecture) -> tuple[list[Group], Mapping[str, Group]]:
    """Return the groups of modules with formulas, in order and by the paths of their modules."""
    uses: dict[tuple[str, str], dict[str, tuple[ModuleNode, Formula]]] = {}
    keys: dict[str, tuple[str, str]] = {}
    for row in _rows(tree):
        formula = formula_of(row.node, architecture)
        if formula is not None:
            key = keys[row.node.path] = (row.node.class_name, formula.title)
            uses.setdefault(key, {}).setdefault(formula.summary, (row.node, formula))
    groups = {key: Group(tuple(found.values())) for key, found in uses.items()}
    return list(groups.values()), {path: groups[key] for path, key in keys.items()}


def _rows(row: TreeRow) -> Iterator[TreeRow]:
    yield row
    for child in row.children:
        yield from _rows(child)


def _common_terms(found: Sequence[Formula]) -> dict[str, Term]:
    """Return the terms that several formulas have, by symbol: of each symbol the most frequent."""
    counts = Counter(chain.from_iterable(dict.fromkeys(formula.terms) for formula in found))
    terms: dict[str, Term] = {}
    for term, count in counts.most_common():
        if count > 1:
            terms.setdefault(term.symbol, term)
    # In the order in which formulas use them.
    order = dict.fromkeys(term.symbol for formula in found for term in formula.terms)
    return {symbol: terms[symbol] for symbol in order if symbol in terms}


def _notation(
    shown: Sequence[Group], common: Mapping[str, Term], architecture: Architecture
) -> Iterator[Block]:
    """Yield the conventions of formulas, common symbols, and the letters of two papers."""
    linear = next((group for group in shown if group.node.role == "linear"), None)
    yield Paragraph((_INTRO, *((*_LINEAR, See(linear.name), ".") if linear else ())))
    if common:
        yield Paragraph(("Symbols that several formulas share: ", *_where(common.values())))
    values = {symbol.name: str(symbol.value) for symbol in architecture.symbols}
    terms = [term for group in shown for term in group.formula.terms]
    values |= {t.symbol: t.value or "" for t in terms if t.symbol in ("d_k", "S")}
    lines = [line for group in shown for line in group.formula.maths]
    has_networks = any("FFN" in line or "MoE" in line for line in lines)
    rows = [
        Row.of(
            meaning.capitalize(),
            tuple(separated([(Maths(symbol),) for symbol in symbols if symbol in values], ", ")),
            ", ".join(values[symbol] for symbol in symbols if symbol in values) or "–",
            *(Maths(letter) if letter else "–" for letter in letters),
        )
        for symbols, meaning, *letters in _PAPERS
        if values.keys() & {*symbols} and (has_networks or "I" not in symbols)
    ]
    if rows:
        yield Paragraph.of(
            See(_LETTERS), " compares the letters of sizes with those of two papers."
        )
        titles = ("Size", "Here", "Value", "Devlin et al. 2019", "Vaswani et al. 2017")
        yield Table(
            tuple(Column(title, share=float(title == "Size")) for title in titles),
            tuple(rows),
            name=_LETTERS,
            caption=("Letters of sizes in this report and in two papers.",),
        )


def _parts(
    group: Group, by_path: Mapping[str, Group], architecture: Architecture
) -> Iterator[tuple[Group, list[ModuleNode]]]:
    """Yield the groups with the formulas of a module's children, with these children."""
    found: dict[str, list[ModuleNode]] = {}
    for child in architecture.children(group.node.path):
        if child.path in by_path and not by_path[child.path].is_trivial:
            found.setdefault(by_path[child.path].name, []).append(child)
    for children in found.values():
        yield by_path[children[0].path], children


def _blocks(
    group: Group,
    common: Mapping[str, Term],
    said: set[str],
    parts: Iterable[tuple[Group, list[ModuleNode]]],
) -> Iterator[Block]:
    """Yield a formula with what is not said elsewhere, and a table of its uses."""
    node, formula = group.node, group.formula
    about: Text = (Code(node.class_name),)
    if node.path:
        about = (Code(node.class_name), " · ", Code(node.path))
    notes = [note for note in formula.notes if note not in said]
    said.update(notes)
    where = _where([t for t in formula.terms if t != common.get(t.symbol)], formula.maths)
    listed = [
        (*separated([(Code(child.name),) for child in children], ", "), " (", See(part.name), ")")
        for part, children in parts
    ]
    if listed:
        where = (*where, " " if where else "", "Parts: ", *separated(listed, ", "), ".")
    yield FormulaBlock(
        title=formula.title,
        about=about,
        summary=formula.summary if len(group.uses) == 1 else "",
        maths=tuple(map(styled, _lines(formula.maths))),
        where=where,
        notes=(" ".join(notes),) if notes else (),
        source=formula.source,
        name=group.name,
    )
    if len(group.uses) > 1:
        rows = tuple(Row.of(Code(node.path), formula.summary) for node, formula in group.uses)
        yield Table((Column("Used as", share=1), Column("What it computes", share=1.4)), rows)


_SIZED = re.compile(r"limits\(((?:[^()]|\([^()]*\))*)\)_\((?:[^()]|\([^()]*\))*\)")
_COMMAND = re.compile(r"\b(?:op|bold|italic|upright|quad|thick|thin|top|times)\b|[\"()_^]")


def _lines(maths: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a formula, short ones together."""
    joined, length = "", 0
    for line in maths:
        own = len(_COMMAND.sub("", _SIZED.sub(r"\1  ", line))) + 4
        if joined and length + own <= _LINE_LENGTH:
            joined, length = f"{joined}, quad {line}", length + own
        else:
            if joined:
                yield joined
            joined, length = line, own
    if joined:
        yield joined


class _Entry(Struct, frozen=True):
    """Symbols with their common meaning and sizes."""

    symbols: tuple[str, ...]
    meaning: str
    sizes: str = ""

    @property
    def text(self) -> Text:
        """The entry in a sentence."""
        names = separated([(Maths(styled(each)),) for each in self.symbols], ", ")
        return (*names, " ", Letters(", ".join(filter(None, (self.meaning, self.sizes)))))


_PROJECTION = re.compile(r"(weight(?: and bias)?) of the (\w+) projection")


def _where(terms: Iterable[Term], maths: Sequence[str] = ()) -> Text:
    """Return the symbols and their meanings as a sentence; sizes in ``maths`` are omitted."""
    entries: list[Text] = []
    for kind, found in groupby(_entries(list(terms), " ".join(maths)), _kind_of):
        same = list(found)
        if kind and len(same) > 1:
            *names, last = (each.meaning.split()[-2] for each in same)
            plural = kind.replace("weight", "weights").replace("bias", "biases")
            meaning = f"{plural} of the {', '.join(names)} and {last} projections"
            same = [_Entry(tuple(symbol for each in same for symbol in each.symbols), meaning)]
        entries += (each.text for each in same)
    return (*separated(entries, "; "), ".") if entries else ()


def _entries(terms: Sequence[Term], maths: str) -> Iterator[_Entry]:
    """Yield an entry for each term; a weight and its bias have one."""
    biases = {t.meaning.removeprefix("bias of "): t for t in terms if t.symbol[:1] == "b"}
    paired: set[str] = set()
    for term in terms:
        if term.symbol in paired:
            continue
        symbols, meaning = [term], _STORED.sub("", term.meaning)
        kind, _, use = meaning.partition(" of ")
        if kind == "weight" and use in biases:
            symbols, meaning = [term, biases[use]], f"weight and bias of {use}"
            paired.add(biases[use].symbol)
        is_sized = any(f"limits({each})" in maths for each in (term.symbol, f"{term.symbol}^top"))
        is_shown = is_sized or (f"{term.symbol} = " in maths and (term.value or "")[:1] != "[")
        sizes = [] if is_shown else [each.value for each in symbols if each.value]
        yield _Entry(tuple(each.symbol for each in symbols), meaning, " and ".join(sizes))


def _kind_of(entry: _Entry) -> str:
    """Return what the weights of a projection are called; "" for any other meaning."""
    found = _PROJECTION.fullmatch(entry.meaning)
    return found[1] if found else ""


def _trivial(groups: Iterable[Group]) -> Iterator[Block]:
    """Yield one paragraph on modules whose formulas are trivial."""
    texts = [
        (Code(group.node.class_name), f": {lower_first(formula.summary[:-1])}")
        for group in groups
        for _, formula in group.uses
    ]
    if texts:
        yield Paragraph(("Other modules: ", *separated(texts, "; "), "."))
