"""Task heads, poolers and transforms."""

import math
from itertools import pairwise

from msgspec.structs import replace

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.formulas.formula import SIGMOID, Term, indices
from bertviewer.core.formulas.module_view import ModuleView, reads_first
from bertviewer.core.formulas.norm import is_norm
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template

_MASKED_LM = "Devlin et al. 2019, section 3.1, task 1"


def _head_part(view: ModuleView) -> Match | None:
    """A linear layer and an activation on the first token, or with a norm on all tokens."""
    graph = view.graph
    if len(graph.results) != 1 or len(graph.inputs) != 1:
        return None
    if any(graph.users(one) != (after,) for one, after in pairwise(graph.steps)):
        return None
    steps = ["norm" if is_norm(step) else step.operation for step in graph.steps]
    is_pooler = reads_first(view)
    is_repeated = any(part.isdigit() for part in view.node.path.split("."))
    if steps != ["linear", "activation", *([] if is_pooler else ["norm"])]:
        return None
    if is_repeated and not is_pooler:
        return None
    activation = graph.steps[1].node.details.get("activation")
    is_tanh, is_text = activation == "tanh", "vocab_size" in view.config
    first = "token" if is_text else "position"
    naming = Naming(
        results=("c" if is_pooler else "H",),
        layers={graph.steps[0].node.id: ("", f"the {'pooler' if is_pooler else 'transform'}")},
        meanings={
            "x_0": f"last hidden state of the first {first}{', [CLS]' if is_text else ''}",
            "c": f"pooled output{', between −1 and 1' if is_tanh else ''}",
            "X": "last hidden state",
            "H": "transformed vectors, one row per position",
        },
    )
    causal = is_causal(view.architecture)
    values = {
        "title": "Pooler" if is_tanh else "Context pooler",
        "activation": activation,
        "first": first,
        "whole": "sequence" if is_text else "input",
        "text": is_text and is_tanh,
        "data": not is_text,
        "causal": causal is True,
        "both ways": causal is False,
        "outside": view.architecture.source.task != "base" and view.node.parent == "",
        "code": "the layer as in BERT’s code" if is_tanh else "He et al. 2021 and their code",
    }
    case = "pooler" if is_pooler else "transform"
    return replace(write(graph, view, naming), values=values, case=case)


def _contacts(view: ModuleView) -> Match | None:
    """A logistic regression on all heads' attention, which is not called in a forward pass."""
    if view.is_called or len(view.tensors) > 2:
        return None
    layer = next(filter(None, (view.affine(child.path) for child in view.children.values())), None)
    numbers = [view.config[key] for key in view.config_keys("layers", "heads")]
    if layer is None or not all(isinstance(number, int) for number in numbers):
        return None  # CvT has lists with a number for each stage
    if layer.outputs != 1 or layer.inputs != (count := math.prod(numbers)):
        return None
    return Match(
        maths=(
            "C_h = P_h + P_h^top",
            "f_(h, i j) = c_(h, i j) - (sum_k c_(h, i k)) (sum_k c_(h, k j)) / "
            f"(sum_(i', j') c_(h, i' j')), quad h = {indices(count)}",
            f"p_(i j) = {SIGMOID}({layer.maths('bold(f)_(i j)', sizes=False)})",
        ),
        terms=(
            Term("P_h", "attention of head h, without the first and last tokens"),
            Term("h", "index of the head, counted over all layers", f"{count} heads"),
            Term("C_h", "symmetrised attention of head h, the matrix of the elements c"),
            Term(
                "bold(f)_(i j)",
                "features of the pair i, j, one per head: its attention after average product "
                "correction",
            ),
            *layer.terms("the logistic regression"),
            Term(SIGMOID, "logistic sigmoid"),
        ),
    )


HEADS = (
    Template(
        match=_head_part,
        cases={
            "pooler": Template(
                role="pooler",
                title="{title}",
                summary="Computes one vector that represents the whole {whole} from the first "
                "{first}’s vector, with a linear layer and {activation}.",
                notes=(
                    "{both ways?} Only the first token is read. Attention in every layer let it "
                    "gather information from all the others, so its vector can represent the "
                    "sequence.",
                    "{causal?} Only the first token is read. In a decoder it attends to no other "
                    "token, so its vector represents that token alone.",
                    "{text?} Next-sentence prediction and sequence-level classifiers need one "
                    "vector of fixed size, regardless of the sequence length.",
                    "{text?} BERT’s pooler was trained on next-sentence prediction; it is not a "
                    "mean of the token vectors, and semantic similarity was not its objective.",
                    "{data?} Classifiers need one vector of fixed size, however large the input "
                    "is.",
                    "{outside?} It belongs to the head: the base model has no pooler.",
                ),
                keys=("width",),
                source="Devlin et al. 2019, section 3.1 (the vector C); {code}",
            ),
            "transform": Template(
                role="head transform",
                title="Prediction head transform",
                summary="Transforms each position’s vector for the prediction of its token.",
                notes=(
                    "The paper does not mention this step; it comes from the code published with "
                    "the paper.",
                ),
                keys=("width", "embedding width", "activation", "epsilon"),
                source=f"{_MASKED_LM}; the transform as in the published code",
            ),
        },
    ),
    Template(
        role="head",
        match=_contacts,
        title="Contact head",
        summary="Predicts the probability of contact for every pair of amino acids, from the "
        "attention of all heads in all layers.",
        notes=(
            "It is called by predict_contacts and is not part of a normal forward pass.",
            "Attention to and from end-of-sequence tokens is set to 0 first.",
        ),
        keys=("layers", "heads"),
        source="Rao et al. 2021, section 3.2 (average product correction: Dunn et al. 2008)",
    ),
)
