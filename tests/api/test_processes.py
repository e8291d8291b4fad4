"""What a script has in one process is of use in another, or says in one line why not."""

import pickle
import sys
from pathlib import Path

import pytest

import bertviewer
from tests.cli.commands import python_of

FORK = """
import os, sys
import bertviewer
model = bertviewer.open("demo")
first = model.run("the cat").statistics()
pid = os.fork()
if not pid:
    again = bertviewer.open("demo").run("the cat")
    near = all(abs(a["mean"] - b["mean"]) < 1e-5 for a, b in zip(again.statistics(), first))
    os._exit(0 if near and again.figure("norms").csv() else 3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert model.run("the cat").statistics() == first
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_process_that_is_forked_after_a_run(tmp_path: Path) -> None:
    result = python_of(tmp_path, "-c", FORK)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_what_is_pickled(model: bertviewer.Model, run: bertviewer.Run) -> None:
    for words, one in (("a model cannot be pickled", model), ("use run.data instead", run)):
        with pytest.raises(TypeError, match=words):
            pickle.dumps(one)
    data = pickle.loads(pickle.dumps(run.data))
    assert data.to_json() == run.to_json()
    figure = pickle.loads(pickle.dumps(run.figure("norms")))
    assert figure.csv() == run.figure("norms").csv()
    assert pickle.loads(pickle.dumps(model.formula())) == model.formula()
