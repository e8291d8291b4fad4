"""Chapter on the model: its layers, dropout, data flow, task head, and origin of the weights."""

from collections.abc import Iterator, Sequence

from bertviewer.core.analysis.layers import layer_stacks, task_head
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.count_steps import count_steps
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.schema.modules import ModuleNode
from bertviewer.core.sources.families import DROPOUT
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import lower_first
from bertviewer.report.blocks import (
    Block,
    Code,
    Listing,
    Paragraph,
    Section,
    See,
    Span,
    Text,
)
from bertviewer.report.pictures import ChapterDraft, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.summary import provenance

_WHOLE = "figure:model"
_OF_STACK = ". One layer of the stack: "
_MAX_PATHS, _MAX_LAYERS = 4, 2


def model(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    architecture = subject.architecture
    pictures = Pictures()
    blocks: list[Block] = [Paragraph(tuple(_description(subject)))]
    blocks += (Paragraph.of(notice, look="note") for notice in architecture.source.notices)
    blocks += (Paragraph(text) for text in (_head(architecture), _dropouts(architecture)) if text)
    blocks += _figures(subject, pictures)
    blocks += subject.answers("overview")
    sections = tuple(filter(None, (_weights(subject),)))
    return ChapterDraft(Section("model", "The model", tuple(blocks), sections), pictures)


def _description(subject: Subject) -> Iterator[Span]:
    """Yield what the layers compute, and the model where the summary does not say so."""
    architecture = subject.architecture
    root, stacks = architecture.root, layer_stacks(architecture)
    if not stacks or not subject.has_chapter("summary"):
        formula = formula_of(root, architecture)
        yield Code(root.class_name)
        yield (
            " is a neural network composed of modules. "
            if formula is None
            else f" {lower_first(formula.summary)} "
        )
    for stack in stacks:
        first, kinds = stack[0], _kinds(architecture, stack)
        yield Code(first.parent or root.class_name)
        yield count_text(len(stack), " contains one layer (", " stacks {0} layers (")
        classes = dict.fromkeys(layer.class_name for layer in stack)
        for place, name in enumerate(classes):
            yield from (", " if place else "", Code(name))
        counts = sorted({layer.parameters for layer in stack})
        each = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        yield count_text(len(stack), ") of {1} parameters", ") of {1} parameters each", each)
        for summary, names in kinds.items():
            text = f". {summary.removesuffix('.')}" if summary else ""
            where = "" if len(kinds) == 1 or not summary else f". In {_listed(names)}"
            yield f"{where}{text.replace(_OF_STACK, ': ')}"
        yield ". "


def _kinds(architecture: Architecture, stack: Sequence[ModuleNode]) -> dict[str, list[str]]:
    """Return the summaries of a stack's layers, with the numbers of the layers that have them."""
    kinds: dict[str, list[str]] = {}
    for layer in stack:
        formula = formula_of(layer, architecture)
        kinds.setdefault("" if formula is None else formula.summary, []).append(layer.name)
    return kinds


def _listed(names: Sequence[str]) -> str:
    """Return “layer 0” or “layers 0, 2 and 4”, a long list with an ellipsis."""
    if len(names) == 1:
        return f"layer {names[0]}"
    *first, last = names if len(names) <= _MAX_PATHS else (*names[: _MAX_PATHS - 2], "…", names[-1])
    return f"layers {', '.join(first)} and {last}".replace(", … and ", " … ")


def _head(architecture: Architecture) -> Text:
    """Return what a task head adds to the base model; nothing without a head."""
    heads = task_head(architecture)
    if not heads:
        return ()
    count = sum(node.parameters for node in heads)
    words: list[Span] = []
    for node in heads:
        formula, steps = formula_of(node, architecture), count_steps(node, architecture)
        words += ["The task head ", Code(node.path), " (", Code(node.class_name), ")"]
        words.append(count_text(node.parameters, " adds 1 parameter", " adds {0} parameters"))
        words.append(f": {steps.symbols} = {steps.numbers}. " if steps is not None else ". ")
        words.append("" if formula is None else f"{formula.summary} ")
        tied = [each for each in architecture.tensors_below(node.path) if each.tied_to]
        for tensor in tied[:_MAX_PATHS]:
            words += [Code(tensor.name), " is tied to ", Code(tensor.tied_to or "")]
            words.append(" and not counted again. ")
    total = architecture.root.parameters
    words.append(f"The base model has the other {total - count:,} of {total:,} parameters.")
    return tuple(words)


def _dropouts(architecture: Architecture) -> Text:
    """Return the dropout rates and where they apply; nothing without dropout."""
    places: dict[float, list[str]] = {}

    def collect(row: TreeRow, path: str) -> None:
        rate = row.node.attributes.get("p")
        if DROPOUT in row.node.class_name and isinstance(rate, int | float):
            places.setdefault(float(rate), []).append(path)
        for child in row.children:
            collect(child, f"{path}.{child.label}" if path else child.label)

    collect(fold(architecture), "")
    active = {rate: paths for rate, paths in sorted(places.items()) if rate}
    if not active:
        return ("The dropout modules have probability 0: they do nothing.",) if places else ()
    words: list[Span] = ["During training, dropout sets elements to 0 with "]
    for number, (rate, paths) in enumerate(active.items()):
        words += ["; " if number else "", f"probability {rate:g} in "]
        for place, path in enumerate(paths[:_MAX_PATHS]):
            words += [", " if place else "", Code(path)]
        more = len(paths) - _MAX_PATHS
        if more > 0:
            words.append(count_text(more, " and 1 more module", " and {0} more modules"))
    return (*words, ". In evaluation, and so in every number of this report, it does nothing.")


def _figures(subject: Subject, pictures: Pictures) -> Iterator[Block]:
    architecture, flows = subject.architecture, subject.architecture.flows
    if flows is None:
        return

    def flow_of(path: str) -> Flow | None:
        found = flows.flow(path)
        if found is None or subject.run is None:
            return found
        return found.at(bindings(architecture, subject.run))

    if (whole := flow_of("")) is not None:
        yield Paragraph.of(
            See(_WHOLE), " shows the data flow through the model, as traced from its code."
        )
        yield pictures.figure(
            "model",
            whole,
            (
                "Data flow through ",
                Code(architecture.root.class_name),
                "; identical layers are drawn once.",
            ),
            "The parts of the model in order of execution, with their shapes.",
        )
    layers: dict[str, str] = {}
    for first, *_ in layer_stacks(architecture):
        # A decoder's layers may have the class of the encoder's. Stages differ in size only.
        flow = flows.like.get(first.path, first.path)
        layers.setdefault(flow if architecture.is_encoder_decoder else first.class_name, first.path)
    for number, path in enumerate(list(layers.values())[:_MAX_LAYERS]):
        if (layer := flow_of(path)) is not None:
            name = f"layer-{number}" if number else "layer"
            yield Paragraph.of(See(f"figure:{name}"), " shows ", Code(layer.path), " in detail.")
            yield pictures.figure(
                name,
                layer,
                ("Data flow through one layer, ", Code(layer.path), "."),
                "The operations of one layer in order of execution.",
            )


def _weights(subject: Subject) -> Section | None:
    """Return the section on the checkpoint, ``None`` without one."""
    if subject.load_report is None:
        return None
    intro = Paragraph.of(f"{provenance(subject.architecture.source)}.")
    listing = Listing(tuple(subject.load_report.lines()))
    return Section("weights", "Origin of the weights", (intro, listing))
