"""Modules that turn token ids or image patches into vectors."""

import re
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from bertviewer.core.formulas.embedding import index_kind
from bertviewer.core.formulas.formula import listing
from bertviewer.core.formulas.module_view import ModuleView, dropout_of, rotates
from bertviewer.core.formulas.norm import NORMS, Norm, is_norm
from bertviewer.core.formulas.steps.graph_analysis import OperandKey
from bertviewer.core.formulas.steps.lines import write
from bertviewer.core.formulas.steps.naming import Naming
from bertviewer.core.formulas.template import Match, Template
from bertviewer.core.graph.module_graph import ModuleGraph, Step
from bertviewer.core.schema.flow import Node
from bertviewer.core.util.numbers import count_text

_KINDS = frozenset(("token", "segment", "position"))


def lookups_of(view: ModuleView) -> dict[str, tuple[int, str]]:
    """Return the number of rows, and a text on positions, of the first table of each kind.

    Tables are those of the module's own lookups. The kind is ``token``, ``segment`` or
    ``position``, for other tables their name.
    """
    found: dict[str, tuple[int, str]] = {}
    for step in view.calls.steps:
        if (each := _lookup(view, step)) is not None:
            found.setdefault(each[0], each[1:])
    return found


def _lookup(view: ModuleView, step: Step) -> tuple[str, int, str] | None:
    """Return kind or name, number of rows and text on positions of the table of a lookup."""
    table = view if step.node.path in (None, view.node.path) else view.at(step.path)
    names = [name for name in step.node.reads if name.endswith("weight")]
    tensor = view.tensor(names[0]) if len(names) == 1 else None
    is_lookup = step.operation in ("embedding", "look-up")
    if not is_lookup or table is None or tensor is None or len(tensor.shape) != 2:
        return None
    kind, rows = index_kind(step, view), tensor.shape[0]
    counts = kind == "position" and tensor.trainable
    padding, offset = map(table.integer, ("padding_idx", "offset")) if counts else (None, None)
    return kind or tensor.owner.rpartition(".")[2], rows, _position_note(rows, padding, offset or 0)


def _position_note(rows: int, padding: int | None, offset: int) -> str:
    """Return the text on positions: from an offset, or after the padding row (RoBERTa)."""
    if offset:
        return (
            f"Positions are counted from {offset}: the first {offset} rows of the position table "
            f"are never read, so {rows - offset} of its {rows} rows can be used for tokens."
        )
    if padding is None:
        return f"The position table has {rows} rows, which is the maximum sequence length."
    return (
        f"Positions are counted from padding_idx + 1 = {padding + 1}, after the padding row "
        f"{padding}: of the {rows} rows, {rows - padding - 1} can be used for tokens. Padding "
        f"tokens use row {padding} and are not counted, so a token’s position does not depend on "
        "the amount of padding before it."
    )


_SIMPLE = (
    *("embedding", "look-up", "index_select", "add", "residual", "mul", "div", "cat", "pad"),
    *("linear", "masked_fill", *NORMS),
)


def _embeddings(view: ModuleView) -> Match | None:
    """Rows of tables for each token, combined (Devlin et al. 2019, section 3)."""
    graph = view.graph
    if not view.calls.steps or len(graph.steps) < 2 or len(graph.results) != 1:
        return None
    lookups = lookups_of(view)
    others = [step for step in graph.steps if _lookup(view, step) is None]
    is_simple = all(step.operation in _SIMPLE for step in others)
    if "token" not in lookups or not is_simple or len(graph.results[0][0].shape) != 3:
        return None
    (positions, counted), (segments, _) = (
        lookups.get(kind, (0, "")) for kind in ("position", "segment")
    )
    norm = next((Norm.of(step) for step in graph.steps if is_norm(step)), None)
    masked = any("mask" in n.name and n.kind != "constant" for n in graph.given.values())
    rescales = any(step.operation == "masked_fill" for step in others)
    values = {
        "rescales": rescales,
        "does": _does(lookups.keys(), others, norm),
        "sums": len(lookups) > 1 and all(step.operation != "cat" for step in others),
        "segments": segments > 1,
        "one_segment": segments == 1,
        "no_segments": positions and not segments,
        "rotates": len(lookups) == 1 and rotates(view),
        "position_note": counted,
        "masks": masked and others[-1].operation == "mul",
        "norm": norm and norm.name,
        "dropout": dropout_of(view),
    }
    chosen = [*(["positions"] if positions else []), *(["token types"] if segments else [])]
    meanings = {"Y": "output, one row per position"}
    if segments == 1:
        meanings["g"] = "segment ids: always 0"
    if rescales:
        meanings['"mask"'] = "where mask tokens are"
        meanings["kappa"] = "fraction of the tokens that are not masked"
    written = write(graph, view, Naming(meanings=meanings))
    return replace(written, values=values, keys=view.config_keys(*chosen))


def _does(kinds: AbstractSet[str], others: list[Step], norm: Norm | None) -> str:
    """Return in words what is looked up, and how it is combined."""
    operations = {step.operation for step in others}
    if not operations & {"add", "residual", "cat"}:
        return f"a vector for each token{' and normalises it' if norm else ''}"
    words = ["the token"]
    words += ["its position"] if "position" in kinds or len(kinds) == 1 else []
    words += ["its segment"] if "segment" in kinds else []
    if more := len(kinds - _KINDS):
        words.append(count_text(more, "another property", "{0} other properties"))
    does = ", adds them and normalises the sum" if norm else " and adds them"
    does = " and combines them" if "cat" in operations else does
    return f"one vector each for {', '.join(words[:-1])} and {words[-1]}{does}"


EMBEDDINGS = Template(
    "embeddings",
    _embeddings,
    title="Embeddings",
    summary="Maps token ids to vectors: looks up {does}.",
    notes=(
        "{sums?} The vectors are added, not concatenated, so their size stays the same.",
        "Square brackets denote the lookup of a table row; the tables are learnt.",
        "{segments?} With a single sentence every g is 0, so the same segment vector is added at "
        "every position.",
        "{one_segment?} There is only one segment, so the same vector is added at every position; "
        "two sentences are distinguished by the separator.",
        "{position_note}",
        "{no_segments?} This model has no segments: two sentences are distinguished by the "
        "separator.",
        "{rotates?} There are no position vectors and no segments: attention rotates queries and "
        "keys according to their positions instead.",
        "{rescales?} A masked token gives a row of zeros. In training, 15% of the tokens were "
        "chosen and 80% of those masked, which made the sums smaller; the factor compensates for "
        "this.",
        "{masks?} Padding tokens give rows of zeros.",
        "Dropout (p = {dropout}) follows the {norm} during training; in evaluation mode it has no "
        "effect.",
    ),
    keys=(
        *("vocabulary", "embedding width", "width", "padding", "embedding scale", "epsilon"),
        *("dropout", "embedding dropout"),
    ),
    source="Devlin et al. 2019, section 3 and figure 2",
)
_LEARNT = ['x_"cls"', 'x_"dist"', "x_3", "x_4", "x_5"]
_FIRST = (
    "The first position is a learnt vector instead of a patch",
    "The first {0} positions are learnt vectors instead of patches",
)
_KEYS = ("image_size", "patch_size", "num_channels")
_MEANINGS = {
    "I": "the image: channels, height, width",
    "W": "kernel of the convolution, one for each feature",
    "ast": "convolution: here one product for each patch",
    "b": "bias of the convolution",
    "E": "patch embeddings, one row for each patch",
    "Y": "output",
    **dict.fromkeys(_LEARNT, "learnt vector placed before the patches"),
}


def _last_axes(node: Node, count: int) -> Node:
    """Return a node with the last axes of its shape."""
    symbols = None if node.symbolic_shape is None else node.symbolic_shape[-count:]
    return replace(node, shape=node.shape[-count:], symbolic_shape=symbols)


def _patches(view: ModuleView) -> Match | None:
    """Patches of an image mapped linearly, with learnt vectors (Dosovitskiy et al. 2021, 3.1)."""
    graph = view.graph
    if len(graph.results) != 1:
        return None
    step, after = graph.maker(graph.results[0][1]), list[Step]()
    while step is not None and step.operation != "convolution":
        after.append(step)
        step = graph.maker(next((o for o in step.tensors if graph.maker(o) is not None), None))
    if step is None or step.node.path in (None, view.node.path) or len(step.operands) < 2:
        return None
    image, shape = step.operands[0].node, view.parameter_shape(step.operands[1].parameter)
    is_image = image in graph.given and len(graph.given[image].shape) == len(shape) == 4
    if not is_image or str(list(shape[2:])) not in {operand.plain for operand in step.operands}:
        return None  # patches overlap
    learnt, tables, joins = list[Node](), list[Node](), 0
    for each in after:
        parameters = [
            graph.given[operand.node]
            for operand in each.tensors
            if operand.node in graph.given and graph.given[operand.node].kind == "parameter"
        ]
        if each.operation == "cat" and len(parameters) == len(each.tensors) - 1:
            learnt, joins = [*learnt, *parameters], joins + 1
        elif each.operation in ("add", "residual"):
            parameters += _looked_up(view, graph, each)
            if not parameters:
                return None
            tables += parameters
        elif not is_norm(each):
            return None
    width, channels, high, wide = shape
    *_, down, across = step.node.shape
    rows = replace(step.node, shape=(1, down * across, width), symbolic_shape=None)
    given = {node.id: _last_axes(node, 1) for node in learnt}
    given |= {node.id: _last_axes(node, 2) for node in tables}
    steps = [replace(each, node=rows) if each is step else each for each in graph.steps]
    drawn = replace(
        graph,
        given={**graph.given, **given},
        steps=tuple(each for each in steps if each.node.id not in given),
    )
    symbols: dict[OperandKey, str] = {(image, ()): "I"}
    for node, symbol in zip([*tables, *learnt], ['W_"pos"'] * len(tables) + _LEARNT, strict=False):
        symbols[node.id, ()] = symbol
    if after:
        symbols[step.node.id, ()] = "E"
    known = {'W_"pos"': f"learnt position vectors “{tables[0].name}”"} if tables else {}
    written = write(drawn, view, Naming(("Y",), symbols, meanings=_MEANINGS | known))
    # The learnt vectors and the patches are rows of one matrix.
    joined = re.compile(rf'(?:op\("Concat"\)\(.*?){{{joins}}}\bE\){{{joins}}}')
    listed = f"({', '.join((*_LEARNT[: len(learnt)], listing('e_{}', down * across)))})"
    maths = (joined.sub(listed, line) if joins else line for line in written.maths)
    values = {
        "then": ", then adds a vector for its position" if tables else "",
        "patch": f"{high} × {wide} pixels in {channels} channels",
        "count": f"{down} × {across} = {down * across}",
        "first": count_text(len(learnt), *_FIRST) if learnt else None,
        "positions": "position vectors" if tables else "",
    }
    keys = (*(key for key in _KEYS if key in view.config), *view.config_keys("width"))
    return replace(written, maths=tuple(maths), values=values, keys=keys)


def _looked_up(view: ModuleView, graph: ModuleGraph, step: Step) -> list[Node]:
    """Return the position tables whose rows a step adds, as parameter nodes."""
    made = [maker for operand in step.tensors if (maker := graph.maker(operand)) is not None]
    return [
        replace(
            each.node,
            kind="parameter",
            shape=view.parameter_shape(operand.parameter),
            symbolic_shape=None,
        )
        for each in made
        if each.operation == "embedding" and index_kind(each, view) == "position"
        for operand in each.operands
        if operand.parameter
    ]


PATCHES = Template(
    "embeddings",
    _patches,
    title="Patch embeddings",
    summary="Cuts an image into patches and maps each to a vector{then}.",
    notes=(
        "Each patch of {patch} is one position of the sequence: {count} patches. The convolution’s "
        "stride equals its kernel, so patches do not overlap, and each is multiplied by the same "
        "matrix.",
        "{first}, like [CLS] in BERT: attention gathers information from all patches there.",
        "The {positions} are learnt, one for each patch: without them the order of the patches "
        "would not matter to attention.",
    ),
    source="Dosovitskiy et al. 2021, section 3.1",
)
