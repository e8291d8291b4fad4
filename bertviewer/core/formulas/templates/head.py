"""Modules on top of a base model: poolers, transforms, and heads that score."""

import math

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.architecture.flow import Node
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import scored_labels
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.graph import ModuleGraph, Step
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.notation import TOKENS, Affine, indices, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.templates.activation import activation_term, operator_of
from bertviewer.core.formulas.templates.feed_forward import read_feed_forward
from bertviewer.core.formulas.templates.norm import Norm, is_norm
from bertviewer.core.formulas.templates.parts import parts_of
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.frozen import frozen

MASKED_LM = "Devlin et al. 2019, section 3.1, task 1"
LOGITS = "Scores (logits) are not yet probabilities: softmax over the vocabulary converts them."
NEXT_SENTENCE = "Entry 0 of z scores “B follows A”, entry 1 “B is random”."
SENTENCE_ORDER = "Entry 0 scores the original order, entry 1 the swapped order."
_POOLED = "pooled output of the base model"
_FIRST_TOKEN = (
    Note(
        "Only the first token is read. Attention in every layer let it gather information from "
        "all the others, so its vector can represent the sequence.",
        lambda view: is_causal(view.architecture) is False,
    ),
    Note(
        "Only the first token is read. In a decoder it attends to no other token, so its vector "
        "represents that token alone.",
        lambda view: is_causal(view.architecture) is True,
    ),
)


@frozen
class Chain:
    """Steps that follow one another, each applied to the result of the one before.

    Attributes:
        source: the input of the first.
        parts: what is taken of the input.
        steps: the steps: linear layers, activations, norms, and sums with a bias.
    """

    source: Node
    parts: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the steps are: ``linear``, ``activation``, ``norm``, ``bias``."""
        return tuple("norm" if is_norm(step) else step.operation for step in self.steps)

    @property
    def is_of_first_token(self) -> bool:
        """Whether only the first position is read."""
        return is_first(self.parts)

    @property
    def is_of_vector(self) -> bool:
        """Whether one vector for the sequence is read."""
        return len(self.source.shape) == 2


def is_first(parts: tuple[str, ...]) -> bool:
    """Return whether only the first position is taken of a tensor."""
    return any(each.startswith("part [:, 0") for each in parts)


def reads_first(view: ModuleView | None) -> bool:
    """Return whether a module reads the first position only."""
    graph = None if view is None else view.graph
    if graph is None:
        return False
    read = [o for step in graph.steps for o in step.tensors if o.node in graph.given]
    return bool(read) and all(is_first(operand.parts) for operand in read)


def read_chain(graph: ModuleGraph, result: int = 0) -> Chain | None:
    """Return the chain that computes a result of a module, ``None`` if it is none."""
    if len(graph.results) <= result:
        return None
    steps: list[Step] = []
    operand = graph.results[result][1]
    while (step := graph.maker(operand)) is not None:
        steps.append(step)
        tensors = [
            o
            for o in step.tensors
            if o.node not in graph.given or graph.given[o.node].kind == "input"
        ]
        known = step.operation in ("linear", "activation", "add") or is_norm(step)
        if not known or len(tensors) != 1:
            return None
        operand = tensors[0]
    source = graph.given.get(operand.node)
    if source is None or source.kind != "input":
        return None
    return Chain(source, operand.parts, tuple(reversed(steps)))


def _chain(view: ModuleView) -> Chain | None:
    graph = view.graph
    return None if graph is None or len(graph.results) != 1 else read_chain(graph)


def _is_head(view: ModuleView) -> bool:
    """Return whether a module can be a head: it is not in a numbered layer."""
    return not any(part.isdigit() for part in view.node.path.split("."))


def _pooler(view: ModuleView) -> Formula | None:
    """Linear layer and activation on the first token (Devlin et al. 2019, 3.1, the vector C)."""
    chain = _chain(view)
    if chain is None or chain.kinds != ("linear", "activation") or not chain.is_of_first_token:
        return None
    dense, operator = view.affine_of(chain.steps[0]), operator_of(chain.steps[1])
    if dense is None:
        return None
    is_tanh = chain.steps[1].node.details.get("activation") == "tanh"
    operator = "tanh" if is_tanh else operator
    x = Term("x_0", "last hidden state of the first token, [CLS]", shape_text((dense.inputs,)))
    line = f"{sized('p', dense.outputs)} = {operator}({dense.maths(sized('x_0', dense.inputs))})"
    if not is_tanh:
        return Formula(
            title="Context pooler",
            summary="Computes one vector that represents the whole sequence from the first token’s "
            "vector.",
            maths=(line,),
            terms=(
                x,
                *dense.terms("the pooler"),
                activation_term(chain.steps[1]),
                Term("p", "pooled output", shape_text((dense.outputs,))),
            ),
            notes=(
                *_FIRST_TOKEN,
                Note("It belongs to the head: the base model has no pooler.", _is_outside),
            ),
            config_keys=view.keys("width"),
            source="Devlin et al. 2019, section 3.1 (the vector C); He et al. 2021 and their code",
        )
    is_text = "vocab_size" in view.config
    return Formula(
        title="Pooler",
        summary="Computes one vector that represents the whole "
        f"{'sequence' if is_text else 'input'} from the first "
        f"{'token' if is_text else 'position'}’s vector, with a linear layer and tanh.",
        maths=(line,),
        terms=(
            x if is_text else Term("x_0", "last hidden state of the first position", x.value),
            *dense.terms("the pooler"),
            Term("p", "pooled output, between −1 and 1", shape_text((dense.outputs,))),
        ),
        notes=(
            *_FIRST_TOKEN,
            *(
                (
                    "Purpose: next-sentence prediction and sequence-level classifiers need one "
                    "vector of fixed size, regardless of the sequence length.",
                    "BERT’s pooler was trained on next-sentence prediction; it is not a mean of "
                    "the token vectors, and semantic similarity was not its objective.",
                )
                if is_text
                else ("Classifiers need one vector of fixed size, however large the input is.",)
            ),
        ),
        config_keys=view.keys("width"),
        source="Devlin et al. 2019, section 3.1 (the vector C); the layer as in BERT’s code",
    )


def _is_outside(view: ModuleView) -> bool:
    """Return whether a module belongs to the model with a head, not to its base model."""
    return view.architecture.source.task != "base" and view.node.parent == ""


def _transform(view: ModuleView) -> Formula | None:
    """Linear layer, activation and layer norm before the vocabulary's scores."""
    chain = _chain(view)
    if chain is None or chain.kinds != ("linear", "activation", "norm") or not _is_head(view):
        return None
    dense = view.affine_of(chain.steps[0])
    if dense is None or chain.parts:
        return None
    norm, act = Norm.of(chain.steps[2]), operator_of(chain.steps[1])
    return Formula(
        title="Prediction head transform",
        summary="Transforms each position’s vector for the prediction of its token.",
        maths=(
            f"{sized('T', 'S', dense.outputs)} = {norm.operator}({act}("
            f"{dense.maths(sized('X', 'S', dense.inputs))}))",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {dense.inputs}]"),
            *dense.terms("the transform"),
            activation_term(chain.steps[1]),
            *norm.terms,
        ),
        notes=(
            "The paper does not mention this step; it comes from the code published with the "
            "paper.",
        ),
        config_keys=view.keys("width", "embedding width", "activation", "epsilon"),
        source=f"{MASKED_LM}; the transform as in the published code",
    )


def _scores(view: ModuleView) -> Formula | None:
    """Scores for every vocabulary entry (Devlin et al. 2019, section 3.1, task 1)."""
    chain = _chain(view)
    if chain is None or chain.kinds not in (
        ("linear", "activation", "norm", "linear"),
        ("linear", "activation", "norm", "linear", "add"),
    ):
        return None
    first, act, norm_step, last, *own = chain.steps
    dense, decoder = view.affine_of(first), view.affine_of(last)
    if dense is None or decoder is None or decoder.outputs != view.config.get("vocab_size"):
        return None
    parts = parts_of(view)
    if parts is None or len(parts.parts) == 1:
        return None
    norm = Norm.of(norm_step)
    if len(parts.by_step[first.node.id].steps) == 3:
        line = 'T = "Transform"(X)'
        terms: tuple[Term, ...] = (Term("T", "output of the head’s transform"),)
    else:
        line = (
            f"{sized('T', 'S', dense.outputs)} = {norm.operator}({operator_of(act)}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')}))"
        )
        terms = (*dense.terms("the first linear layer", "1"), activation_term(act), *norm.terms)
    scores = decoder.maths("T", '"dec"') + (' + b_"dec"' if own else "")
    bias = f"[{decoder.outputs}]"
    return Formula(
        title="Language-model head",
        summary="Scores every vocabulary entry at every position.",
        maths=(line, f"{sized('L', 'S', decoder.outputs)} = {scores}"),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            *terms,
            *decoder.terms("the decoder", '"dec"'),
            *((Term('b_"dec"', "bias, a tensor of this module itself", bias),) if own else ()),
            Term("L", "logits, one per vocabulary entry", bias.replace("[", "[S, ")),
        ),
        notes=(*tying_notes(view, last), *_bias_notes(view), LOGITS),
        config_keys=view.keys("vocabulary", "width", "embedding width", "tying"),
        source=MASKED_LM if own else f"{MASKED_LM}; tied weights: Press & Wolf 2017",
    )


def _holder(view: ModuleView) -> Formula | None:
    """A module that only holds a head that scores the vocabulary."""
    graph, parts = view.graph, parts_of(view)
    if graph is None or parts is None or len(parts.parts) != 1 or len(graph.results) != 1:
        return None
    size = view.config.get("vocab_size")
    if parts.parts[0].path == view.node.path or graph.results[0][0].shape[-1] != size:
        return None
    if len(graph.inputs) != 1 or len(graph.inputs[0].shape) != 3:
        return None
    return Formula(
        title="Masked language-model head",
        summary="Wraps the head that scores every vocabulary entry at every position.",
        maths=(f'{sized("L", "S", size)} = "Predictions"(X)',),
        terms=(TOKENS, Term("X", "last hidden state"), Term("L", "logits", f"[S, {size}]")),
        notes=(LOGITS,),
        config_keys=view.keys("vocabulary"),
        source=MASKED_LM,
    )


def tying_notes(view: ModuleView, step: Step) -> tuple[str, ...]:
    """Return a note on a linear layer's weight that is another tensor under a second name."""
    name = f"{step.node.path}.weight"
    tensor = next((t for t in view.architecture.parameters if t.name == name), None)
    if tensor is None or tensor.tied_to is None:
        return ()
    return (
        f"The weight is tied: it is the same tensor as {tensor.tied_to}, listed under both names "
        "and counted once. A token’s row is used both to embed the token and to score it.",
    )


def _bias_notes(view: ModuleView) -> tuple[str, ...]:
    names = [view.tensors.get(name) for name in ("bias", "decoder.bias")]
    if not any(tensor is not None and tensor.tied_to for tensor in names):
        return ()
    return ("“bias” and “decoder.bias” are two names for one tensor, which is added once.",)


def _pretraining(view: ModuleView) -> Formula | None:
    """Both heads of BERT's pretraining (Devlin et al. 2019, section 3.1)."""
    graph = view.graph
    if graph is None or len(graph.results) != 2:
        return None
    words, sentence = read_chain(graph), read_chain(graph, 1)
    if words is None or sentence is None or sentence.kinds != ("linear",):
        return None
    layer, decoder = view.affine_of(sentence.steps[0]), view.affine_of(words.steps[-1])
    if layer is None or decoder is None or not sentence.is_of_vector:
        return None
    return Formula(
        title="Pretraining heads",
        summary="Both of BERT’s pretraining tasks: score every vocabulary entry at every "
        "position, and score whether sentence B follows sentence A.",
        maths=(
            f'{sized("L", "S", decoder.outputs)} = "Predictions"(X)',
            f"{sized('z', layer.outputs)} = {layer.maths(sized('p', layer.inputs))}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state"),
            Term("p", _POOLED),
            *layer.terms("the sentence head"),
        ),
        notes=(LOGITS, NEXT_SENTENCE),
        config_keys=view.keys("vocabulary", "width"),
        source="Devlin et al. 2019, section 3.1, tasks 1 and 2",
    )


def _pooled_scores(view: ModuleView) -> Formula | None:
    """Scores from the pooled output: next sentence, or ALBERT's sentence order."""
    chain = _chain(view)
    if chain is None or chain.kinds != ("linear",) or not chain.is_of_vector:
        return None
    layer = view.affine_of(chain.steps[0])
    task = view.architecture.source.task
    if chain.steps[0].node.path == view.node.path or layer is None or layer.outputs != 2:
        return None
    if task not in ("next-sentence", "pretraining"):
        return None
    order = task == "pretraining"
    return Formula(
        title="Sentence-order head" if order else "Next-sentence head",
        summary="Scores from the pooled output whether the two sentences are in the original order."
        if order
        else "Scores from the pooled output whether sentence B follows sentence A.",
        maths=(f"{sized('z', layer.outputs)} = {layer.maths(sized('p', layer.inputs))}",),
        terms=(Term("p", _POOLED), *layer.terms("the head")),
        notes=(SENTENCE_ORDER if order else NEXT_SENTENCE,),
        config_keys=view.keys("width"),
        source="Lan et al. 2020, section 3.1"
        if order
        else "Devlin et al. 2019, section 3.1, task 2",
    )


def _classification(view: ModuleView) -> Formula | None:
    """Class scores from one vector: two linear layers with an activation in between."""
    chain = _chain(view)
    if chain is None or chain.kinds != ("linear", "activation", "linear"):
        return None
    dense, out = view.affine_of(chain.steps[0]), view.affine_of(chain.steps[2])
    if dense is None or out is None or out.outputs != scored_labels(view):
        return None
    if chain.is_of_first_token:
        vector, token = "x_0", "first token"
        note = "It replaces a pooler, which this model does not have."
    elif chain.is_of_vector and not is_first_only(view):
        vector, token = "x_e", "last end-of-sequence token"
        note = (
            "The decoder’s last token has attended to the whole sequence; an encoder’s first token "
            "would serve as well, but here the decoder is read."
        )
    else:
        return None
    hidden = f"{operator_of(chain.steps[1])}({dense.maths(sized(vector, dense.inputs), '1')})"
    return Formula(
        title="Classification head",
        summary=f"Scores the classes from the vector of the {token}.",
        maths=(
            f"{sized('h', dense.outputs)} = {hidden}",
            f"{sized('z', out.outputs)} = {out.maths('h', '2')}",
        ),
        terms=(
            Term(vector, f"last hidden state of the {token}", shape_text((dense.inputs,))),
            *dense.terms("the first linear layer", "1"),
            *out.terms("the second linear layer", "2"),
            activation_term(chain.steps[1]),
        ),
        notes=(note,),
        config_keys=view.keys("width", "labels"),
        source="Devlin et al. 2019, section 4.1; the extra layer as in transformers’ code",
    )


def is_first_only(view: ModuleView) -> bool:
    """Return whether the model is an encoder alone, whose heads read the first token."""
    return not any(".decoder." in f".{node.path}." for node in view.architecture.modules)


def _discriminator(view: ModuleView) -> Formula | None:
    """ELECTRA's discriminator: was this token replaced? (Clark et al. 2020, section 2)."""
    chain = _chain(view)
    if chain is None or chain.kinds != ("linear", "activation", "linear") or chain.parts:
        return None
    dense, out = view.affine_of(chain.steps[0]), view.affine_of(chain.steps[2])
    if dense is None or out is None or out.outputs != 1 or chain.is_of_vector:
        return None
    if view.architecture.source.task != "pretraining":
        return None
    return Formula(
        title="Discriminator head",
        summary="Scores for each token whether it was replaced.",
        maths=(
            f"{sized('H', 'S', dense.outputs)} = {operator_of(chain.steps[1])}("
            f"{dense.maths(sized('X', 'S', dense.inputs), '1')})",
            f"{sized('z', 'S')} = {out.maths('H', '2')}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {dense.inputs}]"),
            *dense.terms("the first linear layer", "1"),
            *out.terms("the second linear layer", "2"),
            activation_term(chain.steps[1]),
        ),
        notes=("The sigmoid of a score is the probability that the token was replaced.",),
        config_keys=view.keys("width", "activation"),
        source="Clark et al. 2020, section 2",
    )


def _answers(view: ModuleView) -> Formula | None:
    """Scores of spans after a feed-forward network with residual and norm (BigBird)."""
    graph = view.graph
    if graph is None or len(graph.steps) != 4:
        return None
    ffn, residual, norm_step, last = graph.steps
    layer = view.affine_of(last) if last.operation == "linear" else None
    if layer is None or layer.outputs != 2 or residual.operation != "residual":
        return None
    network = read_feed_forward(ffn, view)
    if network is None or not is_norm(norm_step):
        return None
    norm, width = Norm.of(norm_step), ffn.node.shape[-1]
    return Formula(
        title="Question answering head",
        summary="Scores every token as the start and as the end of the answer.",
        maths=(
            f"T = {norm.operator}(X + {network.maths(sized('X', 'S', width))})",
            f"{sized('Z', 'S', layer.outputs)} = {layer.maths(sized('T', 'S', layer.inputs))}",
        ),
        terms=(
            TOKENS,
            Term("X", "last hidden state", f"[S, {width}]"),
            *network.terms("the"),
            *norm.terms,
            *layer.terms("the span head"),
            Term("Z", "logits", f"[S, {layer.outputs}]"),
        ),
        notes=("Column 0 of Z scores the start of the answer, column 1 its end.",),
        config_keys=view.keys("width", "feed-forward", "activation", "epsilon", "labels"),
        source="Devlin et al. 2019, section 4.2; the network as in transformers’ code",
    )


def _contacts(view: ModuleView) -> Formula | None:
    """A logistic regression on all heads' attention (Rao et al. 2021, section 3.2)."""
    if view.graph is not None or len(view.tensors) > 2:
        return None
    paths = [f"{view.node.path}.{name}" for name in view.children]
    layers: list[Affine] = [layer for path in paths if (layer := view.affine(path)) is not None]
    sizes = [
        size for key in view.keys("layers", "heads") if isinstance(size := view.config[key], int)
    ]
    if len(layers) != 1 or layers[0].outputs != 1 or layers[0].inputs != math.prod(sizes):
        return None
    layer = layers[0]
    maths = layer.maths(sized("F_(i j)", layer.inputs), sizes=False)
    return Formula(
        title="Contact head",
        summary="Predicts the probability of contact for every pair of amino acids, from the "
        "attention of all heads in all layers.",
        maths=(
            "B_c = P_c + P_c^top",
            "F_(i j, c) = B_(c, i j) - (sum_k B_(c, i k)) (sum_k B_(c, k j)) / "
            "(sum_k sum_l B_(c, k l)), quad c = " + indices(layer.inputs),
            f"p_(i j) = sigma({maths})",
        ),
        terms=(
            Term("P_c", "attention of head c, without the first and last tokens"),
            Term(
                "F_(i j, c)",
                "attention of head c between i and j, after average product correction",
            ),
            *layer.terms("the logistic regression"),
            Term("sigma", "the logistic function"),
        ),
        notes=(
            "It is called by predict_contacts and is not part of a normal forward pass.",
            "Attention to and from end-of-sequence tokens is set to 0 first.",
        ),
        config_keys=view.keys("layers", "heads"),
        source="Rao et al. 2021, section 3.2 (average product correction: Dunn et al. 2008)",
    )


HEADS = (
    Template("pooler", _pooler),
    Template("head", _classification),
    Template("head", _discriminator),
    Template("head", _holder),
    Template("language-model head", _scores),
    Template("head transform", _transform),
    Template("head", _pretraining),
    Template("head", _pooled_scores),
    Template("head", _answers),
    Template("head", _contacts),
)
