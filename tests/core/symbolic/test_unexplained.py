"""Why a module has no formula, on a model that is made up."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.expressions.polynomials import polynomial_of
from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.symbolic.conditions import divisibility_conditions
from bertviewer.core.symbolic.costs import derive_costs


class Config:
    is_encoder_decoder = False
    pad_token_id = 0


class Padding(nn.Module):
    """Works on tokens that are filled up to a multiple of eight, but for short sentences."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > 600:
            x = nn.functional.pad(x, (0, 0, 0, 8))
        y: Tensor = self.dense(x)
        return y


class Halving(nn.Module):
    """Works on every second token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dense(x[:, ::2])
        return y


class Model(nn.Module):
    def __init__(self, width: int, part: type[nn.Module] = Padding) -> None:
        super().__init__()
        self.config = Config()
        self.embedding = nn.Embedding(50, width)
        self.first = nn.Linear(width, width)
        self.part = part(width)
        self.last = nn.Linear(width, width)

    def forward(self, input_ids: Tensor, return_dict: bool = True) -> Tensor:
        del return_dict
        y: Tensor = self.last(self.part(self.first(self.embedding(input_ids))))
        return y


def test_a_formula_that_a_longer_sentence_refutes() -> None:
    def build(values: Mapping[str, Any]) -> nn.Module:
        with torch.device("meta"):
            return Model(values["hidden_size"])

    costs = derive_costs({"hidden_size": 24}, build)
    assert not costs.reason
    why = costs.reason_for("part.dense")
    # The longest sentence that is tried has 1,400 tokens.
    assert why == (
        "B·S·D² gives 806,400 for B = 1, S = 1400 in a model that was tried, where 811,008 is "
        "correct"
    )
    assert costs.reason_for("part") == costs.reason_for("") == f"part.dense: {why}"
    assert costs.reason_for("embedding") == ""
    last = costs.modules["last"]
    assert last.macs is None
    assert last.reason.startswith("B·S·D² gives 806,400")


def test_a_part_that_halves_the_tokens_limits_no_other() -> None:
    def build(values: Mapping[str, Any]) -> nn.Module:
        with torch.device("meta"):
            return Model(values["hidden_size"], Halving)

    costs = derive_costs({"hidden_size": 24}, build)
    assert costs.domain is None
    assert costs.modules["first"].macs == "B*S*D**2"
    assert costs.modules["part.dense"].macs is None
    assert costs.reason_for("part.dense").endswith("which vary with B, S, D")


def test_a_division_asks_for_a_number_of_the_configuration() -> None:
    values = {"B": 2, "A": 4, "head_ratio": 2}
    symbols = {x: Symbol(x, "" if x == "B" else x, value, "") for x, value in values.items()}
    found = divisibility_conditions([polynomial_of("B*A//head_ratio")], values, symbols)
    assert found == ["A % head_ratio == 0"]
