"""torch's own small modules: linear layers, look-ups, normalisation, dropout."""

from bertviewer.core.architecture import Scalar
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.notation import indices, shape_text, sized
from bertviewer.core.formulas.subject import Subject

# What a linear layer is for shows in its place: the first ending that fits its path wins.
_LINEAR_USES = (
    ("query", "Makes the queries: what each position looks for."),
    ("q_lin", "Makes the queries: what each position looks for."),
    ("key", "Makes the keys: what each position can be found by."),
    ("k_lin", "Makes the keys: what each position can be found by."),
    ("value", "Makes the values: what each position hands on to those that look at it."),
    ("v_lin", "Makes the values: what each position hands on to those that look at it."),
    ("c_attn", "Makes queries, keys and values in one product, side by side."),
    ("attention.output.dense", "Mixes the heads' outputs into one vector per position."),
    ("attention.dense", "Mixes the heads' outputs into one vector per position."),
    ("attn.c_proj", "Mixes the heads' outputs into one vector per position."),
    ("attn.out_proj", "Mixes the heads' outputs into one vector per position."),
    ("self_attn.out_proj", "Mixes the heads' outputs into one vector per position."),
    ("multihead_attn.out_proj", "Mixes the heads' outputs into one vector per position."),
    ("out_lin", "Mixes the heads' outputs into one vector per position."),
    ("intermediate.dense", "Widens each position's vector for the feed-forward network."),
    ("ffn", "Widens each position's vector for the feed-forward network."),
    ("lin1", "Widens each position's vector for the feed-forward network."),
    ("linear1", "Widens each position's vector for the feed-forward network."),
    ("c_fc", "Widens each position's vector for the feed-forward network."),
    ("output.dense", "Brings the feed-forward network back to the model's width."),
    ("ffn_output", "Brings the feed-forward network back to the model's width."),
    ("lin2", "Brings the feed-forward network back to the model's width."),
    ("linear2", "Brings the feed-forward network back to the model's width."),
    ("mlp.c_proj", "Brings the feed-forward network back to the model's width."),
    ("pooler.dense", "Maps the first token's vector; the pooler's tanh follows."),
    ("pooler", "Maps the first token's vector; a tanh follows."),
    ("transform.dense", "Prepares each position's vector for the prediction of its token."),
    ("vocab_transform", "Prepares each position's vector for the prediction of its token."),
    ("decoder", "Gives one score (logit) for each entry of the vocabulary."),
    ("lm_head", "Gives one score (logit) for each entry of the vocabulary."),
    ("vocab_projector", "Gives one score (logit) for each entry of the vocabulary."),
    ("generator_lm_head", "Gives one score (logit) for each entry of the vocabulary."),
    ("seq_relationship", "Gives two scores: sentence B follows sentence A, or it does not."),
    ("qa_outputs", "Gives two scores per token: the answer starts here, the answer ends here."),
    ("classifier", "Gives one score (logit) per class."),
    ("classifier.out_proj", "Gives one score (logit) per class."),
    ("score", "Gives one score (logit) per class, without a bias."),
    ("embedding_hidden_mapping_in", "Maps the narrow embeddings to the model's width."),
    ("embeddings_project", "Maps the narrow embeddings to the model's width."),
)

_EMBEDDING_USES = (
    ("word_embeddings", "Gives each token of the vocabulary its vector."),
    ("embedding", "Gives each token of the vocabulary its vector."),
    ("wte", "Gives each token of the vocabulary its vector."),
    ("position_embeddings", "Gives each position in the sequence its vector."),
    ("wpe", "Gives each position in the sequence its vector."),
    ("token_type_embeddings", "Gives each segment, first sentence or second, its vector."),
)

_DROPOUT_PLACES = (
    ("self.dropout", "attention dropout"),
    ("attention.dropout", "attention dropout"),
    ("attention_dropout", "attention dropout"),
    ("attn_dropout", "attention dropout"),
    ("embeddings.dropout", "embedding dropout"),
    ("drop", "embedding dropout"),
    ("classifier.dropout", "head dropout"),
    ("sop_classifier.dropout", "head dropout"),
)


def linear(subject: Subject) -> Formula:
    """A linear layer: torch.nn.Linear, or the Conv1D of Radford et al. 2018."""
    layer = subject.affine()
    order = (
        "torch stores the weight as [out, in], so the formula transposes it: row j of W makes "
        "output feature j."
        if layer.transposed
        else "Conv1D stores the weight as [in, out], the other way round than torch.nn.Linear, so "
        "nothing is transposed: column j of W makes output feature j."
    )
    entry = "W_(j, i)" if layer.transposed else "W_(i, j)"
    bias = " + b_j" if layer.bias else ""
    notes = [
        order,
        "x is one position's vector: every position goes through the same weights, on its own.",
    ]
    if not layer.bias:
        notes.append("This layer has no bias.")
    return Formula(
        role="linear",
        title="Linear layer" if layer.transposed else "Linear layer, stored transposed (Conv1D)",
        summary=_use(subject, _LINEAR_USES, "Maps each vector to a new one: weighted sums."),
        maths=(
            f"{sized('y', layer.outputs)} = {layer.maths(sized('x', layer.inputs))}",
            f"y_j = sum_(i=0)^({layer.inputs - 1}) x_i {entry}{bias}, "
            f"quad {_range('j', layer.outputs)}",
        ),
        terms=(
            Term("x", "input vector of one position", shape_text((layer.inputs,))),
            *layer.terms("this layer"),
            Term("y", "output vector of that position", shape_text((layer.outputs,))),
        ),
        notes=tuple(notes),
        config_keys=(),
        source="torch.nn.Linear"
        if layer.transposed
        else "Conv1D of transformers, after the code of Radford et al. 2018",
    )


def embedding(subject: Subject) -> Formula:
    """A table whose rows are looked up (Devlin et al. 2019, section 3; torch.nn.Embedding)."""
    rows, width = subject.tensors["weight"].shape
    notes = [
        "A look-up, not a product: it takes row t of the table. It equals a one-hot vector times "
        "the table, without computing the zeros.",
    ]
    padding = subject.integer("padding_idx")
    if padding is not None:
        notes.append(
            f"padding_idx is {padding}: training leaves row {padding} as it is. The look-up "
            "treats it like any other row."
        )
    return Formula(
        role="embedding",
        title="Embedding",
        summary=_use(subject, _EMBEDDING_USES, "Gives each index its own learnt vector."),
        maths=(
            f"{sized('y_s', width)} = {sized('W', rows, width)}[t_s], "
            f"quad t_s in {{{indices(rows)}}}",
        ),
        terms=(
            Term("t_s", "index at position s, a whole number"),
            Term("W", "the table: one row for each index", shape_text((rows, width))),
            Term("y_s", "the row, this position's vector", shape_text((width,))),
        ),
        notes=tuple(notes),
        config_keys=subject.keys(*_embedding_choices(subject.node.name)),
        source="Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3.4",
    )


def dropout(subject: Subject) -> Formula:
    """Dropout (Srivastava et al. 2014, section 4), scaled while training as torch does."""
    chance = subject.attribute("p")
    p = f"{chance:g}" if isinstance(chance, float | int) else None
    return Formula(
        role="dropout",
        title="Dropout",
        summary="Sets numbers to 0 at random while training; when the model is used it does "
        "nothing.",
        maths=(
            'y = x quad "in evaluation"',
            'y_i = m_i / (1 - p) x_i, quad m_i tilde op("Bernoulli")(1 - p) quad "in training"',
        ),
        terms=(
            Term("p", "chance that a number is dropped", p),
            Term("m_i", "1 if the number is kept, 0 if it is dropped"),
        ),
        notes=(
            "All figures here are taken in evaluation mode, where dropout is the identity.",
            "torch scales the kept numbers by 1 / (1 - p) while training, so that nothing needs "
            "scaling afterwards.",
            "It has no parameters.",
        ),
        config_keys=_dropout_keys(subject, chance),
        source="Srivastava et al. 2014, section 4",
    )


def identity(subject: Subject) -> Formula:
    """A place holder that hands its input on."""
    return Formula(
        role="identity",
        title="Identity",
        summary="Hands its input on unchanged; it holds the place of a step that is not used.",
        maths=("y = x",),
        terms=(Term("x", "the input"),),
        notes=("It has no parameters.",),
        config_keys=(),
        source="torch.nn.Identity",
    )


def loss(subject: Subject) -> Formula:
    """Cross entropy as torch.nn.CrossEntropyLoss computes it with its defaults."""
    return Formula(
        role="loss",
        title="Cross-entropy loss",
        summary="Measures, in training, how little probability the scores give to the right "
        "answers; a plain forward pass does not call it.",
        maths=("cal(L) = -1/n sum_(i=0)^(n-1) log (e^(z_(i, y_i))) / (sum_c e^(z_(i, c)))",),
        terms=(
            Term("z_(i, c)", "score of class c for item i"),
            Term("y_i", "the right class of item i"),
            Term("n", "number of items that have a label"),
        ),
        notes=("It has no parameters.", "Items labelled -100 are left out."),
        config_keys=(),
        source="torch.nn.CrossEntropyLoss",
    )


def _dropout_keys(subject: Subject, chance: Scalar) -> tuple[str, ...]:
    """Return the keys that can have set this dropout: those of its place with its value."""
    path = f".{subject.node.path}"
    choice = next((c for ending, c in _DROPOUT_PLACES if path.endswith(f".{ending}")), "dropout")
    if choice == "dropout" and subject.node.depth == 1:
        choice = "head dropout"
    return tuple(key for key in subject.keys(choice) if subject.config[key] == chance)


def _range(letter: str, count: int) -> str:
    return f"{letter} = {indices(count)}"


def _use(subject: Subject, uses: tuple[tuple[str, str], ...], otherwise: str) -> str:
    path = f".{subject.node.path}"
    return next((text for ending, text in uses if path.endswith(f".{ending}")), otherwise)


def _embedding_choices(name: str) -> tuple[str, ...]:
    if name in ("position_embeddings", "wpe"):
        return ("positions", "embedding width", "width")
    if name == "token_type_embeddings":
        return ("token types", "embedding width", "width")
    return ("vocabulary", "embedding width", "width", "padding")
