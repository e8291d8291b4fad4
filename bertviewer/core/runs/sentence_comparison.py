"""Two sentences by their vectors, beside plain ones that have nothing to do with one another."""

import re
from collections.abc import Mapping

import torch

from bertviewer.core.analysis.attention_modules import is_causal
from bertviewer.core.analysis.sentence_vectors import (
    Pooling,
    SentenceComparison,
    Vectors,
    compared,
    sentence_vectors,
    start_label,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.device import CPU
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.replay import reporting
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
    """Return a dozen such sentences in the writing of a text."""
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
    """Run two sentences one by one, and the unrelated ones, and compare their vectors.

    Each is alone in its run: in one run as a pair, each would have seen the other.

    Raises:
        UserError: a sentence cannot be run, or the model gives no vectors to compare.
        Cancelled: ``progress`` said so.
    """
    unrelated = unrelated_to(first)
    texts = (first, second, *unrelated)
    found: list[Mapping[Pooling, Vectors]] = []
    start = ""
    looks_back: bool | None = None
    for number, text in enumerate(texts):
        part = _Part(progress, number, len(texts))
        kept = ActivationCache("units") if looks_back is None else None
        run = run_sentence(
            model,
            Sentence(text, cut=True),
            part,
            random_weights=random_weights,
            cache=kept,
            device=device,
        )
        if kept is not None:
            looks_back = _looks_back(model, kept, part)
        found.append(sentence_vectors(run, bool(looks_back)))
        start = start or start_label(run)
    poolings = compared(found[0], found[1], found[2:], start)
    if not poolings:
        raise UserError("this model returns no hidden states of the same size to compare")
    return SentenceComparison(first, second, poolings, unrelated)


def _looks_back(model: LoadedModel, kept: ActivationCache, progress: Progress) -> bool:
    """Tell whether a model of one stack lets no token see a later one.

    Where no attention was traced, as in Mamba, a run with another last token shows it.
    """
    architecture = model.with_flows(progress)
    if architecture.config.get("is_encoder_decoder"):
        return False
    if (causal := is_causal(architecture)) is not None:
        return causal
    ids = kept.inputs["input_ids"].clone()
    if ids.shape[1] < 2:
        return False
    ids[0, -1] = ids[0, 0] if ids[0, 0] != ids[0, -1] else (ids[0, -1] + 1) % 2
    module = model.running_module
    with torch.no_grad(), reporting(module, progress):
        outputs = [first_tensor(module(**{**kept.inputs, **it})) for it in ({}, {"input_ids": ids})]
    one, other = outputs
    if one is None or other is None or one.dim() != 3 or one.shape != other.shape:
        return False
    return torch.equal(one[:, :-1], other[:, :-1]) and not torch.equal(one, other)


class _Part:
    """Tells how many sentences are done, whatever goes on in one of them."""

    def __init__(self, progress: Progress, number: int, total: int) -> None:
        self._progress, self._number, self._total = progress, number, total

    def __call__(self, done: int, total: int, label: str) -> None:
        self._progress(self._number, self._total, "Running unrelated sentences")
