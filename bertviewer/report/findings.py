"""Findings about a run of one sentence: what its numbers show, most telling first.

Each finding is a function that returns ``None`` where its premise does not hold. To add one, add
it to ``_FINDINGS``.
"""

from collections.abc import Callable, Mapping
from math import isfinite, log
from statistics import median

import numpy as np
from msgspec import Struct

from bertviewer.charts.classification import best_line
from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, state_names, visible
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import HeadMeasures, Measure, RankedHead, ranked_heads
from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.layers import layer_series, layer_stacks
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.predictions import classification, predicts_next
from bertviewer.core.analysis.similarity import cosine_matrix, cosines, same_words, word_path
from bertviewer.core.analysis.tokens import token_classes, word_text, words_of
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import split_source_target
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.util.numbers import percent_text, with_minus
from bertviewer.core.util.text import isolated, upper_first
from bertviewer.report.subject import Subject
from bertviewer.report.words import quoted

MAX_FINDINGS = 5
MIN_TOKENS = 5
"""In shorter texts, attention to a neighbour or to a special token is no finding."""
_NEIGHBOURS: Mapping[Measure, str] = {
    "previous": "the previous token",
    "next": "the next token",
    "same": "the token itself",
}
_SINKS: tuple[Measure, ...] = ("cls", "sep", "first")


class Finding(Struct, frozen=True):
    """A sentence about a run, and from 0 to 1 how telling it is."""

    text: str
    strength: float


def findings(subject: Subject) -> tuple[str, ...]:
    """Return the most telling findings about the run, none where ``why_no_findings`` says why."""
    if subject.run is None or why_no_findings(subject):
        return ()
    found = [each for find in _FINDINGS if (each := find(subject, subject.run)) is not None]
    found.sort(key=lambda finding: -finding.strength)
    return tuple(finding.text for finding in found[:MAX_FINDINGS])


def why_no_findings(subject: Subject) -> str:
    """Return in a sentence why the run's numbers say nothing about the model; "" if they do."""
    run = subject.run
    if run is None:
        return ""
    if run.source.weights == "random":
        return (
            "The weights are random, so the numbers of this run say nothing about the text, and "
            "no findings are given."
        )
    if _uses_random_tensors(subject.architecture, run):
        return "The layers use random tensors, so no findings are given."
    if _has_nonfinite_layers(subject.architecture, run):
        return "The outputs of layers contain NaN or infinite values, so no findings are given."
    return ""


def _uses_random_tensors(architecture: Architecture, run: ActivationRun) -> bool:
    """Return whether a random tensor comes before the end of the last layer, as modules go."""
    stacks = layer_stacks(architecture)
    order = {node.path: place for place, node in enumerate(architecture.modules)}
    last = f"{stacks[-1][-1].path}." if stacks else ""
    end = max((place for path, place in order.items() if f"{path}.".startswith(last)), default=0)
    owners = (name.rpartition(".")[0] for name in run.source.random_tensors)
    return any(order.get(owner, 0) <= end for owner in owners)


def _has_nonfinite_layers(architecture: Architecture, run: ActivationRun) -> bool:
    modules = {module.path: module for module in run.modules}
    outputs = (
        modules[path].calls[call]
        for series in layer_series(architecture, run)
        for path, call in series.points()
        if path in modules
    )
    return any(output.nan_count or output.inf_count for output in outputs)


def _prediction(subject: Subject, run: ActivationRun) -> Finding | None:
    scores = classification(run, subject.architecture)
    if scores is not None and not scores.random_tensors:
        if not np.isfinite(scores.logits).all():
            return None
        if scores.of == "text" and scores.probabilities is not None:
            best_label = scores.best[0]
            probability = float(scores.probabilities[0, best_label])
            label = quoted(scores.labels[best_label])
            share = percent_text(probability)
            return Finding(f"The model predicts {label} with a probability of {share}.", 1.0)
        line = best_line(run, scores)
        return Finding(f"Prediction: {line.rstrip('.')}.", 1.0) if line else None
    for found in subject.details.predictions:
        token, best = run.tokens[found.position], found.guess.top[:2]
        is_next = predicts_next(subject.architecture)
        # A token that the model reads is mostly easy to predict.
        is_hidden = token.text in MASK_TOKENS or is_next
        if found.random_tensors or not is_hidden or not best or not isfinite(best[0].probability):
            continue
        guesses = [
            f"{quoted(word_text([one.text]))} ({percent_text(one.probability)})" for one in best
        ]
        what = f"after {_token(run, found.position)}" if is_next else _token(run, found.position)
        return Finding(
            f"Most likely {'next token ' if is_next else 'token at '}{what}: {guesses[0]}"
            + (f", then {guesses[1]}." if len(guesses) > 1 else "."),
            1.0,
        )
    return None


def _sentences(subject: Subject, _run: ActivationRun) -> Finding | None:
    found = subject.details.sentences
    poolings = () if found is None else found.poolings
    pooled = next((each for each in poolings if each.pooling == "mean"), None)
    if found is None or pooled is None or pooled.last is None or pooled.last_unrelated is None:
        return None
    high = pooled.last_unrelated.high
    compared = "more" if pooled.last > high else "no more"
    return Finding(
        f"The two sentences have a cosine of {_cosine(pooled.last)} (mean of the tokens’ vectors), "
        f"{compared} than any two of {len(found.unrelated)} unrelated sentences (up to "
        f"{_cosine(high)}).",
        0.95,
    )


def _same_word(subject: Subject, run: ActivationRun) -> Finding | None:
    if run.sentence.pair is None or subject.architecture.is_encoder_decoder:
        return None
    falls = []
    for pair in same_words(run):
        path = word_path(run, pair)
        if path and path[0] is not None and path[-1] is not None:
            falls.append((path[0] - path[-1], path[0], path[-1], pair.text))
    fall, first, last, word = max(falls, default=(0.0, 0.0, 0.0, ""))
    if fall < 0.1:
        return None
    return Finding(
        f"{quoted(word)} occurs in both sentences: the cosine of its two vectors falls from "
        f"{_cosine(first)} in {_state(run, 0)} to {_cosine(last)} in {_state(run, -1)}.",
        0.9,
    )


def _neighbour_head(subject: Subject, run: ActivationRun) -> Finding | None:
    measures = _measures(subject)
    texts = split_source_target(subject.architecture, run.tokens)
    if min(len(text) for text in texts if text) < MIN_TOKENS:
        return None
    best = [(head, name) for name in _NEIGHBOURS for head in ranked_heads(measures, name)[:1]]
    head, name = max(best, key=lambda found: found[0].value, default=(None, None))
    if head is None or name is None or head.value < 0.5:
        return None
    share = percent_text(head.value)
    text = f"{_head(head)} attends mostly to {_NEIGHBOURS[name]}: {share} on average."
    return Finding(upper_first(text), head.value)


def _sink(subject: Subject, run: ActivationRun) -> Finding | None:
    causal = is_causal(subject.architecture)
    count = len(run.tokens)
    if subject.architecture.is_encoder_decoder or causal is None or count < MIN_TOKENS:
        return None
    classes = {one.name: one for one in token_classes(run)}
    best: tuple[float, str, int] | None = None
    for measure in _SINKS:
        heads = ranked_heads(_measures(subject), measure)
        if not heads:
            continue
        keys = (0,) if measure == "first" else classes[measure].tokens
        share = sum(head.value for head in heads) / len(heads)
        seen = [range(query + 1) if causal else range(count) for query in range(count)]
        even = sum(sum(key in row for key in keys) / len(row) for row in seen) / count
        label = "The first token" if measure == "first" else classes[measure].label
        if share >= 2 * even and (best is None or share > best[0]):
            best = share, label, len(keys)
    if best is None:
        return None
    share, label, keys_count = best
    return Finding(
        f"{isolated(shortened(visible(label), MAX_TOKEN))} receives {percent_text(share)} of the "
        f"attention, averaged over all heads, but is only {keys_count} of {count} tokens.",
        share,
    )


def _entropy(subject: Subject, run: ActivationRun) -> Finding | None:
    heads = ranked_heads(_measures(subject), "entropy")
    count = len(run.tokens)
    if subject.architecture.is_encoder_decoder or len(heads) < 2 or count < MIN_TOKENS:
        return None
    most, least, uniform = heads[0], heads[-1], log(count)
    if most.value - least.value < 0.4 * uniform:
        return None
    return Finding(
        f"The entropy of attention ranges from {least.value:.2f} nats ({_head(least)}, the most "
        f"focused) to {most.value:.2f} nats ({_head(most)}); uniform attention to all {count} "
        f"tokens has {uniform:.2f} nats.",
        0.5,
    )


def _outlier(subject: Subject, run: ActivationRun) -> Finding | None:
    found, count = outlier_features(run), len(run.hidden_states)
    if not found or 2 * len(found[0].states) < count or count < 2:
        return None
    feature, largest = found[0], found[0].largest
    deviation, states = abs(largest.deviation), len(feature.states)
    part = f"all {count}" if states == count else f"{states} of {count}"
    return Finding(
        f"Feature {feature.index} is an outlier in {part} hidden states: it deviates from the mean "
        f"by up to {deviation:.0f} standard deviations (at {_token(run, largest.token)} in "
        f"{_state(run, largest.state)}).",
        min(1.0, 0.5 + deviation / 100),
    )


def _norm(subject: Subject, run: ActivationRun) -> Finding | None:
    if subject.architecture.is_encoder_decoder or len(run.tokens) < MIN_TOKENS:
        return None
    best: tuple[float, int, int, float] | None = None
    for state, row in enumerate(run.token_norms):
        norms = [-1.0 if norm is None else norm for norm in row]
        middle = median(norms)
        largest = max(range(len(norms)), key=norms.__getitem__)
        if middle > 0 and (best is None or norms[largest] / middle > best[0]):
            best = norms[largest] / middle, state, largest, norms[largest]
    if best is None or best[0] < 5:
        return None
    ratio, state, token, norm = best
    return Finding(
        f"The vector of {_token(run, token)} has a norm of {norm:,.0f} in {_state(run, state)}, "
        f"{ratio:.0f} times the median of all tokens.",
        0.85,
    )


def _change(subject: Subject, run: ActivationRun) -> Finding | None:
    pairs = zip(run.hidden_states, run.hidden_states[1:], strict=False)
    means = []
    for state, (before, after) in enumerate(pairs):
        known = [value for value in cosines(before, after) if value is not None]
        if not known:
            return None
        means.append((sum(known) / len(known), state))
    if len(means) < 2 or max(means)[0] - min(means)[0] < 0.05:
        return None
    (low, most), (high, least) = min(means), max(means)
    return Finding(
        f"The tokens’ vectors change most from {_state(run, most)} to {_state(run, most + 1)} "
        f"(mean cosine {_cosine(low)}) and least from {_state(run, least)} to "
        f"{_state(run, least + 1)} ({_cosine(high)}).",
        0.45,
    )


def _similar_pair(subject: Subject, run: ActivationRun) -> Finding | None:
    if not run.hidden_states:
        return None
    content = [token for word in words_of(run) for token in word.tokens]
    matrix = cosine_matrix(run.hidden_states[-1])
    stacks = subject.architecture.is_encoder_decoder
    values = {
        (one, two): float(matrix[one, two])
        for place, one in enumerate(content)
        for two in content[place + 1 :]
        if run.tokens[one].id != run.tokens[two].id
        and isfinite(matrix[one, two])
        and not (stacks and run.tokens[one].segment != run.tokens[two].segment)
    }
    if len(values) < 3:
        return None
    (one, two), most = max(values.items(), key=lambda pair: pair[1])
    mean = sum(values.values()) / len(values)
    if most - mean < 0.15:
        return None
    return Finding(
        f"The two different tokens with the most similar vectors in {_state(run, -1)} are "
        f"{_token(run, one)} and {_token(run, two)}: their cosine is {_cosine(most)}, the mean of "
        f"all such pairs {_cosine(mean)}.",
        0.4,
    )


def _padding(subject: Subject, _run: ActivationRun) -> Finding | None:
    padding = subject.details.padding
    if padding is None:
        return None
    unmasked = max(state.unmasked for state in padding.states)
    masked = max(state.masked for state in padding.states)
    length = f"Padding to {len(padding.tokens)} tokens"
    if not padding.is_same:
        text = f"{length} changes the vectors by up to {masked:.2g} even with the attention mask."
        return Finding(text, 0.9)
    if not any(state.changes for state in padding.states):
        return None
    return Finding(
        f"{length} changes no vector as long as it is masked; without the attention mask, elements "
        f"change by up to {unmasked:.2g}.",
        0.4,
    )


_FINDINGS: tuple[Callable[[Subject, ActivationRun], Finding | None], ...] = (
    _prediction,
    _sentences,
    _same_word,
    _neighbour_head,
    _sink,
    _norm,
    _outlier,
    _similar_pair,
    _entropy,
    _change,
    _padding,
)


def _measures(subject: Subject) -> dict[AttentionLayer, HeadMeasures]:
    """Return the measures of the attentions whose queries and keys are of one text."""
    attention = subject.details.attention
    known = {} if attention is None else attention.measures
    return {layer: each for layer, each in known.items() if "distance" in each}


def _head(head: RankedHead) -> str:
    return f"head {head.head} of {head.layer.name}"


def _state(run: ActivationRun, state: int) -> str:
    name = names_of_states(run)[state]
    return f"the {name}" if name == state_names(1)[0] else name


def _token(run: ActivationRun, token: int) -> str:
    return f"{quoted(run.tokens[token].text)} (token {token})"


def _cosine(value: float) -> str:
    return with_minus(f"{value:.2f}")
