"""Modules that run other modules one after another."""

from dataclasses import replace

from bertviewer.core.formulas.distance_buckets import MPNET_BUCKETS
from bertviewer.core.formulas.facts import has_positions
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import (
    INTO,
    TOKENS,
    Affine,
    indices,
    listing,
    sized,
)
from bertviewer.core.formulas.notes import Note, no
from bertviewer.core.text.numerals import count_text

STEP = "X_(l+1)"
LAYER_TERM = Term("X_l", "hidden state l: the input of layer l, one row per position")
_SOURCE = "Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3"


def module_list(view: ModuleView) -> Formula:
    """A list of modules: it computes nothing."""
    return _composition(view, listed=True)


def sequence(view: ModuleView) -> Formula:
    """A sequence of modules: it runs its members in order."""
    return _composition(view, listed=False)


def _composition(view: ModuleView, *, listed: bool) -> Formula:
    count = len(view.children)
    members = count_text(count, "1 module", "{0} modules")
    names = listing("f_{}", count) if count else ""
    return Formula(
        title="List of modules" if listed else "Sequence of modules",
        summary=f"Holds {members}; the enclosing module decides how they are called."
        if listed
        else f"Runs {members} in order, each on the output of the previous one.",
        maths=(f"({names})",)
        if listed
        else (f"X_(l+1) = f_l (X_l), quad (f_l) = ({names}), quad Y = X_{count}",),
        terms=(Term("f_0", "first member; members are counted from 0", members),) if count else (),
        notes=("It has no parameters besides those of its members.",),
        config_keys=tuple(
            key for key in view.keys("layers", "groups") if view.config[key] == count
        ),
        source="torch.nn",
    )


def stack(view: ModuleView) -> Formula:
    """A stack of layers, with a last layer norm where the module has one."""
    return _stack(view, "", (), ())


def mpnet_stack(view: ModuleView) -> Formula:
    """MPNet's: the bias by distance is looked up once, for all layers (Song et al. 2020)."""
    buckets, heads = view.tensors["relative_attention_bias.weight"].shape
    term = Term("B", "distance bias on the scores, one per head and pair of positions")
    note = (
        f"The table relative_attention_bias, [{buckets}, {heads}], has one row per distance "
        "bucket and one column per head. Its values are added to the scores of every layer."
        if buckets == MPNET_BUCKETS
        else f"The table relative_attention_bias, [{buckets}, {heads}], has one column per head. "
        f"The code sorts distances into {MPNET_BUCKETS} buckets, one row each, regardless of "
        "the number of rows in the configuration. Its values are added to the scores of "
        "every layer."
    )
    return _stack(view, ", B", (term,), (note,))


def roformer_stack(view: ModuleView) -> Formula:
    """RoFormer's: one table of sines and cosines for all layers (Su et al. 2021, section 3.2)."""
    rows, size = view.tensors["embed_positions.weight"].shape
    table = sized('W_"pos"', rows, size)
    terms = (
        Term("P", "sines and cosines of all positions, for all layers", f"[S, {size}]"),
        Term('W_"pos"', "fixed, not learnt: one row per position", f"[{rows}, {size}]"),
    )
    note = (
        "Positions enter here, not in the embeddings: every layer’s attention rotates its queries "
        "and keys by these angles."
    )
    found = _stack(view, ", P", terms, (note,))
    line = f"{sized('P', 'S', size)} = {table}[0, dots, S - 1]"
    return replace(found, maths=(line, *found.maths), source="Su et al. 2021, section 3.2")


def squeezebert_stack(view: ModuleView) -> Formula:
    """SqueezeBERT's: the axes change places for the layers (Iandola et al. 2020, section 3)."""
    found = stack(view)
    count = len(view.below("layers").children)
    lines = (
        f'X_(l+1)^top = "Layer"_l (X_l^top), quad l = {indices(count)}',
        *found.maths[1:],
    )
    note = (
        "Convolutions need the features before the positions: the input and output of each layer "
        f"have shape [{view.width}, S], those of the stack [S, {view.width}]."
    )
    notes = (note, *found.notes)
    return replace(found, maths=lines, notes=notes, source="Iandola et al. 2020, section 3")


def deberta_stack(view: ModuleView) -> Formula:
    """DeBERTa's: one table of distances for all layers (He et al. 2021, section 3.1)."""
    if "conv" in view.children:
        raise LookupError("a stack of another make")
    if not view.attribute("relative_attention"):
        return stack(view)
    rows, width = view.tensors["rel_embeddings.weight"].shape
    table = sized('W_"rel"', rows, width)
    normed = "LayerNorm" in view.children
    line = f"R = {norm_of(view, 'LayerNorm').operator}({table})" if normed else f"R = {table}"
    terms = (
        Term("R", "distance vectors, for all layers", f"[{rows}, {width}]"),
        Term('W_"rel"', "learnt: one row per distance or distance bucket", f"[{rows}, {width}]"),
    )
    compares = "every layer compares its tokens with the vectors of the distances between them."
    notes = (
        Note(f"Positions enter here, not in the embeddings: {compares}", no(has_positions)),
        Note(f"Positions enter both here and in the embeddings: {compares}", has_positions),
    )
    found = _stack(view, ", R", terms, notes)
    source = "He et al. 2021 (DeBERTa), section 3.1"
    return replace(found, maths=(line, *found.maths), source=source)


def _stack(
    view: ModuleView, given: str, extra: tuple[Term, ...], notes: tuple[str, ...]
) -> Formula:
    """Return the formula of a stack; ``given`` is what every layer gets besides X."""
    layers = view.below("layer" if "layer" in view.children else "layers")
    count = len(layers.children)
    names = [name for name in ("norm", "emb_layer_norm_after") if name in view.children]
    norm = norm_of(view, *names) if names else None
    decoder = any(
        "multihead_attn" in child.path
        for child in view.architecture.modules
        if child.path.startswith(f"{layers.node.path}.")
    )
    more = ', X_"enc"' if decoder else given
    result = f"{norm.operator}(X_{count})" if norm else f"X_{count}"
    terms = [
        TOKENS,
        LAYER_TERM,
        Term("l", "index of the layer, counted from 0", count_text(count, "1 layer", "{0} layers")),
    ]
    if decoder:
        terms.append(Term('X_"enc"', "the encoder’s output"))
    last = "nothing follows it"
    if norm and "emb_layer_norm_after" in names:
        last = f"the final {norm.name} is included"
    elif norm:
        last = f"the final {norm.name}, after layer {count - 1}, is not included"
    return Formula(
        title="Stack of layers",
        summary=count_text(
            count,
            "Runs its single layer.",
            "Runs {0} layers in sequence, each with its own weights.",
        ),
        maths=(
            f'{STEP} = "Layer"_l (X_l{more}), quad l = {indices(count)}',
            f"{sized('Y', 'S', view.width)} = {result}",
        ),
        terms=(*terms, *extra),
        notes=(
            *notes,
            f"There are {count + 1} hidden states: state 0 is the input, state {count} the "
            f"output of the last layer; {last}.",
            "All hidden states have the same shape, so each layer refines the same vectors.",
        ),
        config_keys=view.keys("layers"),
        source=_SOURCE,
    )


def albert_stack(view: ModuleView) -> Formula:
    """ALBERT's stack: the same stored layers are applied again and again (Lan et al. 2020)."""
    mapping = view.affine("embedding_hidden_mapping_in")
    groups = len(view.below("albert_layer_groups").children)
    layers = int(view.config["num_hidden_layers"])
    uses = count_text(layers, "1 application", "{0} applications")
    group = "0" if groups == 1 else f"floor(l dot {groups} / {layers})"
    return Formula(
        title="Stack with shared layers",
        summary="Projects the embeddings to the hidden size, then applies "
        f"{count_text(groups, '1 stored group', '{0} stored groups')} of layers "
        f"{count_text(layers, 'once', '{0} times in total')}.",
        maths=(
            f"{sized('X_0', 'S', mapping.outputs)} = "
            f"{mapping.maths(sized('E', 'S', mapping.inputs), INTO)}",
            f'{STEP} = "Group"_(g(l)) (X_l), quad g(l) = {group}, quad l = {indices(layers)}',
            f"Y = X_{layers}",
        ),
        terms=(
            TOKENS,
            Term("E", "output of the embeddings", f"[S, {mapping.inputs}]"),
            *mapping.terms("the projection to the hidden size", INTO),
            LAYER_TERM,
            Term("l", "index of the group’s application, counted from 0", uses),
            Term("g(l)", "index of the stored group that is applied", f"{groups} stored"),
        ),
        notes=(
            "The parameters are stored once per group and reused: those of "
            f"{count_text(groups, '1 group', '{0} groups')} serve {uses}.",
            *_narrow_notes(view, mapping),
        ),
        config_keys=view.keys("layers", "groups", "embedding width", "width"),
        source="Lan et al. 2020, section 3.1",
    )


def _narrow_notes(view: ModuleView, mapping: Affine) -> tuple[str, ...]:
    """Say that a narrow table saves parameters, where it saves more than the mapping costs."""
    words = int(view.config["vocab_size"])
    cost = mapping.outputs * (mapping.inputs + mapping.bias)
    if words * (mapping.outputs - mapping.inputs) <= cost:
        return ()
    return (
        "The narrow embedding also saves parameters: the vocabulary table is only "
        f"{mapping.inputs} wide.",
    )


def albert_group(view: ModuleView) -> Formula:
    """ALBERT's group of layers, in order."""
    count = len(view.below("albert_layers").children)
    return Formula(
        title="Group of layers",
        summary="The layers that the stack applies together, repeatedly.",
        maths=(f'{STEP} = "Layer"_l (X_l), quad l = {indices(count)}', f"Y = X_{count}"),
        terms=(
            LAYER_TERM,
            Term("l", "index of the layer in the group, counted from 0", f"{count} in total"),
        ),
        notes=("Every application of the group uses the same parameters.",),
        config_keys=view.keys("groups"),
        source="Lan et al. 2020, section 3.1",
    )
