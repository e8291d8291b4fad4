"""``python -m tests.corpus``: what takes long of corpora, with real processes.

Ten deaths by SIGKILL, torchrun with 1, 2 and 3 processes and with two agents as on two machines, a
limit on files, and Ctrl+C. Each says what came of it; the exit status is 0 if all is well.
"""

import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conftest import TINY_WORDS

SENTENCES = 1000
DEATHS = 10
LIMIT = 20_000
_FILES = ("manifest.json", "statistics.parquet", "features.safetensors")

Command = list[str | Path]


def main() -> int:
    """Go through all of it."""
    with tempfile.TemporaryDirectory(prefix="corpus-trials-") as place:
        trials = Trials(Path(place))
        for trial in (
            trials.processes,
            trials.two_agents,
            trials.deaths,
            trials.full_disk,
            trials.interrupted,
        ):
            print(f"{trial.__name__}: {trial()}", flush=True)  # noqa: T201
    return 0


class Trials:
    """One corpus in many ways; the first way says what the others have to give."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._model, self._data = place / "model", place / "lines.txt"
        _write_model(self._model)
        chance = random.Random(5)
        lines = (
            " ".join(chance.choice(TINY_WORDS) for _ in range(chance.randint(1, 40)))
            for _ in range(SENTENCES)
        )
        self._data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._run([*_plain(), *self._arguments("whole")])
        self._whole = self._content("whole")

    def processes(self) -> str:
        """1, 2 and 3 processes of torchrun; 7 shards do not divide by any."""
        for count in (1, 2, 3):
            name = f"processes-{count}"
            self._run(
                [*_torchrun("--standalone", f"--nproc-per-node={count}"), *self._arguments(name)]
            )
            self._check(name)
        return "1, 2 and 3 processes of torchrun give the same bytes"

    def two_agents(self) -> str:
        """Two agents of torchrun, as on two machines that share a folder."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        agents = [
            subprocess.Popen(
                list(
                    map(
                        str,
                        [
                            *_torchrun(
                                *("--nnodes=2", f"--node-rank={rank}", "--nproc-per-node=1"),
                                *("--master-addr=127.0.0.1", f"--master-port={port}"),
                            ),
                            *self._arguments("agents"),
                        ],
                    )
                ),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        ends = [(agent.communicate(timeout=600)[1], agent.returncode) for agent in agents]
        assert [code for _, code in ends] == [0, 0], ends
        self._check("agents")
        return "two agents on loopback give the same bytes"

    def deaths(self) -> str:
        """SIGKILL at random moments, then the run goes on."""
        chance, killed, shards = random.Random(), 0, list[int]()
        while killed < DEATHS:
            process = subprocess.Popen(
                [*map(str, (*_plain(), *self._arguments("deaths")))],
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            folder = self._place / "deaths" / "shards"
            before = len(list(folder.glob("*.shard"))) if folder.exists() else 0
            if len(shards) % 3:
                # Amid the shards: once the next one is there, and a little later.
                while process.poll() is None and len(list(folder.glob("*.shard"))) <= before:
                    time.sleep(0.005)
                time.sleep(chance.random() * 0.1)
            else:
                time.sleep(chance.random() * 6)
            if process.poll() is not None:
                shutil.rmtree(self._place / "deaths")  # it was done before; once more
                continue
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            shards.append(len(list(folder.glob("*.shard"))) if folder.exists() else 0)
        self._run([*_plain(), *self._arguments("deaths")])
        self._check("deaths")
        return f"{killed} deaths, with {shards} shards there; then the same bytes"

    def full_disk(self) -> str:
        """No file may grow beyond a limit."""

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

        done = self._run([*_plain(), *self._arguments("full")], status=2, before=limited)
        (line,) = done.splitlines()
        assert line.endswith("File too large"), line
        self._run([*_plain(), *self._arguments("full")])
        self._check("full")
        return line

    def interrupted(self) -> str:
        """Ctrl+C once a shard is there."""
        process = subprocess.Popen(
            [*map(str, (*_plain(), *self._arguments("interrupted")))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        folder = self._place / "interrupted" / "shards"
        while not list(folder.glob("*.shard")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, said = process.communicate(timeout=60)
        seconds = time.monotonic() - start
        assert (process.returncode, said) == (2, "bertviewer: error: interrupted\n"), said
        self._run([*_plain(), *self._arguments("interrupted")])
        self._check("interrupted")
        return f"ended in {seconds:.1f} s in one line; then the same bytes"

    def _arguments(self, name: str) -> Command:
        return ["corpus", self._model, self._data, "--shards", "7", "-o", self._place / name]

    def _content(self, name: str) -> list[bytes]:
        found = [(self._place / name / file).read_bytes() for file in _FILES]
        found[0] = found[0].replace(f"-o {name}".encode(), b"")
        return found

    def _check(self, name: str) -> None:
        assert sorted(file.name for file in (self._place / name).iterdir()) == sorted(_FILES)
        assert self._content(name) == self._whole, name

    def _run(
        self, command: Command, status: int = 0, before: Callable[[], None] | None = None
    ) -> str:
        done = subprocess.run(
            list(map(str, command)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stderr


def _plain() -> Sequence[str]:
    return sys.executable, "-m", "bertviewer"


def _torchrun(*options: str) -> Sequence[str]:
    return sys.executable, "-m", "torch.distributed.run", *options, "-m", "bertviewer"


def _write_model(folder: Path) -> None:
    """Write a BERT of two layers, as of the tests."""
    from tests.conftest import write_tiny_bert

    folder.mkdir()
    write_tiny_bert(folder)


if __name__ == "__main__":
    sys.exit(main())
