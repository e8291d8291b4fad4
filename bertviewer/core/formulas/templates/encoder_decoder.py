"""Models of an encoder and a decoder, and models that are put together in an unusual way."""

from dataclasses import replace

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import (
    shares_its_table,
)
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.steps.formula import formula_of_steps
from bertviewer.core.formulas.templates.model_notes import (
    KINDS_OF_LAYERS,
    direction_notes,
    mixing_notes,
    texts,
)
from bertviewer.core.formulas.templates.parts import Part, Parts, layered, parts_of
from bertviewer.core.formulas.templates.stack import (
    ENCODER,
)
from bertviewer.core.formulas.templates.start import (
    input_term,
    length_of,
)
from bertviewer.core.formulas.templates.vector_sum import read_sum

_DATA = {"input ids", "pixel values", "input features", "input values"}

KEYS = ("vocabulary", "positions", "width", "layers", "heads")


def reads_data(parts: Parts) -> bool:
    """Return whether a module reads token ids, an image or sound, not vectors."""
    return any(
        len(node.shape) != 3 or node.name in ("pixel values", "input features")
        for node in parts.graph.inputs
        if "mask" not in node.name
    )


def by_steps(parts: Parts) -> Formula | None:
    """A model whose parts are put together in an unusual way: its steps with what is known."""
    view = parts.view
    names = {node.name for node in parts.graph.inputs}
    steps = formula_of_steps(view)
    if steps is None or not names & _DATA:
        return None
    title, summary = texts(view, parts)
    return replace(
        steps,
        title=title,
        summary=summary,
        notes=(*mixing_notes(view), KINDS_OF_LAYERS, *direction_notes(view, parts), *steps.notes),
        config_keys=view.keys(*KEYS),
    )


def encoder_decoder(parts: Parts, first: Part, second: Part) -> Formula | None:
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, section 3.1)."""
    made = {step.node.id for step in first.steps}
    if not made & {operand.node for _, operand in second.inputs}:
        return by_steps(parts)
    view, given = parts.view, parts.graph.given
    if not reads_data(parts):
        return _torch_transformer(view)
    source = _inputs_of(parts, first)
    enc, dec = first.last.node.shape, second.last.node.shape
    is_text = any(given[o.node].name == "input ids" for _, o in first.inputs if o.node in given)
    length = "S" if is_text else length_of(view, enc)
    table = next(
        (t for t in view.architecture.parameters if t.name.endswith("shared.weight")), None
    )
    return Formula(
        title="Encoder-decoder with embeddings",
        summary=f"The encoder reads {'one sequence of token ids' if is_text else 'a recording'}; "
        f"the decoder generates {'another' if is_text else 'a sequence of token ids'}, "
        "attending to the encoder’s output.",
        maths=(
            f'{sized(ENCODER.symbol, length, enc[-1])} = "Encoder"({source.symbol})',
            f'{sized("Y", "S_d", dec[-1])} = "Decoder"(u, {ENCODER.symbol})',
        ),
        terms=(
            *((Term("S", "number of source tokens"),) if length == "S" else ()),
            Term("S_d", "number of target tokens"),
            replace(source, meaning="token ids of the source") if is_text else source,
            Term("u", "token ids of the target so far, shifted by one position", "[S_d]"),
            ENCODER,
            Term("Y", "the decoder’s last hidden state, one row per target position"),
        ),
        notes=(
            *(
                ()
                if table is None
                else (
                    Note(
                        "Encoder and decoder look up tokens in the same table, “shared”, "
                        f"{list(table.shape)}: it is listed wherever it is used but counted once.",
                        shares_its_table,
                    ),
                )
            ),
            "The decoder’s input starts with decoder_start_token_id, so that position s predicts "
            "token s of the target.",
        ),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Vaswani et al. 2017, section 3.1; Lewis et al. 2020; Raffel et al. 2020",
    )


def _inputs_of(parts: Parts, part: Part) -> Term:
    """Return the term of the data that an encoder reads."""
    given = parts.graph.given
    nodes = [given[o.node] for _, o in part.inputs if o.node in given]
    node = next((n for n in nodes if n.kind == "input" and "mask" not in n.name), None)
    return Term("t", "token ids", "[S]") if node is None else input_term(node)


def _torch_transformer(view: ModuleView) -> Formula:
    """torch.nn.Transformer: encoder and decoder (Vaswani et al. 2017, section 3.1)."""
    width = view.integer("d_model")
    shape = f"[S, {width}]" if width else None
    return Formula(
        title="Encoder-decoder",
        summary="The encoder reads one sequence; the decoder generates another, attending to the "
        "encoder’s output.",
        maths=('X_"enc" = "Encoder"(X_"src")', 'Y = "Decoder"(X_"tgt", X_"enc")'),
        terms=(
            Term('X_"src"', "embedded source sequence", shape),
            Term('X_"tgt"', "embedded target sequence so far", shape and shape.replace("S", "S_d")),
            Term('X_"enc"', "the encoder’s output, also called memory", shape),
        ),
        notes=(
            "torch.nn.Transformer has neither embeddings nor an output layer; its inputs are "
            "already vectors.",
            "PyTorch adds a final layer norm after each stack, which the paper does not have.",
            "Masks are passed by the caller: without a target mask, the decoder also attends to "
            "later positions.",
        ),
        config_keys=view.keys("width", "layers", "heads", "feed-forward"),
        source="Vaswani et al. 2017, section 3.1; torch.nn.Transformer",
    )


def pair_in_child(parts: Parts, child: Part) -> Formula | None:
    """Scaled embeddings and sinusoids for an encoder-decoder in a child (Vaswani et al. 2017)."""
    view = parts.view
    inner = view.at(child.path)
    below = None if inner is None else parts_of(inner)
    if below is None or len(layered(below)) != 2:
        return None
    sums = [read_sum(view, operand) for _, operand in child.inputs]
    found = [each for each in sums if each is not None]
    if len(found) != 2 or found[0].lookups[0] != found[1].lookups[0]:
        return None
    words, width = found[0].lookups[0], found[0].width
    table = (words.rows, words.width)
    is_root = words.factor is not None and abs(words.factor**2 - width) < 1e-2
    if not is_root or found[0].of("sinusoids") is None:
        return None
    return Formula(
        title="Encoder-decoder with embeddings",
        summary="Reads a source sequence of token ids and generates a target sequence; both share "
        "one token embedding table.",
        maths=(
            f"{sized('x_s', width)} = sqrt({width}) thick {sized('W', *table)}[t_s] + "
            f"{sized('P', 'S', width)}[s]",
            f"P_(s, 2i) = sin(s / 10000^(2i \\/ {width})), quad "
            f"P_(s, 2i+1) = cos(s / 10000^(2i \\/ {width}))",
            'X_"enc" = "Encoder"(X_"src"), quad Y = "Decoder"(X_"tgt", X_"enc")',
        ),
        terms=(
            TOKENS,
            Term("t_s", "token id at position s of the source or target"),
            Term("W", "token embedding table, shared by source and target", shape_text(table)),
            Term("P", "position encodings: fixed sinusoids, not learnt"),
            Term('X_"src", X_"tgt"', "rows x_s of the source and the target"),
            Term('X_"enc"', "the encoder’s output"),
            Term("Y", "the decoder’s last hidden state, one row per target position"),
        ),
        notes=(
            f"The token vectors are multiplied by √{width}, the square root of the embedding "
            "size, before the position encodings are added.",
            "The target is masked: each of its positions attends only to itself and earlier ones.",
            "Sinusoids need no parameters: they are computed for as many positions as the "
            "sequence has.",
        ),
        config_keys=view.keys("vocabulary", "width", "heads", "feed-forward", "dropout"),
        source="Vaswani et al. 2017, sections 3.1, 3.4 and 3.5",
    )
