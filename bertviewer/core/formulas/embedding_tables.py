"""Tables whose rows are looked up, and the position tables that are computed instead."""

import math

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import has_angle_table, has_positions, scores_with_table
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.linear_purposes import EMBEDDING_USES, use_of
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import ROTATION, indices, number_maths, sized
from bertviewer.core.formulas.notes import Note, no

_SOURCE = "Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3.4"
_VOCABULARY = "Maps each vocabulary entry to its vector."
_ROW = "Maps each index to a learnt vector."


def embedding(view: ModuleView) -> Formula:
    """A table whose rows are looked up (Devlin et al. 2019, section 3; torch.nn.Embedding)."""
    rows, width = view.tensors["weight"].shape
    return _table(
        view,
        (
            f"{sized('y_s', width)} = {sized('W', rows, width)}[t_s], "
            f"quad t_s in {{{indices(rows)}}}",
        ),
        (),
        _padding_notes(view),
    )


def scaled_embedding(view: ModuleView) -> Formula:
    """A look-up times a constant, often the root of the width (Vaswani et al. 2017, 3.4)."""
    rows, width = view.tensors["weight"].shape
    factor = view.attribute("scalar_embed_scale", "embed_scale")
    if not isinstance(factor, float | int):
        raise ValueError("an embedding without a scale")
    is_root = abs(factor - math.sqrt(width)) < 1e-6
    value = f"sqrt({width})" if is_root else number_maths(factor)
    notes = [
        "The factor is 1 in this configuration: this is a plain lookup."
        if factor == 1
        else f"Every vector is multiplied by {factor:g}"
        + (f", the square root of the embedding size {width}" if is_root else "")
        + (
            ": the table is initialised with small values, and the factor brings them to the "
            "scale of the vectors added to them."
            if has_positions(view)
            else "."
        ),
        *_padding_notes(view),
    ]
    return _table(
        view,
        (
            f"{sized('y_s', width)} = c thick {sized('W', rows, width)}[t_s], "
            f"quad c = {value}, quad t_s in {{{indices(rows)}}}",
        ),
        (Term("c", "constant factor", f"{factor:g}"),),
        tuple(notes),
    )


def offset_positions(view: ModuleView) -> Formula:
    """BART's learnt positions: the rows before the offset stay unused (transformers' code)."""
    rows, width = view.tensors["weight"].shape
    offset = view.integer("offset")
    if offset is None:
        raise LookupError("no offset")
    return Formula(
        title="Position embedding with an offset",
        summary="Maps each position in the sequence to its vector.",
        maths=(
            f"{sized('y_s', width)} = {sized('W', rows, width)}[s + {offset}], "
            f"quad s = {indices(rows - offset)}",
        ),
        terms=(
            Term("s", "position, counted from 0"),
            Term("W", "embedding table, one row per position", shape_text((rows, width))),
            Term("y_s", "the row: the vector of position s", shape_text((width,))),
        ),
        notes=(
            f"Rows 0 to {offset - 1} are never read: the original implementation counted "
            f"positions from after the padding index, and the table kept its shape. Of {rows} "
            f"rows, {rows - offset} can be used for tokens.",
            "Padding tokens are counted like any other; the mask prevents attention to them.",
        ),
        config_keys=view.keys("positions", "width"),
        source="Lewis et al. 2020; the offset as in transformers’ code",
    )


def sinusoids(view: ModuleView) -> Formula:
    """Marian's fixed positions: sines in the first half, cosines in the second."""
    rows, width = view.tensors["weight"].shape
    half = (width + 1) // 2
    angle = f"s / 10000^(2i \\/ {width})"
    return Formula(
        title="Sinusoidal position embedding",
        summary="Maps each position in the sequence to a fixed vector of sines and cosines.",
        maths=(
            f"{sized('y_s', width)} = {sized('P', rows, width)}[s]",
            f"P_(s, i) = sin({angle}), quad P_(s, {half} + i) = cos({angle}), "
            f"quad i = {indices(half)}",
        ),
        terms=(
            Term("s", "position, counted from 0"),
            Term("P", "position table: fixed, not learnt", shape_text((rows, width))),
            Term("y_s", "vector of position s", shape_text((width,))),
        ),
        notes=(
            "The table is listed as a tensor but is not trained.",
            "The original Transformer interleaves sines and cosines; here the sines come first.",
            Note(
                "A subsequent linear layer can undo the order, so nothing is lost.",
                no(has_angle_table),
            ),
        ),
        config_keys=view.keys("positions", "width"),
        source="Vaswani et al. 2017, section 3.5; the order as in Marian’s code",
    )


def rotation(view: ModuleView) -> Formula:
    """The angles of rotary positions (Su et al. 2021, section 3.2); plain rotations only."""
    # ESM has the base alone.
    plain = {"rope_type": "default", "rope_theta": view.config.get("rope_theta")}
    settings = view.config.get("rope_parameters") or plain
    if not isinstance(settings, dict):
        raise TypeError("no settings for the rotation")
    if not isinstance(settings.get("rope_theta"), int | float):
        return _rotations_by_kind(view, settings)
    if settings.get("rope_type") != "default":
        raise ValueError("a stretched rotation")
    size, base = _head_size(view), settings["rope_theta"]
    return _rotation(view, size, f"{base:g}", f"= {_base_maths(base, size)}")


def _rotations_by_kind(view: ModuleView, settings: dict[str, dict[str, object]]) -> Formula:
    """ModernBERT: layers that see all and layers that see a window have bases of their own."""
    bases = {}
    for kind, entry in settings.items():
        base = entry["rope_theta"]
        if entry.get("rope_type") != "default" or not isinstance(base, int | float):
            raise ValueError("a stretched rotation")
        bases[kind] = float(base)
    size = _head_size(view)
    shown = "; ".join(f"{base:g} for {kind.replace('_', ' ')}" for kind, base in bases.items())
    return _rotation(view, size, shown, f'= "base"^(-2i \\/ {size})')


def _rotation(view: ModuleView, size: int, base: str, angle: str) -> Formula:
    half = size // 2
    return Formula(
        title="Rotary position embedding",
        summary="Computes the angles by which attention rotates queries and keys, so that their "
        "product depends on the distance between two tokens.",
        maths=(
            f"{ROTATION}(x)_i = x_i cos(s theta_i) - x_(i + {half}) sin(s theta_i)",
            f"{ROTATION}(x)_(i + {half}) = x_(i + {half}) cos(s theta_i) + x_i sin(s theta_i)",
            f"theta_i {angle}, quad i = {indices(half)}",
        ),
        terms=(
            Term("x", "query or key of one head at position s", shape_text((size,))),
            Term("s", "position, counted from 0"),
            Term("theta_i", f"rotation angle of pair i per position; the base is {base}"),
        ),
        notes=(
            f"Features i and i + {half} of a head form a point in a plane, which is rotated by "
            "position s times the angle of pair i. Fast rotations distinguish nearby positions, "
            "slow ones distant positions.",
            "Rotating a query and a key by their positions leaves only the difference of the "
            "positions in their product: order is encoded without position vectors.",
            "This module computes the cosines and sines; each layer’s attention applies them. It "
            "has no parameters.",
        ),
        config_keys=view.keys("rotation", "head size", "width", "heads"),
        source="Su et al. 2021, section 3.2; pairs as in transformers’ code",
    )


def _base_maths(base: float, size: int) -> str:
    number = number_maths(base)
    number = f"({number})" if "^" in number else number
    return f"{number}^(-2i \\/ {size})"


def _head_size(view: ModuleView) -> int:
    """Return the size of one head by the configuration, as the module reads it."""
    size = view.config.get("head_dim")
    if isinstance(size, int):
        return size
    return int(view.config["hidden_size"]) // int(view.config["num_attention_heads"])


def _table(
    view: ModuleView, maths: tuple[str, ...], terms: tuple[Term, ...], notes: tuple[str, ...]
) -> Formula:
    rows, width = view.tensors["weight"].shape
    widths = view.keys("embedding width", "width")
    keys = view.keys(*_choices(view.node.name))
    return Formula(
        title="Scaled embedding" if terms else "Embedding",
        summary=use_of(view, EMBEDDING_USES, _VOCABULARY if terms else _ROW),
        maths=maths,
        terms=(
            Term("t_s", "index at position s (an integer)"),
            Term("W", "embedding table, one row per index", shape_text((rows, width))),
            *terms,
            Term("y_s", "the row: the vector of position s", shape_text((width,))),
        ),
        notes=(
            "A lookup, not a product: it selects row t of the table. This is equivalent to "
            "multiplying a one-hot vector by the table, without computing the zeros.",
            *_sharing_notes(view),
            *notes,
        ),
        config_keys=tuple(k for k in keys if k not in widths or view.config[k] == width),
        source=_SOURCE,
    )


def _padding_notes(view: ModuleView) -> tuple[str, ...]:
    padding = view.integer("padding_idx")
    if padding is None:
        return ()
    return (
        Note(
            f"padding_idx is {padding}: row {padding} is not updated during training. The lookup "
            "treats it like any other row.",
            no(scores_with_table),
        ),
        Note(
            f"padding_idx is {padding}: the lookup does not train row {padding}, but the output "
            "layer that shares the table does.",
            scores_with_table,
        ),
    )


def _sharing_notes(view: ModuleView) -> tuple[str, ...]:
    first = view.tensors["weight"].tied_to
    if first is None:
        return ()
    return (f"The table is tied: it is the same tensor as {first} and is counted there.",)


def _choices(name: str) -> tuple[str, ...]:
    if name in ("position_embeddings", "wpe"):
        return ("positions", "embedding width", "width")
    if name == "token_type_embeddings":
        return ("token types", "embedding width", "width")
    if name in ("relative_attention_bias", "rel_embeddings"):
        return ("distances", "heads")
    scale = ("embedding scale",) if name in ("shared", "embed_tokens") else ()
    return ("vocabulary", "embedding width", "width", "padding", *scale)
