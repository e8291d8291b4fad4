"""Around an import nothing searches for garbage, and all is as it was afterwards."""

import gc
import subprocess
import sys

import pytest

from bertviewer.core.util.background_import import SWITCH_INTERVAL, quiet_imports


def test_everything_is_as_before_afterwards() -> None:
    before = sys.getswitchinterval()

    def fail() -> None:
        with quiet_imports():
            assert not gc.isenabled()
            assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()
    assert sys.getswitchinterval() == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch loads its libraries itself")
def test_torchs_library_is_there_before_torch_is() -> None:
    code = """
import sys
from pathlib import Path
from bertviewer.core.util.background_import import quiet_imports
def is_there():
    return "libtorch_cpu.so" in Path("/proc/self/maps").read_text()
print(is_there())
with quiet_imports():
    print(is_there(), "torch" in sys.modules)
    import torch
print(torch.ones(2).sum().item())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "False", "2.0"], done.stderr
