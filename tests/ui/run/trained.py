"""A tiny BERT that has learnt a few sentences by heart: its predictions are sure ones."""

from pathlib import Path
from typing import Any

from bertviewer.core.building.backend import torch, transformers

SENTENCES = (
    "the cat sat on the mat",
    "this is a test sentence",
    "the mat is a test",
    "a cat sat on this test",
)


def train(folder: Path, tokenizer_folder: Path, steps: int = 60) -> Path:
    """Write a masked-LM BERT of two layers, trained on ``SENTENCES``, as a folder of files."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_folder)
    config = transformers.BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    threads = torch.get_num_threads()
    # So small a model is slower on several.
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model = transformers.BertForMaskedLM(config)
        examples = [_example(tokenizer, sentence) for sentence in SENTENCES]
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            for ids, labels in examples:
                model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
    torch.set_num_threads(threads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _example(tokenizer: Any, sentence: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sentence with each of its words masked in turn, and which word it was."""
    ids = torch.tensor(tokenizer(sentence)["input_ids"])
    words = range(1, len(ids) - 1)
    masked = ids.repeat(len(words), 1)
    labels = torch.full_like(masked, -100)
    for row, place in enumerate(words):
        labels[row, place] = ids[place]
        masked[row, place] = tokenizer.mask_token_id
    return masked, labels
