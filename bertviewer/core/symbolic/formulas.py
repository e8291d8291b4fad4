"""Formulas of a whole model: its tensors' shapes, its repeated blocks, and sums of both."""

from collections.abc import Iterable, Mapping

from bertviewer.core.expressions.counts import Count
from bertviewer.core.expressions.polynomials import Polynomial, product, total
from bertviewer.core.symbolic.fitting import fit, moving_letters
from bertviewer.core.symbolic.models import TENSOR, ModelSizes
from bertviewer.core.symbolic.observations import Observations

Shape = tuple[Polynomial, ...]


def fit_shapes(observed: Observations) -> dict[str, Shape]:
    """Return the shapes whose every dimension follows from the symbols."""
    shapes = {}
    # Layer after layer changes in the same way.
    fitted: dict[object, Polynomial | None] = {}
    for name, shape in observed.base.shapes.items():
        dimensions: list[Polynomial] = []
        for axis, size in enumerate(shape):
            sizes = observed.sizes(name, axis)
            pairs = {
                two: (one, other, model.shapes[name][axis])
                for two, (one, other, model) in observed.pairs.items()
            }
            key = size, tuple(sizes.items()), tuple(pairs.items())
            if key not in fitted:
                fitted[key] = fit(size, observed.values, sizes, pairs)
            if (dimension := fitted[key]) is None:
                break
            dimensions.append(dimension)
        else:
            shapes[name] = tuple(dimensions)
    return shapes


def unfitted(observed: Observations, shapes: Mapping[str, Shape]) -> dict[str, list[str]]:
    """Return the tensors without a formula, each with the symbols that change its shape."""
    found = {}
    for name, shape in observed.base.shapes.items():
        if name not in shapes:
            moving = {
                letter
                for axis, size in enumerate(shape)
                for letter in moving_letters(size, observed.sizes(name, axis))
            }
            found[name] = [letter for letter in observed.seen if letter in moving]
    return found


def fit_repeats(observed: Observations) -> dict[str, Polynomial]:
    """Return the lists of blocks whose length changes with a symbol, and the formula of it."""
    repeats = {}
    for path, length in observed.base.lengths.items():
        seen = {
            letter: tuple((value, model.lengths.get(path, 0)) for value, model in points)
            for letter, points in observed.seen.items()
        }
        times = fit(length, observed.values, seen)
        if times is not None and times.letters:
            repeats[path] = times
    return repeats


def template_path(path: str, lengths: Mapping[str, int]) -> str:
    """Return the module or tensor that corresponds to ``path`` in a model with fewer layers.

    Args:
        path: a name in any model of the architecture.
        lengths: the numbers of blocks in the smaller model, by the path that holds them. A block
            beyond them is like the last one.
    """
    prefix = TENSOR if path.startswith(TENSOR) else ""
    parts: list[str] = []
    for part in path.removeprefix(prefix).split("."):
        length = lengths.get(".".join(parts)) if part.isdigit() else None
        parts.append(part if length is None or int(part) < length else str(length - 1))
    return prefix + ".".join(parts)


def count_modules(
    model: ModelSizes,
    shapes: Mapping[str, Shape],
    repeats: Mapping[str, Polynomial],
    *,
    collect: bool = False,
) -> dict[str, Count]:
    """Return every module's count, summed from its tensors and its children.

    Args:
        model: the model with few layers.
        shapes: its tensors' symbolic shapes. A module with a tensor that is not among them, and
            all modules above it, have no count.
        repeats: the number of blocks, by the path that holds them; further ones are like the last.
        collect: whether equal blocks of other lists are written as so many times one.

    Returns:
        Counts by module path. A tied tensor counts at its first name.
    """
    own: dict[str, list[Polynomial | None]] = {path: [] for path in model.modules}
    for name in model.shapes:
        if name not in model.first_names:
            size = product(shapes[name]) if name in shapes else None
            own[name.rpartition(".")[0]].append(size)
    children: dict[str, list[str]] = {path: [] for path in model.modules}
    for path in model.modules[1:]:
        children[path.rpartition(".")[0]].append(path)
    counts: dict[str, Count] = {}
    # named_modules() lists children after their parents, so from the end they come first.
    for path in reversed(model.modules):
        tensors = [tensor for tensor in own[path] if tensor is not None]
        below = {child: counts[child] for child in children[path] if child in counts}
        if len(tensors) != len(own[path]) or len(below) != len(children[path]):
            continue
        blocks = [count for child, count in below.items() if child.rpartition(".")[2].isdigit()]
        others = [count for child, count in below.items() if not child.rpartition(".")[2].isdigit()]
        parts: list[Polynomial | Count] = [total(tensors)]
        if path in repeats:
            parts += _repeated(repeats[path], blocks)
        elif collect and len(set(map(str, blocks))) < len(blocks):
            parts += _collected(blocks)
        else:
            others = list(below.values())
        counts[path] = Count.of((*parts, *(part for count in others for part in count.parts)))
    return counts


def _repeated(times: Polynomial, blocks: list[Count]) -> list[Polynomial | Count]:
    """Multiply the last block, and add what the first ones have in addition to it.

    T5's first layer alone holds the position biases, ModernBERT's lacks a norm.
    """
    template = blocks[-1]
    return [template.repeated(times), total(block.value - template.value for block in blocks)]


def _collected(blocks: Iterable[Count]) -> list[Polynomial | Count]:
    """Add up blocks of several kinds, each as often as it occurs."""
    kinds: dict[str, list[Count]] = {}
    for block in blocks:
        kinds.setdefault(str(block), []).append(block)
    return [some[0].repeated(Polynomial.constant(len(some))) for some in kinds.values()]
