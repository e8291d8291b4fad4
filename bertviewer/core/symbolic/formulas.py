"""Formulas of a whole model: its tensors' shapes, its repeated blocks, and sums of both."""

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction

from bertviewer.core.expressions.grouping import Count
from bertviewer.core.expressions.polynomials import (
    ONE,
    Monomial,
    Polynomial,
    join_terms,
    product,
    total,
)
from bertviewer.core.graph.inputs.texts import SENTENCES, TARGET_TOKENS, TOKENS
from bertviewer.core.symbolic.fitting import fit, moving_letters
from bertviewer.core.symbolic.models import TENSOR, ModelSizes
from bertviewer.core.symbolic.observations import Observations

Shape = tuple[Polynomial, ...]

_INPUTS = (SENTENCES, TOKENS, TARGET_TOKENS)


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


def factored(polynomial: Polynomial, layers: Collection[str]) -> str:
    """Write a cost with layers, sentences and tokens before brackets.

    Args:
        polynomial: the cost, expanded.
        layers: the letters that are numbers of layers.

    Returns:
        An expression of the same value: ``N*B*S*(4*D**2 + 2*D*I + 2*S*D) + B*D**2``.
    """
    groups: dict[object, dict[Monomial, Fraction]] = {}
    for letters, value in polynomial.terms.items():
        # What is done in the same layers, and for the same tokens, belongs together.
        powers = dict(letters)
        repeats = tuple((letter, powers[letter]) for letter in layers if letter in powers)
        tokens = frozenset(letter for letter in _INPUTS if letter in powers)
        groups.setdefault((repeats, tokens), {})[letters] = value
    return join_terms(_bracketed(Polynomial(terms), layers) for terms in groups.values())


def _bracketed(polynomial: Polynomial, layers: Collection[str]) -> str:
    """Write the powers of layers and inputs that all terms have, and the rest in brackets."""
    terms = [dict(letters) for letters in polynomial.terms]
    common = ((x, min(term.get(x, 0) for term in terms)) for x in (*layers, *_INPUTS))
    outside = [Polynomial.term(ONE, {x: power}) for x, power in common if power > 0]
    inside = polynomial // product(outside)
    ((letters, value), *others) = sorted(
        inside.terms.items(), key=lambda term: sum(n for x, n in term[0] if x in _INPUTS)
    )
    is_divided = value.denominator != 1 or any(power < 0 for _, power in letters)
    if not outside or (is_divided and not others):
        return str(polynomial)  # the division has to stay last
    factors = list(map(str, outside))
    if others:
        return "*".join((*factors, f"({Polynomial(dict([(letters, value), *others]))})"))
    if value != 1:
        factors.insert(0, str(value))
    return "*".join((*factors, *([str(Polynomial({letters: ONE}))] if letters else [])))
