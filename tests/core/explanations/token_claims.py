"""What explanations of tokens say of a model, evaluated on the model as it was built."""

import torch

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.explanations.explanation import Answer
from bertviewer.core.tokenizer.stand_in import StandInTokenizer
from tests.core.explanations.claims import numbers_in
from tests.core.explanations.registering import claims
from tests.core.formulas.claims import LAST, is_refused
from tests.core.formulas.note_cases import TOKENS, Case


def words_of(case: Case, text: str, pair: str | None = None) -> list[str]:
    """Return the tokens that the family makes, with a vocabulary as large as its own."""
    config = {**case.model.config.to_dict(), "vocab_size": 30_000}
    return [token.text for token in StandInTokenizer(config).tokenize(Sentence(text, pair))]


@claims("start-token", "sentence-vector", "which-layer")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    tokens = words_of(case, "one two")
    is_named = tokens[0] in answer.text or answer.name == "which-layer"
    return is_named and 0 in case.moved(case.base, LAST)


@claims("end-token")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    tokens = words_of(case, "one", "two")
    places = [n for n, token in enumerate(tokens) if token == tokens[-1]]
    return answer.text.startswith(tokens[-1]) and len(places) > 1 and places[0] > 0


@claims("segments")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    path = next(n for n, _ in case.model.named_modules() if n.endswith("token_type_embeddings"))
    table = case.model.get_submodule(path)
    embeddings = case.model.get_submodule(path.rpartition(".")[0])
    ids = torch.arange(5, 5 + TOKENS)[None]
    ones = torch.ones_like(ids)
    with torch.no_grad():
        given = [embeddings(input_ids=ids, token_type_ids=types) for types in (ones - 1, ones)]
    # Where a layer of the embeddings follows, it hands on what was added.
    every = (given[0] - given[1]).abs().amax(-1)[0]
    shape = f"one of {table.num_embeddings} rows of {table.embedding_dim} numbers"
    return shape in answer.text and bool((every > 1e-7).all())


@claims("one-segment")
def _(case: Case, _node: ModuleNode, _answer: Answer) -> bool:
    tables = [m for n, m in case.model.named_modules() if n.endswith("token_type_embeddings")]
    return [table.num_embeddings for table in tables] == [1]


@claims("mask-token")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    mask = answer.question.split()[2]
    tokens = words_of(case, f"one {mask} two")
    return mask in tokens and 0 in case.moved(case.base, LAST)


@claims("mask-token-of-generator")
def _(case: Case, _node: ModuleNode, answer: Answer) -> bool:
    mask = answer.question.split()[2]
    return "Electra" in type(case.model).__name__ and mask in words_of(case, f"one {mask} two")


@claims("positions")
def _(case: Case, node: ModuleNode, answer: Answer) -> bool:
    limit = numbers_in(answer.text)[-1]
    if "decoder" in node.path or case.model.config.is_encoder_decoder:
        return bool(limit == case.model.config.max_position_embeddings)
    return not is_refused(case, limit) and is_refused(case, limit + 1)


@claims("last-token")
def _(case: Case, _node: ModuleNode, _answer: Answer) -> bool:
    base = case.base
    is_seen = LAST in case.moved(base, 0)
    return is_seen and all(LAST - 1 not in case.moved(base, place) for place in (LAST,))
