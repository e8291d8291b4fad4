"""A corpus, and the comparison of two, as text for a terminal."""

from collections import Counter

from bertviewer.core.corpus.comparison import CorpusComparison
from bertviewer.core.corpus.corpus import HEAD_FIGURES, QUANTILE_DIGITS, CallKey, Corpus
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text, with_minus
from bertviewer.report.summary import Table, aligned, notice_lines, number, provenance

MOST_ROWS = 20
"""Maximum number of modules, heads and features in a comparison; JSON has all of them."""
_MODULES = ("Module", "Distance", "Mean", "→", "Std", "→", "1%", "→", "99%", "→")
_HEADS = ("Attention", "Head", *(part for name in HEAD_FIGURES for part in (name.title(), "→")))


def corpus_text(corpus: Corpus) -> str:
    """Return what was run and what was skipped."""
    manifest = corpus.manifest
    source = SourceInfo.from_json(manifest["source"])
    lines = [
        provenance(source),
        *notice_lines(source),
        _counts(corpus),
    ]
    if left_out := manifest.get("left_out"):
        skipped = count_text(left_out, "{} line", "{} lines")
        lines.append(f"Skipped: {skipped} that could not be read")
        lines += [
            f"  {file['name']}, {where}: {problem}"
            for file in manifest["data"]
            for where, problem in file["first_left_out"]
        ]
    if unread := manifest.get("unread"):
        skipped = count_text(unread, "{} sentence", "{} sentences")
        lines.append(f"Skipped: {skipped} rejected by the tokenizer")
    if cut := manifest.get("cut"):
        lines.append(f"Cut to the maximum length: {count_text(cut, '{} sentence', '{} sentences')}")
    left_out_heads = manifest.get("attentions_left_out") or ()
    kinds = Counter((each["class"], each["left_out"]) for each in left_out_heads)
    for (name, why), count in kinds.items():
        modules = count_text(count, "1 attention module", "{0} attention modules")
        lines.append(f"Heads not measured: {modules} ({name}): {why}")
    return "\n".join(lines)


def comparison_text(comparison: CorpusComparison) -> str:
    """Return the modules, heads and features that differ most."""
    lines = []
    for title, corpus in (("Left: ", comparison.left), ("Right:", comparison.right)):
        source = SourceInfo.from_json(corpus.manifest["source"])
        lines.append(f"{title} {provenance(source)} · {_counts(corpus)}")
        lines += notice_lines(source)
    lines += ["", aligned(_MODULES, _modules(comparison), right=range(1, len(_MODULES)))]
    for title, places in (("left", comparison.only_left), ("right", comparison.only_right)):
        if places:
            lines.append(f"Only on the {title}: {', '.join(map(_call, places))}")
    if comparison.heads:
        lines += ["", aligned(_HEADS, _heads(comparison), right=range(1, len(_HEADS)))]
    if comparison.features:
        rows: Table = [
            (str(one.index), f"{one.left:.1%}", f"{one.right:.1%}")
            for one in comparison.features[:MOST_ROWS]
        ]
        header = ("Outlier feature", "Sentences", "→")
        lines += ["", aligned(header, rows, right=(1, 2))]
    return "\n".join(lines)


def _counts(corpus: Corpus) -> str:
    shards = len(corpus.manifest.get("shards", ()))
    counts = (
        count_text(corpus.sentences, "{} sentence", "{} sentences"),
        count_text(corpus.tokens, "{} token", "{} tokens"),
        count_text(shards, "{} shard", "{} shards"),
    )
    return " · ".join(counts)


def _modules(comparison: CorpusComparison) -> Table:
    # Modules that return another one's tensor have the same statistics.
    own = [one for one in comparison.modules if one.key in comparison.left.features]
    rows = []
    for module in own[:MOST_ROWS]:
        pair = module.left, module.right
        ends = [row.quantiles((0.01, 0.99)) or (None, None) for row in pair]
        figures = (
            *(row.statistics.mean for row in pair),
            *(row.statistics.std for row in pair),
        )
        quantiles = (value for pair in zip(*ends, strict=True) for value in pair)
        texts = (*map(_number, figures), *(_number(value, QUANTILE_DIGITS) for value in quantiles))
        rows.append((_call(module.key), f"{module.distance:.4f}", *texts))
    return rows


def _heads(comparison: CorpusComparison) -> Table:
    heads = sorted(comparison.heads, key=lambda head: -head.change)[:MOST_ROWS]
    return [
        (
            _call(head.key),
            str(head.head),
            *(_number(value) for pair in zip(head.left, head.right, strict=True) for value in pair),
        )
        for head in heads
    ]


def _call(key: CallKey) -> str:
    path, call = key
    return f"{path or '(model)'}{f' (call {call})' if call else ''}"


def _number(value: float | None, digits: int = 5) -> str:
    """Return a number with significant digits and a minus sign; a dash for none."""
    return with_minus(number(value, digits))
