"""``python -m tests.corpus``: corpora made by real processes, which are killed and interrupted.

torchrun with 1, 2 and 3 processes and with two agents as on two machines, ten times SIGKILL, a
limit on the size of files, and Ctrl+C. All have to end with the bytes of one undisturbed process.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import TINY_WORDS, write_tiny_bert

SENTENCES = 1000
KILLS = 10
LIMIT = 20_000
"""Bytes of the largest file, while the disk is full."""
FILES = ("manifest.json", "statistics.parquet", "features.safetensors")
PLAIN = (sys.executable, "-m", "bertviewer")


def main() -> int:
    """Run all trials; the exit status is 0 if all of them succeed."""
    with tempfile.TemporaryDirectory(prefix="corpus-trials-") as place:
        trials = Trials(Path(place))
        for trial in (
            trials.processes,
            trials.two_agents,
            trials.kills,
            trials.full_disk,
            trials.interrupted,
        ):
            print(f"{trial.__name__}: {trial()}", flush=True)  # noqa: T201
    return 0


class Trials:
    """Makes one corpus in many ways, and compares it with that of one undisturbed process."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._model, self._data = place / "model", place / "lines.txt"
        self._model.mkdir()
        write_tiny_bert(self._model)
        chance = random.Random(5)
        lines = (
            " ".join(chance.choice(TINY_WORDS) for _ in range(chance.randint(1, 40)))
            for _ in range(SENTENCES)
        )
        self._data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._finish("whole")
        self._whole = self._content("whole")

    def processes(self) -> str:
        """Run torchrun with 1, 2 and 3 processes; 7 shards are not divisible by 2 or 3."""
        for count in (1, 2, 3):
            name = f"processes-{count}"
            launcher = _torchrun("--standalone", f"--nproc-per-node={count}")
            self._finish(name, launcher)
            self._check(name)
        return "1, 2 and 3 processes of torchrun give the same bytes"

    def two_agents(self) -> str:
        """Run two agents of torchrun, as on two machines that share a folder."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        agents = [
            self._start(
                "agents",
                _torchrun(
                    *("--nnodes=2", f"--node-rank={rank}", "--nproc-per-node=1"),
                    *("--master-addr=127.0.0.1", f"--master-port={port}"),
                ),
            )
            for rank in range(2)
        ]
        ends = [(agent.communicate(timeout=600)[1], agent.returncode) for agent in agents]
        assert [code for _, code in ends] == [0, 0], ends
        self._check("agents")
        return "two agents on loopback give the same bytes"

    def kills(self) -> str:
        """Kill the process at random moments, then finish the run."""
        chance, counts = random.Random(), list[int]()
        while len(counts) < KILLS:
            before = self._shards("kills")
            process = self._start("kills", start_new_session=True)
            if len(counts) % 3:
                # Among the shards: a little after the next one is written.
                while process.poll() is None and self._shards("kills") <= before:
                    time.sleep(0.005)
                time.sleep(chance.random() * 0.1)
            else:
                time.sleep(chance.random() * 6)
            if process.poll() is not None:
                shutil.rmtree(self._place / "kills")  # it had finished; start again
                continue
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            counts.append(self._shards("kills"))
        self._finish("kills")
        self._check("kills")
        return f"killed with {counts} shards; then the same bytes"

    def full_disk(self) -> str:
        """Limit the size of files, then finish the run."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

        process = self._start("full", preexec_fn=limit)
        (line,) = process.communicate(timeout=600)[1].splitlines()
        assert process.returncode == 2
        assert line.endswith("File too large"), line
        self._finish("full")
        self._check("full")
        return str(line)

    def interrupted(self) -> str:
        """Press Ctrl+C once a shard is written, then finish the run."""
        process = self._start("interrupted")
        while not self._shards("interrupted"):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        errors = process.communicate(timeout=60)[1]
        seconds = time.monotonic() - start
        assert (process.returncode, errors) == (2, "bertviewer: error: interrupted\n"), errors
        self._finish("interrupted")
        self._check("interrupted")
        return f"ended in {seconds:.1f} s with one line; then the same bytes"

    def _start(
        self,
        name: str,
        launcher: tuple[str, ...] = PLAIN,
        *,
        start_new_session: bool = False,
        preexec_fn: Callable[[], None] | None = None,
    ) -> "subprocess.Popen[Any]":
        arguments = ("corpus", self._model, self._data, "--shards", "7", "-o", self._place / name)
        return subprocess.Popen(
            [*launcher, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=start_new_session,
            preexec_fn=preexec_fn,  # noqa: PLW1509
        )

    def _finish(self, name: str, launcher: tuple[str, ...] = PLAIN) -> None:
        process = self._start(name, launcher)
        errors = process.communicate(timeout=600)[1]
        assert process.returncode == 0, errors

    def _shards(self, name: str) -> int:
        return len(list((self._place / name / "shards").glob("*.shard")))

    def _content(self, name: str) -> list[bytes]:
        found = [(self._place / name / file).read_bytes() for file in FILES]
        return [found[0].replace(f"-o {name}".encode(), b""), *found[1:]]

    def _check(self, name: str) -> None:
        assert sorted(file.name for file in (self._place / name).iterdir()) == sorted(FILES)
        assert self._content(name) == self._whole, name


def _torchrun(*options: str) -> tuple[str, ...]:
    return sys.executable, "-m", "torch.distributed.run", *options, "-m", "bertviewer"


if __name__ == "__main__":
    sys.exit(main())
