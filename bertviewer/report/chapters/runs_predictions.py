"""What the model's head says in A and in B."""

from collections.abc import Iterator

from bertviewer.charts.classification import scores_table
from bertviewer.charts.labels import visible
from bertviewer.charts.predictions import candidates_table
from bertviewer.core.analysis.predictions import classification
from bertviewer.core.analysis.tokens import align
from bertviewer.report.blocks import Block, Paragraph, Section, See
from bertviewer.report.subject import Subject
from bertviewer.report.tables import table_of

_CLASSES = "table:runs-classes"
MOST_ROWS = 40


def predictions(subject: Subject) -> Section | None:
    """Return the section; ``None`` for a model without a head that says the same kind in both."""
    blocks = tuple(_blocks(subject))
    return Section("runs-predictions", "Predictions of A and B", blocks) if blocks else None


def _blocks(subject: Subject) -> Iterator[Block]:
    run, other, beside = subject.run, subject.other, subject.looks.beside
    assert run is not None
    assert other is not None
    b, a = (classification(each, subject.architecture) for each in (run, other))
    if b is not None and a is not None and (b.of, b.labels) == (a.of, a.labels):
        yield Paragraph.of(See(_CLASSES), f" gives the head’s scores for the {b.of} in both runs.")
        partners = {mine: theirs for theirs, mine in align(other.tokens, run.tokens)}
        table = scores_table(run, b, a, partners)
        yield table_of(table, _CLASSES, ("The scores of the model’s head in A and B.",), MOST_ROWS)
    for mine in subject.looks.predictions:
        theirs = None if beside is None else beside.predictions.get(mine.position)
        if theirs is None:
            continue
        name = f"table:runs-predicted-{mine.position}"
        where = f"token {mine.position} ({visible(run.tokens[mine.position].text)})"
        yield Paragraph.of(See(name), f" lists the most likely tokens at {where} in both runs.")
        found = candidates_table(run, mine, theirs, is_compared=True)
        yield table_of(found, name, (f"Predictions at {where} in A and B.",))
