"""The tensors of BERT's family, by name: which there are, and their shapes."""

from collections.abc import Mapping

from bertviewer.core.frozen import frozen

Shapes = Mapping[str, tuple[int, ...]]

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
# Numbers that count up, which old checkpoints hold though nobody learns them.
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")


@frozen
class Sizes:
    """The sizes that all shapes follow from, by the letters of the formulas.

    DistilBERT has no segments, so that T is 0, and E is D.
    """

    V: int
    E: int
    D: int
    L: int
    I: int  # noqa: E741 - the letter of the formulas
    P: int
    T: int


def bert_tensors(sizes: Sizes, with_pooler: bool) -> Shapes:
    """Return all tensors of a BERT, RoBERTa or ELECTRA without its head."""
    embedded, width, inner = sizes.E, sizes.D, sizes.I
    found = {
        WORDS: (sizes.V, embedded),
        POSITIONS: (sizes.P, embedded),
        TYPES: (sizes.T, embedded),
        **_norm("embeddings.LayerNorm", embedded),
    }
    if embedded != width:
        found |= _linear("embeddings_project", embedded, width)
    for layer in (f"encoder.layer.{number}" for number in range(sizes.L)):
        for part in ("query", "key", "value"):
            found |= _linear(f"{layer}.attention.self.{part}", width, width)
        found |= _linear(f"{layer}.attention.output.dense", width, width)
        found |= _norm(f"{layer}.attention.output.LayerNorm", width)
        found |= _linear(f"{layer}.intermediate.dense", width, inner)
        found |= _linear(f"{layer}.output.dense", inner, width)
        found |= _norm(f"{layer}.output.LayerNorm", width)
    if with_pooler:
        found |= _linear("pooler.dense", width, width)
    return found


def distilbert_tensors(sizes: Sizes) -> Shapes:
    """Return all tensors of a DistilBERT without its head."""
    width, inner = sizes.D, sizes.I
    found = {
        WORDS: (sizes.V, width),
        POSITIONS: (sizes.P, width),
        **_norm("embeddings.LayerNorm", width),
    }
    for layer in (f"transformer.layer.{number}" for number in range(sizes.L)):
        for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
            found |= _linear(f"{layer}.attention.{part}", width, width)
        found |= _norm(f"{layer}.sa_layer_norm", width)
        found |= _linear(f"{layer}.ffn.lin1", width, inner)
        found |= _linear(f"{layer}.ffn.lin2", inner, width)
        found |= _norm(f"{layer}.output_layer_norm", width)
    return found


def _linear(path: str, taken: int, given: int) -> dict[str, tuple[int, ...]]:
    return {f"{path}.weight": (given, taken), f"{path}.bias": (given,)}


def _norm(path: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{path}.weight": (width,), f"{path}.bias": (width,)}
