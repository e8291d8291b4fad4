"""Repeated blocks: which numbered modules a letter multiplies, and counts with them in brackets."""

from collections.abc import Mapping
from types import MappingProxyType

from bertviewer.core.counting.variants import ModelShapes
from bertviewer.core.expressions.counts import Block, Count
from bertviewer.core.expressions.polynomials import Polynomial, product, total

Shape = tuple[Polynomial, ...]

Resemblance = Mapping[str, tuple[int, ...]]
"""For each path with numbered children, which child of a smaller model each one is like."""


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


def like_path(path: str, likeness: Resemblance) -> str:
    """Return the module or tensor of the smaller model that the one at ``path`` is like."""
    found: list[str] = []
    parts = path.split(".")
    for place, part in enumerate(parts):
        likes = likeness.get(".".join(parts[:place])) if part.isdigit() else None
        is_known = likes is not None and int(part) < len(likes)
        found.append(str(likes[int(part)]) if likes and is_known else part)
    return ".".join(found)


def resemblance(model: ModelShapes, smaller: ModelShapes) -> Resemblance | None:
    """Find for each numbered child of a model one in a smaller model with the same tensors.

    Returns:
        The likenesses, in which all of the smaller model's children occur; ``None`` if a child is
        like none of them.
    """
    ours, theirs = _blocks(model), _blocks(smaller)
    found: dict[str, tuple[int, ...]] = {}
    # From the outside in: what holds a list may itself be one of several children.
    for path in sorted(ours, key=lambda path: path.count(".")):
        there = theirs.get(like_path(path, found))
        if there is None:
            return None
        likes = []
        for place, tensors in enumerate(ours[path]):
            if place < len(there) and there[place] == tensors:
                likes.append(place)
            elif tensors in there:
                likes.append(there.index(tensors))
            else:
                return None
        found[path] = tuple(likes)
    return found


def _blocks(model: ModelShapes) -> dict[str, list[frozenset[object]]]:
    """Return the names and shapes of each numbered child's tensors, by the path that holds it."""
    tensors: dict[str, list[set[object]]] = {
        path: [set() for _ in range(length)] for path, length in model.lengths.items()
    }
    for name, shape in model.shapes.items():
        parts = name.split(".")
        for place, part in enumerate(parts):
            blocks = tensors.get(".".join(parts[:place]), []) if part.isdigit() else []
            # A block that stands in two places is listed in the first of them.
            if part.isdigit() and int(part) < len(blocks):
                within = ".".join(parts[place + 1 :]), shape, name in model.first_names
                blocks[int(part)].add(within)
    return {path: [frozenset(block) for block in blocks] for path, blocks in tensors.items()}


def count_modules(
    model: ModelShapes,
    shapes: Mapping[str, Shape],
    repeats: Mapping[str, Polynomial],
    likeness: Resemblance = MappingProxyType({}),
) -> dict[str, Count]:
    """Return every module's count, summed from its tensors and its children.

    Args:
        model: the model with few layers.
        shapes: its tensors' symbolic shapes. A module with a tensor that is not among them, and
            all modules above it, have no count.
        repeats: how many blocks there are, by the path that holds them; they are like the last.
        likeness: for other paths, the blocks that each block of the real model is like.

    Returns:
        Counts by module path. A tied tensor counts at its first name.
    """
    own: dict[str, list[Polynomial | None]] = {path: [] for path in model.modules}
    for name in model.shapes:
        if name not in model.first_names:
            shape = shapes.get(name)
            own[name.rpartition(".")[0]].append(None if shape is None else product(shape))
    children: dict[str, list[str]] = {path: [] for path in model.modules}
    for path in model.modules:
        if path:
            children[path.rpartition(".")[0]].append(path)
    # In the smaller model the paths are its own, whatever block above them they are in.
    copies = {like_path(path, likeness): likes for path, likes in likeness.items()}
    counts: dict[str, Count] = {}
    # Children stand after their parents in named_modules, so from the end they come first.
    for path in reversed(model.modules):
        tensors = [tensor for tensor in own[path] if tensor is not None]
        below = {child: counts[child] for child in children[path] if child in counts}
        if len(tensors) != len(own[path]) or len(below) != len(children[path]):
            continue
        blocks = [count for child, count in below.items() if child.rpartition(".")[2].isdigit()]
        beside = [count for child, count in below.items() if not child.rpartition(".")[2].isdigit()]
        parts: list[Polynomial | Block] = [total(tensors)]
        if path in repeats:
            parts += _repeated(repeats[path], blocks)
        elif path in copies and copies[path] != tuple(range(len(blocks))):
            parts += _copied(copies[path], blocks)
        else:
            beside = list(below.values())
        counts[path] = Count.of((*parts, *(part for count in beside for part in count.parts)))
    return counts


def _repeated(times: Polynomial, blocks: list[Count]) -> list[Polynomial | Block]:
    """Multiply the last block, the template, and add what the first ones have beyond it.

    T5's first layer alone holds the position biases, ModernBERT's lacks a norm; where all layers
    are alike, nothing is beyond.
    """
    template = blocks[-1]
    return [template.times(times), total(block.value - template.value for block in blocks)]


def _copied(likes: tuple[int, ...], blocks: list[Count]) -> list[Polynomial | Block]:
    """Add up blocks of several kinds, each as often as it occurs in the real model."""
    kinds: dict[str, tuple[Count, int]] = {}
    for like in likes:
        block = blocks[like]
        _, times = kinds.get(str(block), (block, 0))
        kinds[str(block)] = block, times + 1
    return [block.times(Polynomial.constant(times)) for block, times in kinds.values()]
