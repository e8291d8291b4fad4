"""Chapter on the model: a description, totals, data flow, and the origin of the weights."""

from collections.abc import Iterator

from bertviewer.core.analysis.layers import layer_stacks
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import (
    Block,
    Code,
    Facts,
    Listing,
    Paragraph,
    Section,
    See,
    Text,
)
from bertviewer.report.pictures import ChapterDraft, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.summary import provenance, totals

_WHOLE = "figure:model"
_MAX_LAYERS = 2
_TOTALS = {
    "Total params": "Parameters",
    "Trainable params": "Trainable parameters",
    "Mult-Adds": "Multiply-adds",
}
"""Names of the totals in a report; the terminal uses those of torchinfo."""


def model(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    architecture = subject.architecture
    pictures = Pictures()
    blocks: list[Block] = [Paragraph(_description(architecture))]
    blocks += (Paragraph.of(notice, look="note") for notice in architecture.source.notices)
    blocks.append(
        Facts(tuple((_TOTALS.get(name, name), (value,)) for name, value in totals(architecture)))
    )
    blocks += _figures(subject, pictures)
    blocks += subject.answers("overview")
    sections = tuple(filter(None, (_weights(subject),)))
    return ChapterDraft(Section("model", "The model", tuple(blocks), sections), pictures)


def _description(architecture: Architecture) -> Text:
    """Describe what the model computes, the size of its parts, and its layers."""
    root, tree = architecture.root, fold(architecture)
    formula = formula_of(root, architecture)
    words: list[str | Code] = [Code(root.class_name), " "]
    words.append(
        "is a neural network composed of modules. "
        if formula is None
        else f"{formula.summary[:1].lower()}{formula.summary[1:]} "
    )
    large = [row for row in tree.children if row.parameters]
    if large:
        words.append(
            count_text(
                root.parameters,
                "Its only parameter lies in ",
                "Its {0} parameters lie in ",
            )
        )
        for place, row in enumerate(large):
            separator = "" if not place else (" and " if place == len(large) - 1 else ", ")
            words += [separator, Code(row.label), f" ({row.share:.2%})"]
        words.append(". ")
    for stack in layer_stacks(architecture):
        first = stack[0]
        words += [
            Code(first.parent or root.class_name),
            count_text(len(stack), " contains one layer (", " stacks {0} identical layers ("),
            Code(first.class_name),
            count_text(
                len(stack),
                ") of {1} parameters. ",
                ") of {1} parameters each. ",
                f"{first.parameters:,}",
            ),
        ]
        layer = formula_of(first, architecture)
        if layer is not None:
            words.append(f"{layer.summary} ")
    return tuple(words)


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
        # A decoder's layers may have the class of the encoder's. Stages of other sizes are alike.
        flow = flows.like.get(first.path, first.path)
        layers.setdefault(flow if architecture.is_encoder_decoder else first.class_name, first.path)
    for number, path in enumerate(list(layers.values())[:_MAX_LAYERS]):
        if (layer := flow_of(path)) is not None:
            yield pictures.figure(
                f"layer-{number}" if number else "layer",
                layer,
                (
                    "One layer, ",
                    Code(layer.path),
                    ": attention, feed-forward network and residual connections.",
                ),
                "The operations of one layer with its residual connections.",
            )


def _weights(subject: Subject) -> Section | None:
    """Return the section on the checkpoint, ``None`` without one."""
    if subject.load_report is None:
        return None
    intro = Paragraph.of(f"{provenance(subject.architecture.source)}.")
    listing = Listing(tuple(subject.load_report.lines()))
    return Section("weights", "Origin of the weights", (intro, listing))
