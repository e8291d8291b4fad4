"""Repeated blocks: which numbered modules a letter multiplies, and counts with them in brackets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bertviewer.core.dimensions import Blueprint
from bertviewer.core.polynomials import Polynomial, bracketed, join_terms, total

Shape = tuple[Polynomial, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """A module's count: expanded, and as text where a repeated block is to stay in brackets."""

    value: Polynomial
    text: str | None = None

    def __str__(self) -> str:
        """Write it as Python reads it."""
        return str(self.value) if self.text is None else self.text


def template_path(path: str, lengths: Mapping[str, int]) -> str:
    """Return the module or tensor that stands for ``path`` in a model with fewer layers.

    Args:
        path: a name in any model of the architecture.
        lengths: the numbers of blocks in the smaller model, by the path that holds them. A block
            beyond them is like the last one.
    """
    parts: list[str] = []
    for part in path.split("."):
        length = lengths.get(".".join(parts)) if part.isdigit() else None
        parts.append(part if length is None or int(part) < length else str(length - 1))
    return ".".join(parts)


def count_modules(
    model: Blueprint, shapes: Mapping[str, Shape], repeats: Mapping[str, Polynomial]
) -> dict[str, Count]:
    """Return every module's count, summed from its tensors and its children.

    Args:
        model: the model with few layers.
        shapes: its tensors' symbolic shapes. A module with a tensor that is not among them, and
            all modules above it, have no count.
        repeats: how many blocks there are, by the path that holds them.

    Returns:
        Counts by module path. A tied tensor counts at its first name.
    """
    own: dict[str, list[Polynomial | None]] = {path: [] for path in model.modules}
    for name in model.shapes:
        if name not in model.first_names:
            own[name.rpartition(".")[0]].append(_product(shapes.get(name)))
    children: dict[str, list[str]] = {path: [] for path in model.modules}
    for path in model.modules:
        if path:
            children[path.rpartition(".")[0]].append(path)
    counts: dict[str, Count] = {}
    # Children stand after their parents in named_modules, so from the end they come first.
    for path in reversed(model.modules):
        tensors = [tensor for tensor in own[path] if tensor is not None]
        below = [counts[child] for child in children[path] if child in counts]
        if len(tensors) == len(own[path]) and len(below) == len(children[path]):
            count = _sum(total(tensors), below)
            counts[path] = _repeated(repeats[path], below) if path in repeats else count
    return counts


def _product(shape: Shape | None) -> Polynomial | None:
    if shape is None:
        return None
    product = Polynomial.constant(1)
    for dimension in shape:
        product *= dimension
    return product


def _sum(own: Polynomial, children: Iterable[Count]) -> Count:
    """Add up; one tidied sum, unless a repeated block below is to keep its brackets."""
    parts = [part for part in (Count(own), *children) if part.value]
    value = total(part.value for part in parts)
    if all(part.text is None for part in parts):
        return Count(value)
    return Count(value, join_terms(map(str, parts)))


def _repeated(times: Polynomial, blocks: list[Count]) -> Count:
    """Multiply the last block, the template, and add what the first ones have beyond it.

    T5's first layer alone holds the position biases, ModernBERT's lacks a norm; where all layers
    are alike, nothing is beyond.
    """
    template = blocks[-1]
    beyond = total(block.value - template.value for block in blocks)
    if not template.value:
        return Count(beyond)
    parts = [f"{bracketed(str(times))}*{bracketed(str(template))}"]
    if beyond:
        parts.append(str(beyond))
    return Count(times * template.value + beyond, join_terms(parts))
