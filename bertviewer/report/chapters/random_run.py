"""Chapter on a run with random weights: one page on what can be learned from it."""

from collections.abc import Iterator
from math import isclose

from bertviewer.core.analysis.layers import layer_series, normed_layers
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import lower_first
from bertviewer.report.blocks import Code, Paragraph, Points, Section, Strong, Text
from bertviewer.report.chapters.sentence import text_blocks
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.tables import exact

_RANGES = ("initializer_range", "init_std", "initializer_factor")
_CLOSE = 0.1
"""How far the measured standard deviation of a few rows may be from the configured one."""


def random_run(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` without a run."""
    run = subject.run
    if run is None:
        return None
    blocks = (
        *text_blocks(subject, run),
        Paragraph.of(
            f"The weights of this run are random (seed {SEED}), so it shows how the architecture "
            "works, not what a trained model computes."
        ),
        Paragraph.of(Strong("What can be learned from it:")),
        Points(tuple(_learned(subject, run))),
        Paragraph.of(Strong("What cannot be learned from it:")),
        Points(tuple(_unknown())),
        Paragraph.of(
            "The chapters on these values are omitted. ",
            Code("--sections"),
            " includes them, for example ",
            Code("--sections sentence,values,attention"),
            ".",
            look="note",
        ),
    )
    return ChapterDraft(Section("sentence", "What this run shows", blocks))


def _learned(subject: Subject, run: ActivationRun) -> Iterator[Text]:
    root = run.modules[0]
    yield (
        count_text(len(run.tokens), "Shapes: 1 token becomes", "Shapes: {0} tokens become"),
        " an output of shape ",
        Code(shape_text(root.output_shape)),
        "; parameters, multiply-adds and memory do not depend on the values of the weights either.",
    )
    if run.check is not None:
        yield ("Checks: ", lower_first(run.check.verdict.lstrip("✓✗ ")))
    else:
        yield (
            "Checks: every formula can be verified on this run with ",
            Code("--check"),
            ", because a formula holds for any weights.",
        )
    yield from _initial(subject, run)
    yield from _layers(subject, run)


def _initial(subject: Subject, run: ActivationRun) -> Iterator[Text]:
    """Yield the standard deviation of an embedding, if it is the configured one."""
    tables = [
        (subject.architecture.module(module.path), module)
        for module in run.modules
        if module.class_name == "Embedding"
    ]
    largest = max(
        ((node.parameters, module) for node, module in tables if node is not None),
        key=lambda found: found[0],
        default=None,
    )
    if largest is None or (std := largest[1].statistics.std) is None:
        return
    for key in _RANGES:
        value = subject.architecture.config.get(key)
        if isinstance(value, float | int) and isclose(std, value, rel_tol=_CLOSE):
            yield (
                "Initialisation: the vectors of the tokens in ",
                Code(largest[1].path),
                f" have a standard deviation of {exact(std, 3)}, as the configuration says (",
                Code(f"{key} = {value:g}"),
                ").",
            )
            return


def _layers(subject: Subject, run: ActivationRun) -> Iterator[Text]:
    found = normed_layers(subject.architecture, run)
    if found is not None:
        yield (
            "Layer normalisation: every layer ends in a norm with γ = 1 and β = 0 (",
            Code(found.class_name),
            "), so each output has a standard deviation of 1.000 and each token’s vector a norm of "
            f"{exact(found.norm, 4)}, the square root of {found.features}.",
        )
        return
    deviations = [
        activation.calls[call].std
        for series in layer_series(subject.architecture, run)
        for path, call in series.points()
        if (activation := run.activation(path)) is not None
    ]
    known = [std for std in deviations if std is not None]
    if len(known) > 1:
        yield (
            "Scale: the standard deviation of a layer’s output goes from "
            f"{exact(known[0], 3)} in the first layer to {exact(known[-1], 3)} in the last, before "
            "any training.",
        )


def _unknown() -> Iterator[Text]:
    yield ("Attention: which tokens a head attends to. The patterns of random heads mean nothing.",)
    yield ("Similarity: cosines between tokens or sentences, and features that stand out.",)
    yield ("Predictions: scores, probabilities and their order.",)
