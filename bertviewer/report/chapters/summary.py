"""The first page: the model in a few sentences, key figures, findings, health and caveats."""

from collections.abc import Iterator, Sequence
from itertools import islice

from bertviewer.charts.labels import shortened
from bertviewer.core.analysis.attention_modules import attention_paths
from bertviewer.core.analysis.costs import outline_of
from bertviewer.core.analysis.layers import layer_stacks, task_head
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.cost_texts import (
    FEW_BYTES,
    FLOAT32_BYTES,
    kv_cache_text,
    memory_sizes,
    sentence_text,
)
from bertviewer.core.schema.module_tree import TreeRow, fold
from bertviewer.core.sources.length_limits import position_table_lengths, trained_length
from bertviewer.core.sources.model_source import BASE
from bertviewer.core.util.numbers import count_text, percent_text, short_count
from bertviewer.core.util.text import lower_first
from bertviewer.report.blocks import (
    Block,
    Code,
    Facts,
    Letters,
    Paragraph,
    Points,
    Section,
    Span,
    Strong,
    Text,
    Tick,
)
from bertviewer.report.document import SUMMARY
from bertviewer.report.findings import findings, why_no_findings
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.run_text import other_tokenizer
from bertviewer.report.subject import Subject
from bertviewer.report.words import quoted, separated

MAX_NAME, MAX_SENTENCE, MAX_REASON = 48, 160, 160
"""Maximum length of a name, of the sentence, and of a reason: the summary fits on one page."""
MAX_PARTS = 3
_NEARLY_ALL, _SMALLEST_SHARE = 0.9, 0.0005
_TRAINED_FLOATS = 4
"""For each trainable parameter, the weight, its gradient and Adam's two moments."""


def summary(subject: Subject) -> ChapterDraft:
    """Return the chapter."""
    return ChapterDraft(Section(SUMMARY, "Summary", tuple(_blocks(subject))))


def _blocks(subject: Subject) -> Iterator[Block]:
    architecture = subject.architecture
    yield Paragraph((*_description(architecture), *_head(architecture)))
    yield Facts(tuple((name, (Letters(text),)) for name, text in _figures(subject)))
    if subject.run is not None:
        yield from _findings(subject, subject.run)
    yield Paragraph((Strong("Health"), ": ", *separated(_health(subject), " · "), "."))
    if caveats := tuple(_caveats(subject)):
        yield Paragraph.of(Strong("Caveats"))
        yield Points(tuple((caveat,) for caveat in caveats))


def _name(text: str) -> Code:
    return Code(shortened(text, MAX_NAME))


def _description(architecture: Architecture) -> Iterator[Span]:
    """Yield what the model computes, its layers, and the shares of its parts."""
    root = architecture.root
    formula = formula_of(root, architecture)
    does = "" if formula is None else f"{lower_first(formula.summary)} "
    if not does:
        yield from (_name(root.class_name), " is a neural network composed of modules. ")
    elif does.partition(" ")[0].endswith("s"):  # a verb: not as in "the encoder reads"
        yield from (_name(root.class_name), f" {does}")
    else:
        yield from ("In ", _name(root.class_name), f", {does}")
    if layers := tuple(_layers(architecture)):
        yield from ("It has ", *layers, ". ")
    parts = _large_parts(architecture)
    if len(parts) > 1:
        shares = [(_name(row.node.path), f" ({percent_text(row.share, 1)})") for row in parts]
        yield from ("Its parameters are mainly in ", *_listed(shares), ". ")


def _listed(items: Sequence[Text]) -> Iterator[Span]:
    """Yield items with commas and an “and” between them."""
    for place, item in enumerate(items):
        yield "" if not place else " and " if place == len(items) - 1 else ", "
        yield from item


def _large_parts(architecture: Architecture) -> list[TreeRow]:
    """Return the largest parts of the model; of its base model, if that is nearly all of it."""
    parts = list(fold(architecture).children)
    largest = max(parts, key=lambda row: row.parameters, default=None)
    inner = () if largest is None or largest.share < _NEARLY_ALL else largest.children
    if inner and not any(row.is_folded for row in inner):
        parts = [*(row for row in parts if row is not largest), *inner]
    large = (row for row in parts if row.share >= _SMALLEST_SHARE)
    return sorted(large, key=lambda row: -row.parameters)[:MAX_PARTS]


def _layers(architecture: Architecture) -> Iterator[Span]:
    stacks, outline = layer_stacks(architecture), outline_of(architecture)
    if not stacks:
        return
    for place, stack in enumerate(stacks[:2]):
        classes = {layer.class_name for layer in stack}
        calls = 1 if outline is None else outline.stacks[place].layers // len(stack)
        yield " and " if place else ""
        yield count_text(len(stack), "one layer", "{0} layers")
        if len(classes) == 1:
            yield from (" of class ", _name(stack[0].class_name))
        if calls > 1:
            yield (
                f" that are applied {calls} times" if len(stack) > 1 else f" applied {calls} times"
            )
        if len(stacks) > 1:
            yield from (" in ", _name(stack[0].parent or architecture.root.class_name))
    if len(stacks) > 2:
        others = sum(map(len, stacks[2:]))
        yield count_text(others, " and one in another stack", " and {0} in other stacks")
    # The stages of a vision model differ in size.
    is_even = all(len(stack) == 1 or any(node.repeat for node in stack) for stack in stacks)
    paths = attention_paths(architecture)
    attending = [
        any(f"{path}.".startswith(f"{stack[0].path}.") for path in paths) for stack in stacks
    ]
    if outline is not None and is_even and len(set(attending)) == 1:
        yield f", with {outline.width:,} features"
        if paths:
            yield count_text(outline.heads, " and 1 head", " and {0} heads")
        yield " each"


def _head(architecture: Architecture) -> Iterator[Span]:
    """Yield what distinguishes a base model from one with a task head."""
    if architecture.source.task == BASE.name:
        yield "It is opened without a task head: its outputs are hidden states, not predictions."
        return
    head = task_head(architecture)
    if not head:
        return
    own = sum(node.parameters for node in head)
    base = architecture.root.parameters - own
    names = [(_name(node.path),) for node in head[:MAX_PARTS]]
    yield from ("Its task head, ", *_listed(names))
    yield ", adds " + count_text(own, "1 parameter", "{0} parameters") if own else ", adds none"
    tied = [tensor for node in head for tensor in architecture.tensors_below(node.path)]
    if not own and any(tensor.tied_to for tensor in tied):
        yield " (its weights are tied)"
    yield f" to the {base:,} of the base model."


def _figures(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the key figures: names and values."""
    architecture = subject.architecture
    root = architecture.root
    trainable = "all" if root.trainable == root.parameters else f"{root.trainable:,}"
    tied = len(architecture.parameters) - architecture.tensor_count
    yield (
        "Parameters",
        f"{root.parameters:,} in {count_text(architecture.tensor_count, '1 tensor', '{0} tensors')}"
        f", {trainable} trainable"
        + (count_text(tied, "; 1 tied name is not counted", "; {0} tied names are not counted")
           if tied else ""),
    )  # fmt: skip
    sizes = (f"{_size(size)} in {names}" for names, size in memory_sizes(root.parameters))
    yield "Weights", "; ".join(sizes)
    training = FLOAT32_BYTES * (root.parameters + (_TRAINED_FLOATS - 1) * root.trainable)
    yield (
        "Training memory",
        f"{_size(training)} in float32 for weights, gradients and Adam’s two moments, without "
        "activations",
    )
    yield from _costs(architecture, subject.run)
    if cache := kv_cache_text(architecture, architecture.symbol_values):
        yield "KV cache", cache
    if limit := _length_text(architecture):
        yield "Maximum length", limit
    if isinstance(rows := architecture.config.get("vocab_size"), int):
        yield "Vocabulary", count_text(rows, "1 entry", "{0} entries")


def _costs(architecture: Architecture, run: ActivationRun | None) -> Iterator[tuple[str, str]]:
    if (costs := architecture.costs) is None:
        return
    values = bindings(architecture, run)
    if (peak := costs.peak_elements(values)) is not None:
        input_size = _input_text(architecture, values)
        size = _size(peak * FLOAT32_BYTES)
        yield "Peak activations", f"{size} in float32 for {input_size}, in inference"
    if costs.reason_for(""):
        if counted := _counted_macs(architecture, run):
            yield "Multiply-adds", f"{counted}; no formula was found for other inputs"
        return
    if text := _macs_text(architecture, values):
        yield "Multiply-adds", text
    longest = {**values, "B": 1, **_limits(architecture)}
    if longest != values and _limits(architecture) and (text := _macs_text(architecture, longest)):
        yield "At maximum length", text


def _counted_macs(architecture: Architecture, run: ActivationRun | None) -> str:
    """Return the multiply-adds of the run, or of the traced data flow; "" if unknown."""
    if run is not None and (macs := run.modules[0].macs) is not None:
        tokens = count_text(len(run.tokens), "1 token", "{0} tokens")
        return f"{short_count(macs)} for the {tokens} of this run"
    flow = None if architecture.flows is None else architecture.flows.flow("")
    return "" if flow is None else f"{short_count(flow.macs)} for the small input that was traced"


def _macs_text(architecture: Architecture, values: dict[str, int]) -> str:
    """Return the multiply-adds for an input and for each of its tokens; "" if unknown."""
    assert architecture.costs is not None
    macs = architecture.costs.macs("", values)
    if not macs:
        return ""
    text = f"{short_count(macs)} for {_input_text(architecture, values)}"
    if "S" in values and "S_d" not in values:
        text += f", {short_count(round(macs / (values['B'] * values['S'])))} per token"
    return text


def _input_text(architecture: Architecture, values: dict[str, int]) -> str:
    """Return the size of the input in words, or in symbols for several texts or other inputs."""
    assert architecture.costs is not None
    names = {symbol.name for symbol in architecture.costs.symbols}
    if names == {"B", "S"} and values["B"] == 1:
        return count_text(values["S"], "1 token", "{0} tokens")
    return sentence_text(architecture, values)


def _limits(architecture: Architecture) -> dict[str, int]:
    """Return the maximum of S, and of a decoder's S_d; empty if unknown."""
    symbols = () if architecture.costs is None else architecture.costs.symbols
    names = {symbol.name for symbol in symbols} & {"S", "S_d"}
    lengths = position_table_lengths(architecture) or tuple(
        filter(None, (trained_length(architecture.whole_config),))
    )
    if not lengths or "S" not in names:
        return {}
    return {name: lengths[0] if name == "S" else lengths[-1] for name in names}


def _length_text(architecture: Architecture) -> str:
    tables = tuple(dict.fromkeys(position_table_lengths(architecture)))
    if tables:
        each = " and ".join(f"{length:,}" for length in tables[:2])
        costs = architecture.costs  # without formulas for tokens, positions may be of sound
        name = "positions" if costs is None or costs.reason else "tokens"
        return f"{each} {name}, the rows of the position embeddings"
    trained = trained_length(architecture.whole_config)
    return "" if trained is None else f"{trained:,} tokens, by the configuration"


def _size(size: int) -> str:
    """Return a size in bytes, MB (10^6 bytes) or GB (10^9 bytes)."""
    if size < FEW_BYTES:
        return f"{size:,} bytes"
    return f"{size / 1e6:,.2f} MB" if size < 1e9 else f"{size / 1e9:,.2f} GB"


def _findings(subject: Subject, run: ActivationRun) -> Iterator[Block]:
    texts = filter(None, (run.sentence.text, run.sentence.pair))
    shown = " and ".join(quoted(each, MAX_SENTENCE) for each in texts)
    tokens = count_text(len(run.tokens), "1 token", "{0} tokens")
    yield Paragraph.of(Strong("Findings"), f" for {shown} ({tokens}):")
    if found := findings(subject):
        yield Points(tuple((text,) for text in found))
    else:
        reason = why_no_findings(subject)
        yield Paragraph.of(reason or "Nothing in this run stands out.")


def _health(subject: Subject) -> Iterator[Text]:
    """Yield the state of the run and of the weights, an item each."""
    run, source = subject.run, subject.architecture.source
    if run is not None:
        yield _check(run)
        nan = sum(module.statistics.nan_count for module in run.modules)
        inf = sum(module.statistics.inf_count for module in run.modules)
        values = count_text(inf, "{0} infinite value", "{0} infinite values")
        text = f"{nan:,} NaN and {values}" if nan or inf else "no NaN or infinite value"
        yield Tick(not nan and not inf), f" {text}"
        if run.hidden_states and run.source.weights != "random":
            count = len(outlier_features(run))
            yield (count_text(count, "1 outlier feature", "{0} outlier features"),)
    report, tensors = subject.load_report, subject.architecture.tensor_count
    if report is not None:
        missing = len(report.missing)
        text = count_text(
            missing, "1 of {1} tensors missing", "{0} of {1} tensors missing", tensors
        )
        yield Tick(not missing), f" {text if missing else 'no tensor missing or random'}"
    elif source.weights == "none" and run is None:
        yield ("no weights",)
    else:
        yield (f"{(run.source if run else source).weights} weights",)
    tied = len(subject.architecture.parameters) - tensors
    yield (count_text(tied, "1 tied name", "{0} tied names") if tied else "no tied tensors",)
    quantization = source.quantization
    quantized = "not quantized" if quantization is None else f"quantized ({quantization.title})"
    yield (quantized,)


def _check(run: ActivationRun) -> Text:
    if run.check is None or not run.check.steps:
        return ("not checked",)
    failed, steps = len(run.check.failed), len(run.check.steps)
    text = count_text(steps, "1 check passed", "{0} checks passed")
    if failed:
        text = count_text(
            failed, "1 of {1} checks failed", "{0} of {1} checks failed", f"{steps:,}"
        )
    return Tick(not failed), f" {text}"


def _caveats(subject: Subject) -> Iterator[str]:
    """Yield what qualifies the figures; random weights and notices are in a warning above."""
    run, report = subject.run, subject.load_report
    if run is None and report is not None and report.missing:
        names = ", ".join(islice(report.missing, MAX_PARTS))
        yield (
            f"Tensors that are missing from the checkpoint ({shortened(names, MAX_REASON)}) would "
            "be initialised randomly."
        )
    if report is not None and report.unexpected:
        yield count_text(
            len(report.unexpected),
            "1 tensor of the checkpoint does not belong to this model and was not read.",
            "{0} tensors of the checkpoint do not belong to this model and were not read.",
        )
    if run is None:
        return
    if tokenizer := other_tokenizer(run):
        yield f"The tokens come from {tokenizer}."
    limit = _limits(subject.architecture).get("S")
    count = bindings(subject.architecture, run)["S"]
    if run.sentence.cut and limit is not None and count >= limit:
        yield f"The text was truncated to {count:,} tokens, the maximum length of the model."
