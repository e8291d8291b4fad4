"""What the first layer of a stack is applied to: embeddings, convolved features, vectors."""

from collections.abc import Callable
from typing import ClassVar

from bertviewer.core.architecture.flow import Node
from bertviewer.core.architecture.operand import Operand
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.formula import Term
from bertviewer.core.formulas.graph import Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import INTO, quoted, sized
from bertviewer.core.formulas.templates.activation import activation_term, operator_of
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import Part, Parts
from bertviewer.core.formulas.templates.vector_sum import (
    VectorSum,
    read_lookup,
    read_sum,
)
from bertviewer.core.frozen import frozen

_INPUTS = {
    "input ids": Term("t", "token ids", "[S]"),
    "decoder input ids": Term("u", "token ids of the target so far, shifted by one position"),
    "token type ids": Term("g", "segment ids, 0 or 1", "[S]"),
    "pixel values": Term("I", "the image: channels, height, width"),
    "input features": Term("F", "spectrogram of the sound: frequency bands, time steps"),
    "input values": Term("a", "samples of the sound"),
}
_VECTORS = Term("X", "input, one row per position")


@frozen
class Start:
    """What the first layer is applied to, as mathematics.

    Attributes:
        lines: the lines that compute X_0.
        terms: what explains them.
        vectors: the sum of table rows that the module itself computes, if it does.
        embeddings: the child that looks tokens up, if there is one.
    """

    lines: tuple[str, ...]
    terms: tuple[Term, ...]
    vectors: VectorSum | None = None
    embeddings: Part | None = None


def length_of(view: ModuleView, shape: tuple[int, ...]) -> int | str:
    """Return a tensor's number of positions: the letter of the text's length, else a number."""
    flows = view.architecture.flows
    lengths = {} if flows is None else flows.lengths
    if len(shape) < 2 or shape[-2] in (lengths.get("S"), lengths.get("S_d")):
        return "S"
    return shape[-2]


def input_term(node: Node) -> Term:
    """Return the term of a module's input."""
    known = _INPUTS.get(node.name)
    if known is None:
        if len(node.shape) == 3:
            return _VECTORS
        return Term(quoted(node.name), "input", shape_text(node.shape))
    if known.value is None and known.symbol not in "tu":
        return Term(known.symbol, known.meaning, shape_text(node.shape[1:]))
    return known


def title_case(name: str) -> str:
    """Return a module's name as the name of a function: patch_embed is PatchEmbed."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def start_of(parts: Parts, operand: Operand, symbol: str = "X_0") -> Start | None:
    """Return what an operand is, ``None`` if there is no short way to write it."""
    view = parts.view
    vectors = read_sum(view, operand)
    if vectors is not None and _is_own(parts, operand):
        row = symbol.lower().partition("_")[0] + "_s"
        inner = vectors.finished(vectors.total)
        end = f", quad {symbol} = (x_0, dots, x_(S-1))" if symbol == "X_0" else ""
        line = f"{sized(row, vectors.width)} = {inner}{vectors.shift}{end}"
        return Start((line,), vectors.terms, vectors)
    writer = _Writer(parts)
    text = writer.text(operand)
    if text is None:
        return None
    if text in (symbol, "X"):
        return Start((), tuple(writer.terms), embeddings=writer.embeddings)
    return Start(
        (*writer.lines, f"{symbol} = {text}"), tuple(writer.terms), embeddings=writer.embeddings
    )


def _is_own(parts: Parts, operand: Operand) -> bool:
    """Return whether the module's own code adds the vectors up, and no child with several steps."""
    part = parts.maker(operand)
    return part is not None and (len(part.steps) == 1)


class _Writer:
    """Writes an operand as mathematics, as long as it is short."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.lines: list[str] = []
        self.terms: list[Term] = []
        self.embeddings: Part | None = None
        self._kernels = 0

    def text(self, operand: Operand) -> str | None:
        """Return an operand as mathematics, ``None`` if it cannot be written."""
        given = self._parts.graph.given.get(operand.node)
        if given is not None:
            if given.kind != "input":
                return None
            term = input_term(given)
            self._add(term)
            return term.symbol
        part = self._parts.maker(operand)
        if part is None:
            return None
        step = part.last
        is_plain = len(part.steps) == 1 and bool(step.operation)
        if not is_plain:
            return self._call(part)
        if is_norm(step):
            return self._norm(step)
        writer = self._WRITERS.get(step.operation)
        return None if writer is None else writer(self, step)

    def _add(self, *terms: Term) -> None:
        self.terms += [term for term in terms if term not in self.terms]

    def _inner(self, step: Step) -> str | None:
        return self.text(step.tensors[0]) if step.tensors else None

    def _norm(self, step: Step) -> str | None:
        inner, norm = self._inner(step), Norm.of(step)
        if inner is None:
            return None
        self._add(*norm.terms)
        return f"{norm.operator}({inner})"

    def _call(self, part: Part) -> str | None:
        """Write the call of a child with what it is given."""
        given = self._parts.graph.given
        arguments: list[str] = []
        for role, operand in part.inputs:
            node = given.get(operand.node)
            if role in ("mask", "position") or (node is not None and node.kind != "input"):
                continue
            if node is not None and ("mask" in node.name or node.name == "position ids"):
                continue
            text = self.text(operand)
            if text is None:
                return None
            if text not in arguments:
                arguments.append(text)
        if not arguments:
            self._add(_INPUTS["input ids"])
            arguments = ["t"]
        is_table = "embed" in part.name and any(a in ("t", "u") for a in arguments)
        if is_table or (self.embeddings is None and "embed" in part.name):
            self.embeddings = part
        name = "Embeddings" if "embeddings" in part.name else title_case(part.name)
        return f'"{name}"({", ".join(arguments)})'

    def _linear(self, step: Step) -> str | None:
        inner, layer = self._inner(step), self._parts.view.affine_of(step)
        if inner is None or layer is None:
            return None
        self._add(*layer.terms("the embedding projection", INTO))
        return layer.maths(f"({inner})" if " + " in inner else inner, INTO, sizes=False)

    def _activation(self, step: Step) -> str | None:
        inner = self._inner(step)
        if inner is None:
            return None
        self._add(activation_term(step))
        return f"{operator_of(step)}({inner})"

    def _convolution(self, step: Step) -> str | None:
        inner = self._inner(step)
        if inner is None or len(step.operands) < 2:
            return None
        shape = self._parts.view.parameter_shape(step.operands[1].parameter)
        if not shape:
            return None
        self._kernels += 1
        weight, bias = f"K_{self._kernels}", f"c_{self._kernels}"
        has_bias = any(operand.parameter.endswith("bias") for operand in step.operands)
        self._add(
            Term("ast", "convolution over positions"),
            Term(weight, f"kernel of “{step.node.name}”", shape_text(shape)),
        )
        if has_bias:
            self._add(Term(bias, f"bias of “{step.node.name}”", shape_text(shape[:1])))
        return f"{weight} ast {inner}" + (f" + {bias}" if has_bias else "")

    def _sum(self, step: Step) -> str | None:
        found = []
        for operand in step.operands:
            if not operand.node:
                return None
            made = self._parts.graph.maker(operand)
            lookup = None if made is None else read_lookup(self._parts.view, made)
            if lookup is not None:
                if lookup.kind != "position":
                    return None
                fixed = "fixed, not learnt: " if lookup.is_fixed else ""
                self._add(
                    Term(
                        "P",
                        f"{fixed}position vectors, table “{lookup.name}”",
                        shape_text((lookup.rows, lookup.width)),
                    )
                )
                found.append("P")
                continue
            text = self.text(operand)
            if text is None:
                return None
            found.append(text)
        return " + ".join(found)

    _WRITERS: ClassVar[dict[str, Callable[["_Writer", Step], str | None]]] = {
        "linear": _linear,
        "activation": _activation,
        "convolution": _convolution,
        "add": _sum,
        "residual": _sum,
    }
