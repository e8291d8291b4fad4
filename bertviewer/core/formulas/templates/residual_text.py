"""The lines and terms of residual paths: layers, sub-layers and parts of them."""

from collections.abc import Sequence
from itertools import groupby

from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, Affine, quoted, sized
from bertviewer.core.formulas.templates.feed_forward import half_of_network, read_feed_forward
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.residual import (
    LEARNT_SCALE,
    Branch,
    ResidualPath,
    child_of,
)
from bertviewer.core.frozen import frozen

_BRANCHES = {
    "attention": ('"Attention"', "self-attention", "multi-head {}, with its output projection"),
    "cross-attention": ('"CrossAttention"', "cross-attention", "attention to the encoder’s output"),
    "feed-forward": ('op("FFN"{})', "a feed-forward network", "{}, applied to each row"),
    "experts": ('op("MoE")', "a mixture of experts", "{}{}"),
}
"""How branches are called in lines, in sentences and in terms."""
_HEADS = "outputs of the heads, side by side"
_INPUTS = {
    "add & norm": ("Z", "output of the sub-layer", "the sub-layer", "", ""),
    "output": ("Z", _HEADS, "the attention", "output projection", "O"),
    "second half": ("H", "output of the first half", "the first half", "second linear layer", "2"),
    "add": ("Z", "output of the preceding part", "the sub-layer, not normalised", "projection", ""),
}
"""An input that is added: symbol, meaning, whose input R is, what projects it, and the index."""
_ENCODER_OUTPUT = Term('X_"enc"', "the encoder’s output")


@frozen
class Part:
    """What a residual path adds, or a step before that.

    Attributes:
        symbol: the function that it is.
        terms: what explains it.
        words: it as part of a sentence, "" for norms.
        definition: the line that defines the function, "" for none.
        heads: the line for what is projected, "" if it is an input.
        projected: what is added instead of the function of the path, "" for none.
        case: which template a module has that adds an input to another one.
    """

    symbol: str = ""
    terms: tuple[Term, ...] = ()
    words: str = ""
    definition: str = ""
    heads: str = ""
    projected: str = ""
    case: str = ""


def parts_of(view: ModuleView, path: ResidualPath) -> list[Part]:
    """Return how the entry and the branches are written, nothing if one of them is unknown."""
    found: list[Part | None] = []
    if is_norm(path.entry):
        found.append(Part(Norm.of(path.entry).operator))
    elif path.entry is not None:
        found.append(_child(path.entry.node.name, path.entry.node.class_name))
    kinds = [branch.kind for branch in path.branches]
    for number, branch in enumerate(path.branches):
        is_sole = len(kinds) == 1 and path.entry is None
        part = _sole(view, branch) if is_sole else None
        several = branch.kind == "feed-forward" and kinds.count("feed-forward") > 1
        index = f"_{kinds[: number + 1].count('feed-forward')}" if several else ""
        found.append(part or _part(view, branch, index))
    parts = [part for part in found if part is not None]
    return parts if len(parts) == len(found) else []


def _child(name: str, class_name: str | None) -> Part:
    symbol, about = quoted(name), f"the child “{name}” ({class_name}), explained on its own page"
    return Part(symbol, (Term(symbol, about),), f"“{name}”")


def _part(view: ModuleView, branch: Branch, index: str) -> Part | None:
    """Return how a branch is written, ``None`` if it is neither a child nor a known pattern.

    A network with an index is one of several and not written out.
    """
    if branch.kind == "input":
        return None
    if branch.kind not in _BRANCHES:
        name, *more = {child_of(view, step) for step in branch.core} or {""}
        return None if more or not name else _child(name, view.children[name].class_name)
    symbol, words, meaning = _BRANCHES[branch.kind]
    symbol, some = symbol.format(index), ""
    for details in (step.node.details for step in branch.core if step.operation == "experts"):
        count, chosen = details.get("experts"), details.get("chosen")
        some = f", {chosen} of {count} for each position" if chosen else f", {count} in all"
    is_written = branch.kind == "feed-forward" and not index
    network = read_feed_forward(branch.last, view) if is_written else None
    if network is not None:
        terms = network.terms("the feed-forward network’s")
        return Part(symbol, terms, words, f"{symbol}(x) = {network.maths('x')}")
    term = Term(symbol, meaning.format(words, some))
    return Part(symbol, (*_encoder(branch), term), words)


def _encoder(branch: Branch) -> tuple[Term, ...]:
    return (_ENCODER_OUTPUT,) if branch.kind == "cross-attention" else ()


def _sole(view: ModuleView, branch: Branch) -> Part | None:
    """Return how the only branch of a module is written if it ends with a layer or is an input."""
    is_linear = bool(branch.core) and branch.last.operation == "linear"
    dense = view.affine_of(branch.last) if is_linear else None
    if branch.kind == "input":
        return _input(view, dense, branch) if bool(dense) == bool(branch.core) else None
    is_direct = branch.before is None or len({child_of(view, step) for step in branch.core}) > 1
    if dense is None or not is_direct or "attention" not in branch.kind:
        return None
    symbol = '"CrossAttention"' if branch.kind == "cross-attention" else '"SelfAttention"'
    heads = sized("Z", "S", dense.inputs)
    terms = (
        *_encoder(branch),
        Term("Z", _HEADS, f"[S, {dense.inputs}]"),
        *dense.terms("the output projection", "O"),
    )
    line = f"{heads} = {_called(symbol, branch, _normed(branch.before, 'X'))}"
    return Part(symbol, terms, _BRANCHES[branch.kind][1], "", line, dense.maths(heads, "O"))


def _input(view: ModuleView, dense: Affine | None, branch: Branch) -> Part:
    """Return how an input that is added to another one is written."""
    case = "add & norm" if dense is None else "add"
    if branch.after and dense:
        case = "second half" if half_of_network(view) == "second" else "output"
    symbol, meaning, residual, use, index = _INPUTS[case]
    width = view.width_of(branch.sum)
    inputs = dense.inputs if dense else width
    terms = (
        Term(symbol, meaning, f"[S, {inputs}]"),
        Term("R", f"residual: the input of {residual}", f"[S, {width}]"),
        *(dense.terms(f"the {use}", index) if dense else ()),
    )
    added = sized(symbol, "S", inputs)
    added = dense.maths(added, index) if dense else added
    return Part(terms=terms, projected=added, case=case)


def _normed(norm: Step | None, maths: str) -> str:
    return maths if norm is None else f"{Norm.of(norm).operator}({maths})"


def _called(symbol: str, branch: Branch, argument: str) -> str:
    more = f", {_ENCODER_OUTPUT.symbol}" if branch.kind == "cross-attention" else ""
    return f"{symbol}({argument}{more})"


def lines_and_terms(
    view: ModuleView, path: ResidualPath, parts: Sequence[Part]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Return the lines and terms of a residual path; its entry and each branch have a part."""
    width, last = view.width_of(path.branches[-1].sum), path.branches[-1].sum.node.id
    lines, terms, waiting, argument = list[str](), [TOKENS], iter(parts), "R"
    if not parts[0].case:
        argument = "X"
        terms.append(Term("X", "input, one row per position", f"[S, {width}]"))
    # The sum of a single connection shows the size of its input.
    start = sized(argument, "S", width) if len(parts) == 1 else argument
    if path.entry is not None:
        argument = start = "X'"
        lines.append(f"{sized(argument, 'S', width)} = {next(waiting).symbol}(X)")
    sums = groupby(path.branches, lambda branch: branch.sum.node.id)
    for number, (name, branches) in enumerate((name, list(group)) for name, group in sums):
        added, read, norm = [start], argument, branches[0].before
        is_shared = len(branches) > 1 and all(branch.before is norm for branch in branches)
        if norm is not None and is_shared:
            read = "N"
            lines.append(f"{sized(read, 'S', width)} = {_normed(norm, argument)}")
            terms.append(Term(read, "the normalised input, which all parallel sub-layers read"))
        for branch, part in zip(branches, waiting, strict=False):
            inner = read if is_shared else _normed(branch.before, read)
            value = _normed(branch.inside, _called(part.symbol, branch, inner))
            added.append(f"{branch.scale} {value}" if branch.scale else value)
            if part.projected:
                lines += [part.heads] if part.heads else []
                added = [part.projected, start]
        argument = start = "Y" if name == last else "Z" + "'" * number
        total = _normed(branches[0].after, " + ".join(added))
        lines.append(f"{sized(argument, 'S', width)} = {total}")
    lines += [part.definition for part in parts if part.definition]
    terms += [term for part in parts for term in part.terms]
    if any(branch.scale == LEARNT_SCALE for branch in path.branches):
        terms.append(Term("lambda", "learnt scale of each feature (layer scale)", f"[{width}]"))
        terms.append(Term("dot.o", "element-wise product"))
    terms += [term for norm in path.norms for term in Norm.of(norm).terms]
    first = {term.symbol: term for term in reversed(terms)}
    return tuple(lines), tuple(dict.fromkeys(first[term.symbol] for term in terms))
