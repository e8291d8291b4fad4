"""Comparison of two sentences by their vectors, with unrelated sentences as a reference."""

import re
from collections.abc import Mapping

import torch

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.sentence_vectors import (
    Pooling,
    SentenceComparison,
    Vectors,
    compare_vectors,
    sentence_vectors,
    start_label,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.device import CPU
from bertviewer.core.runs.module_replay import call_model
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

ENGLISH = (
    "The train to the coast leaves at half past seven.",
    "She painted the kitchen door a bright yellow.",
    "Copper conducts electricity better than iron.",
    "My grandfather kept bees behind the barn.",
    "The court postponed its decision until autumn.",
    "Add two eggs and stir until the dough is smooth.",
    "Their team lost the final by a single goal.",
    "Whales breathe air and feed their young with milk.",
    "He forgot his umbrella in the dentist's waiting room.",
    "Interest rates have hardly changed since last year.",
    "The old bridge was closed to lorries after the flood.",
    "Children under six may visit the museum for free.",
)
CHINESE = (
    "去海边的火车七点半出发。",
    "她把厨房的门刷成了黄色。",
    "铜的导电性比铁好。",
    "我爷爷在谷仓后面养蜜蜂。",
    "法院把判决推迟到了秋天。",
    "加两个鸡蛋，搅拌到面团光滑为止。",
    "他们队在决赛中以一球之差输了。",
    "鲸鱼呼吸空气，用乳汁喂养幼崽。",
    "他把雨伞忘在了牙医的候诊室里。",
    "利率从去年起几乎没有变化。",
    "洪水过后，旧桥禁止卡车通行。",
    "六岁以下的儿童可以免费参观博物馆。",
)
_IDEOGRAPH = re.compile("[\u3400-\u9fff]")


def unrelated_to(text: str) -> tuple[str, ...]:
    """Return twelve unrelated sentences in the script of a text."""
    letters = sum(letter.isalpha() for letter in text)
    return CHINESE if 2 * len(_IDEOGRAPH.findall(text)) > letters else ENGLISH


def compare_sentences(
    model: LoadedModel,
    first: str,
    second: str,
    progress: Progress = no_progress,
    *,
    random_weights: bool = False,
    device: str = CPU,
) -> SentenceComparison:
    """Run two sentences and unrelated ones, each alone, and compare their vectors.

    As a pair in one run, each sentence would attend to the other.

    Raises:
        UserError: a sentence cannot be run, or the model returns no vectors to compare.
        Cancelled: by ``progress``.
    """
    unrelated = unrelated_to(first)
    texts = (first, second, *unrelated)
    found: list[Mapping[Pooling, Vectors]] = []
    start = ""
    is_causal_model = False
    for number, text in enumerate(texts):
        part = _sentence_progress(progress, number, len(texts))
        cache = None if found else ActivationCache("units")
        run = run_sentence(
            model,
            Sentence(text, cut=True),
            part,
            random_weights=random_weights,
            cache=cache,
            device=device,
        )
        if cache is not None:
            is_causal_model = _is_causal(model, cache, part)
        found.append(sentence_vectors(run, is_causal_model))
        start = start or start_label(run)
    poolings = compare_vectors(found[0], found[1], found[2:], start, run.source.sentence_pooling)
    if not poolings:
        raise UserError("this model returns no hidden states of the same size to compare")
    return SentenceComparison(first, second, poolings, unrelated)


def _sentence_progress(progress: Progress, number: int, count: int) -> Progress:
    """Return a progress callback that reports the number of sentences only."""

    def report(done: int, total: int, label: str) -> None:
        del done, total, label
        progress(number, count, "Running unrelated sentences")

    return report


def _is_causal(model: LoadedModel, cache: ActivationCache, progress: Progress) -> bool:
    """Return whether no token of a model without an encoder-decoder attends to a later one.

    Where no attention was traced, as in Mamba, a second pass with another last token shows it.
    """
    architecture = model.with_flows(progress)
    if architecture.is_encoder_decoder:
        return False
    if (causal := is_causal(architecture)) is not None:
        return causal
    ids = cache.inputs["input_ids"].clone()
    if ids.shape[1] < 2:
        return False
    ids[0, -1] = ids[0, 0] if ids[0, 0] != ids[0, -1] else (ids[0, -1] + 1) % 2
    problem = f"{model.source.name}: the model cannot run this sentence"
    one, other = (
        first_tensor(call_model(model, {**cache.inputs, **changed}, progress, problem))
        for changed in ({}, {"input_ids": ids})
    )
    if one is None or other is None or one.dim() != 3 or one.shape != other.shape:
        return False
    return torch.equal(one[:, :-1], other[:, :-1]) and not torch.equal(one, other)
