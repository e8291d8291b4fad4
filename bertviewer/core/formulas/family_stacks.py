"""Stacks and models that look tokens up themselves: BART, T5, Llama, ModernBERT."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.embeddings import dropout_last
from bertviewer.core.formulas.facts import (
    has_two_kinds_of_layers,
    has_windows,
    hides_later,
    model_text,
    sees_later,
)
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm, norm_of
from bertviewer.core.formulas.notation import TOKENS, indices, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.stacks import LAYER_TERM, STEP
from bertviewer.core.frozen import frozen
from bertviewer.core.text.numerals import count_text

_ENC = 'X_"enc"'
_WORD, _PLACE = 'W_"word"', 'W_"pos"'
_DIRECTION = (
    Note(
        "Attention is causal: each position attends only to itself and earlier positions.",
        lambda view: hides_later(view) and not has_windows(view),
    ),
    Note(
        "Attention is causal: each position attends only to itself and earlier positions, in "
        "layers with a window only to the nearest of them.",
        lambda view: hides_later(view) and has_windows(view),
    ),
    Note(
        "Every position attends to the whole sequence, in both directions.",
        lambda view: sees_later(view) and not has_windows(view),
    ),
    Note(
        "Every position attends in both directions, in layers with a window only to the nearest "
        "positions.",
        lambda view: sees_later(view) and has_windows(view),
    ),
)


@frozen
class _Stack:
    """A stack's words, its first line, and what is peculiar to it."""

    title: str
    summary: str
    start: str
    terms: tuple[Term, ...]
    layers: str
    norm: Norm | None
    reads_encoder: bool
    notes: tuple[str, ...]
    source: str


def bart_stack(view: ModuleView) -> Formula:
    """BART's encoder or decoder, with its embeddings (Lewis et al. 2020, section 2.1)."""
    words = view.tensors["embed_tokens.weight"].shape
    places = view.tensors["embed_positions.weight"].shape
    offset = view.below("embed_positions").integer("offset") or 0
    scale = view.below("embed_tokens").attribute("embed_scale")
    scaled = isinstance(scale, float) and scale != 1.0
    first = norm_of(view, "layernorm_embedding")
    at = f"[s + {offset}]" if offset else "[s]"
    sum_ = f"{sized(_WORD, *words)}[t_s] + {sized(_PLACE, *places)}{at}"
    decoder = "decoder" in view.node.name
    terms: tuple[Term, ...] = (
        Term("t_s", "token id at position s"),
        Term(_WORD, "one row per vocabulary entry", shape_text(words)),
        Term(_PLACE, "one row per position", shape_text(places)),
        *first.terms,
    )
    if scaled:
        sum_ = f"c thick {sum_}"
        terms += (Term("c", "factor applied to the token vectors", f"{scale:g}"),)
    stack = _Stack(
        title="Decoder with its embeddings" if decoder else "Encoder with its embeddings",
        summary="Looks up token and position vectors, adds and normalises them, and applies the "
        "layers in sequence.",
        start=f"{sized('x_s', words[1])} = {first.operator}({sum_}), quad X_0 = (x_0, dots, "
        "x_(S-1))",
        terms=terms,
        layers="layers",
        norm=norm_of(view, "layer_norm") if "layer_norm" in view.children else None,
        reads_encoder=decoder,
        notes=(
            f"Positions are counted from {offset}: the first {offset} rows of the position table "
            f"are never read, so {places[0] - offset} of its {places[0]} rows can be used for "
            "tokens."
            if offset
            else f"The maximum sequence length is {places[0]}, the number of rows in the position "
            "table.",
            *_DIRECTION,
        ),
        source="Lewis et al. 2020, section 2.1; Vaswani et al. 2017, section 3.1",
    )
    return _formula(view, stack)


def t5_stack(view: ModuleView) -> Formula:
    """T5's encoder or decoder, with its embeddings (Raffel et al. 2020, section 2.1)."""
    words = view.tensors["embed_tokens.weight"].shape
    decoder = view.attribute("is_decoder") is True
    stack = _Stack(
        title="Decoder with its embeddings" if decoder else "Encoder with its embeddings",
        summary="Looks up token vectors, applies the layers in sequence and normalises the result.",
        start=_look_up(words),
        terms=_look_up_terms(words),
        layers="block",
        norm=norm_of(view, "final_layer_norm"),
        reads_encoder=decoder,
        notes=(
            "There are no position vectors: the first layer’s attention holds a table of distance "
            "biases, which every layer adds to its scores.",
            "The layers are pre-norm, so a final norm follows the last one.",
            *_DIRECTION,
        ),
        source="Raffel et al. 2020, section 2.1",
    )
    return _formula(view, stack)


def decoder_model(view: ModuleView) -> Formula:
    """Llama and its kin: look-up, pre-norm layers, a last norm (Touvron et al. 2023, 2.2)."""
    words = view.tensors["embed_tokens.weight"].shape
    factor = view.below("embed_tokens").attribute("scalar_embed_scale")
    scaled = isinstance(factor, float)
    terms = _look_up_terms(words)
    if scaled:
        terms += (Term("c", "factor applied to the token vectors", f"{factor:g}"),)
    title, summary = model_text(view, is_usually_causal=True)
    stack = _Stack(
        title=title,
        summary=summary,
        start=_look_up(words, "c thick " if scaled else ""),
        terms=terms,
        layers="layers",
        norm=norm_of(view, "norm"),
        reads_encoder=False,
        notes=(
            "There are no position vectors: attention rotates queries and keys according to their "
            "positions, by the angles of “rotary_emb”.",
            "The layers are pre-norm, so a final norm follows the last one.",
            *_DIRECTION,
        ),
        source="Touvron et al. 2023, section 2.2",
    )
    return _formula(view, stack)


def modernbert_model(view: ModuleView) -> Formula:
    """ModernBERT: embeddings, pre-norm layers, a last norm (Warner et al. 2024, section 2.1)."""
    words = view.tensors["embeddings.tok_embeddings.weight"].shape
    stack = _Stack(
        title="Encoder model",
        summary="Maps a sequence of token ids to one context-dependent vector per token.",
        start=f'{sized("X_0", "S", words[1])} = "Embeddings"(t)',
        terms=(Term("t", "token ids", "[S]"),),
        layers="layers",
        norm=norm_of(view, "final_norm"),
        reads_encoder=False,
        notes=(
            "There are no position vectors: attention rotates queries and keys according to their "
            "positions, by the angles of “rotary_emb”.",
            Note(
                "Some layers attend to the whole sequence, the others to a window around each "
                "position; the configuration key layer_types lists which.",
                has_two_kinds_of_layers,
            ),
            "This model has no pooler: heads read the last hidden state directly.",
        ),
        source="Warner et al. 2024, section 2.1",
    )
    return _formula(view, stack)


def modernbert_embeddings(view: ModuleView) -> Formula:
    """ModernBERT's embeddings: token vectors, normalised (Warner et al. 2024, section 2.1)."""
    words = view.tensors["tok_embeddings.weight"].shape
    norm = norm_of(view, "norm")
    return Formula(
        title="Embeddings",
        summary="Maps token ids to vectors: looks up a vector for each token and normalises it.",
        maths=(f"{sized('y_s', words[1])} = {norm.operator}({sized(_WORD, *words)}[t_s])",),
        terms=(
            Term("t_s", "token id at position s"),
            Term(_WORD, "one row per vocabulary entry", shape_text(words)),
            *norm.terms,
        ),
        notes=(
            "There are no position vectors and no segments: attention rotates queries and keys "
            "according to their positions instead.",
            dropout_last(norm),
        ),
        config_keys=view.keys("vocabulary", "width", "padding", "epsilon", "embedding dropout"),
        source="Warner et al. 2024, section 2.1",
    )


def _look_up(words: tuple[int, ...], factor: str = "") -> str:
    start = f"{sized('x_s', words[1])} = {factor}{sized(_WORD, *words)}[t_s]"
    return f"{start}, quad X_0 = (x_0, dots, x_(S-1))"


def _look_up_terms(words: tuple[int, ...]) -> tuple[Term, ...]:
    return (
        Term("t_s", "token id at position s"),
        Term(_WORD, "one row per vocabulary entry", shape_text(words)),
    )


def _formula(view: ModuleView, stack: _Stack) -> Formula:
    count = len(view.below(stack.layers).children)
    more = f", {_ENC}" if stack.reads_encoder else ""
    last = f"{stack.norm.operator}(X_{count})" if stack.norm else f"X_{count}"
    norm = stack.norm.terms if stack.norm and stack.norm.terms[0] not in stack.terms else ()
    return Formula(
        title=stack.title,
        summary=stack.summary,
        maths=(
            stack.start,
            f'{STEP} = "Layer"_l (X_l{more}), quad l = {indices(count)}',
            f"{sized('Y', 'S', view.width)} = {last}",
        ),
        terms=(
            TOKENS,
            *stack.terms,
            LAYER_TERM,
            Term(
                "l",
                "index of the layer, counted from 0",
                count_text(count, "1 layer", "{0} layers"),
            ),
            *((Term(_ENC, "the encoder’s output"),) if stack.reads_encoder else ()),
            *norm,
        ),
        notes=stack.notes,
        config_keys=view.keys("vocabulary", "positions", "width", "layers", "heads"),
        source=stack.source,
    )
