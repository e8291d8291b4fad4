"""What a report of the window is made of, as the command line says it."""

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.choices import Choices
from bertviewer.report.recipe import Recipe, SavedRun, SentenceRun, asked_task, sentence_run
from bertviewer.ui.export.report_inputs import Material
from bertviewer.ui.jobs.recorded_run import RecordedRun


def recipe_of(
    material: Material,
    choices: Choices,
    layers: tuple[int, ...] | None,
    file: str,
    corpus: str = "",
) -> Recipe:
    """Return it; ``file`` is the report's name, ``corpus`` the folder of one.

    Models are called as they were when they were opened: the report says these names.
    """
    source, compared = material.source, material.comparison
    right = left = ""
    if compared is not None:
        if compared.left.name == source.name:
            right = compared.right.name
        else:
            left = compared.left.name
    return Recipe(
        source.name,
        file,
        asked_task(source),
        allow_pickle=source.pickle_allowed or _has_pickle(material),
        offload=material.architecture.source.offloaded,
        run=_made(material.watched, source),
        run_a=_made(material.watched_a, source),
        checks=() if material.is_from_file else material.checked,
        right=right,
        left=left,
        corpus=corpus,
        layers=layers,
        statistic=material.statistic,
        choices=choices,
    )


def _made(watched: RecordedRun | None, source: ModelSource) -> SentenceRun | SavedRun | None:
    if watched is None:
        return None
    if watched.capture is None:
        return SavedRun(watched.file, watched.is_saved_baseline)
    other = None if watched.model is None else watched.model.source.name
    return sentence_run(watched.run, "" if other in (None, source.name) else str(other))


def _has_pickle(material: Material) -> bool:
    """Whether another model that is told of is a pickle: somebody has agreed to it."""
    compared, watched = material.comparison, material.watched_a
    kinds = set() if compared is None else {compared.left.kind, compared.right.kind}
    if watched is not None and watched.model is not None:
        kinds.add(watched.model.source.kind)
    return "pickle" in kinds
