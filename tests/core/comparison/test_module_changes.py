"""What the changes of tensors add up to for the modules that hold them."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.comparison.comparison import Change, compare_architectures, module_changes
from tests.core.opened import plain


def test_norms_are_added_over_all_tensors() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-base-uncased"))
    generator = np.random.default_rng(0)
    left, moved = {}, {}
    tensors = []
    for tensor in found.tensors:
        if not tensor.name.startswith("encoder.layer.3.attention"):
            tensors.append(tensor)
            continue
        left[tensor.name] = generator.normal(size=5)
        moved[tensor.name] = generator.normal(size=5)
        norms = [float(np.linalg.norm(each[tensor.name])) for each in (moved, left)]
        tensors.append(replace(tensor, change=Change(0, 5, 1.0, 1.0, 1.0, 1.0, *norms)))
    changes = module_changes(replace(found, tensors=tuple(tensors)))
    for path in ("", "encoder.layer.3", "encoder.layer.3.attention.self.query"):
        names = [name for name in left if name.startswith(path)]
        whole = [np.concatenate([each[name] for name in names]) for each in (moved, left)]
        expected = np.linalg.norm(whole[0]) / np.linalg.norm(whole[1])
        assert changes[path] == pytest.approx(expected)
    assert "embeddings" not in changes
