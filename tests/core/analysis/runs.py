"""Made-up runs, and runs of the demo model."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bertviewer.core.schema.activation_run import ActivationRun, Sentence, Token
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.presets import demo_folder

SPECIAL = {"[CLS]", "[SEP]", "<s>", "</s>", "<cls>", "<sep>", "<|endoftext|>", "[PAD]"}


def tokens_of(
    *texts: str, words: Sequence[int | None] = (), segments: str = "", sentences: str = ""
) -> list[Token]:
    """Return tokens with these texts, ids by text; the segments as digits, all 0 if not given.

    Sentences are digits too, and unknown if not given.
    """
    ids = {text: number for number, text in enumerate(dict.fromkeys(texts), start=100)}
    return [
        Token(
            ids[text],
            text,
            int(segments[place]) if segments else 0,
            words[place] if words else None,
            is_special=text in SPECIAL,
            is_unknown=text == "[UNK]",
            sentence=int(sentences[place]) if sentences and text not in SPECIAL else None,
        )
        for place, text in enumerate(texts)
    ]


def run_of(tokens: Sequence[Token], *states: ArrayLike, pair: str | None = None) -> ActivationRun:
    """Return a run of these tokens, with these hidden states and their norms."""
    arrays = tuple(np.asarray(state) for state in states)
    with np.errstate(over="ignore"):
        norms = [np.linalg.norm(array, axis=1) for array in arrays]
    return ActivationRun(
        source=SourceInfo("test", "test", "base", "random"),
        sentence=Sentence("text", pair),
        tokenizer="model",
        tokens=tuple(tokens),
        modules=(),
        token_norms=tuple(
            tuple(float(norm) if np.isfinite(norm) else None for norm in row) for row in norms
        ),
        seconds_forward=0.0,
        seconds_total=0.0,
        hidden_states=arrays,
    )


@cache
def demo_run(text: str, pair: str | None = None) -> ActivationRun:
    """Return a run of the demo model, computed by transformers alone."""
    from bertviewer.core.building.backend import torch, transformers

    folder = demo_folder()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoding = tokenizer(text, pair, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = model(**encoding, output_hidden_states=True).hidden_states
    ids = encoding["input_ids"][0].tolist()
    segments = encoding["token_type_ids"][0].tolist()
    tokens = [
        Token(
            number,
            tokenizer.convert_ids_to_tokens(number),
            segment,
            # The tokenizer counts the words of each sentence from 0.
            None if word is None else word + 1000 * segment,
            is_special=word is None,
            is_unknown=number == tokenizer.unk_token_id,
        )
        for number, segment, word in zip(ids, segments, encoding.word_ids(0), strict=True)
    ]
    return run_of(tokens, *(state[0].numpy() for state in states), pair=pair)


def plain_cosine(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the cosine, element by element."""
    dot = sum(float(x) * float(y) for x, y in zip(first, second, strict=True))
    squares = [sum(float(x) ** 2 for x in vector) for vector in (first, second)]
    return float(dot / (squares[0] * squares[1]) ** 0.5)
