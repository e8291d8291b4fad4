"""BigBird: attention to some blocks of a long sequence (Zaheer et al. 2020, section 2)."""

from dataclasses import replace

from bertviewer.core.families.layer import Halves
from bertviewer.core.formulas.attention import described, separate
from bertviewer.core.formulas.blocks import activation_terms
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.layers import halved_network
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import TOKENS, sized

_SOURCE = "Zaheer et al. 2020, section 2"


def answer_head(view: ModuleView) -> Formula:
    """A feed-forward network with add & norm before the scores of start and end (their code)."""
    network = halved_network(view, Halves("intermediate", "output"))
    norm = norm_of(view.below("output"), "LayerNorm")
    layer = view.affine("qa_outputs")
    inner = network.maths(sized("X", "S", network.first.inputs))
    scores = layer.maths(sized("T", "S", layer.inputs))
    return Formula(
        title="Question answering head",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f"T = {norm.operator}(X + {inner})",
            f"{sized('Z', 'S', layer.outputs)} = {scores}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {network.first.inputs}]"),
            *network.first.terms("the first linear layer", "1"),
            *network.second.terms("the second linear layer", "2"),
            *activation_terms(network.act),
            *norm.terms,
            *layer.terms("the span head"),
            Term("Z", "logits", f"[S, {layer.outputs}]"),
        ),
        notes=("Column 0 of Z scores the start of the answer, column 1 its end.",),
        config_keys=view.keys("width", "feed-forward", "activation", "epsilon", "labels"),
        source="Devlin et al. 2019, section 4.2; the network as in transformers’ code",
    )


def question_answering(view: ModuleView) -> Formula:
    """Where an answer starts and ends; the question is out of the race (transformers' code)."""
    width = view.width
    return Formula(
        title="Question answering model",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f'{sized("X", "S", width)} = "Base"({sized("t", "S")}), quad Z = "Head"(X)',
            'z_"start" = Z_(:, 0) - 10^6 q, quad z_"end" = Z_(:, 1) - 10^6 q',
        ),
        terms=(
            TOKENS,
            Term("t", "token ids", "[S]"),
            Term("X", "last hidden state of the base model, one row per position"),
            Term("Z", "start and end scores", "[S, 2]"),
            Term("q", "1 for the question’s tokens, 0 for the first token and for the text"),
        ),
        notes=(
            "The question is everything up to and including the first separator. The first token "
            "remains a candidate: it represents “no answer”.",
        ),
        config_keys=view.keys("width", "labels"),
        source="Devlin et al. 2019, section 4.2; q as in transformers’ code",
    )
