"""``python -m tests.bounds FILE``: does deriving formulas stay within its limits?

Each model type of transformers is opened with its default configuration and derived in a process
of its own, then 200 configurations with one huge number. A line of JSON for each goes to FILE;
what FILE has already is not done again, so that it can be filled in slices. The exit status is 1
if a limit was exceeded; a model of which something was left out because of a limit is listed.
"""

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from bertviewer.core.building.backend import transformers
from bertviewer.core.loading import loaded_model
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util import libraries
from bertviewer.core.util.budget import MEMORY, SECONDS, Budget
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.memory import resident_memory
from bertviewer.core.util.serialization import encode_floats

HUGE = (60_000, 1_000_000, 50_000_000, 10**12)
ADDRESS_SPACE = 5_000_000_000
"""Beyond what is imported: torch reserves more than it uses."""
PATIENCE = 150
"""Seconds until a process is ended."""
SLACK_SECONDS = 5.0
SLACK_MEMORY = 300_000_000


def defaults() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every model type with its default configuration."""
    for name in transformers.CONFIG_MAPPING:
        try:
            config = transformers.CONFIG_MAPPING[name]().to_dict()
        except Exception:  # noqa: BLE001 - transformers refuses a default of its own
            continue
        yield name, {**json.loads(json.dumps(config, default=str)), "model_type": name}


def huge(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield configurations with one huge number, always the same ones."""
    chosen = random.Random(0)
    known = dict(defaults())
    for _ in range(count):
        name = chosen.choice(sorted(known))
        config = json.loads(json.dumps(known[name]))
        places = list(_numbers(config, ""))
        if places:
            path, table, key = chosen.choice(places)
            table[key] = chosen.choice(HUGE)
            yield f"{name} {path}={table[key]}", config


def _numbers(value: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        if isinstance(inner, int) and not isinstance(inner, bool):
            yield f"{path}.{key}", value, key
        else:
            yield from _numbers(inner, f"{path}.{key}")


def derive(config: dict[str, Any], slow: float) -> dict[str, Any]:
    """Derive a configuration's model in this process, and return what became of it."""
    base, start, spent = resident_memory() or 0, time.monotonic(), time.process_time()
    if slow > 1:
        setattr(loaded_model, "Budget", lambda: Budget(slow * SECONDS))  # noqa: B010
    peak, silent, heard = base, 0.0, start
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.01):
            peak = max(peak, resident_memory() or 0)

    def progress(done: int, total: int, label: str) -> None:
        nonlocal silent, heard
        now = time.monotonic()
        silent, heard = max(silent, now - heard), now

    found: dict[str, Any] = {}
    threading.Thread(target=watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.json")
        file.write_text(json.dumps(encode_floats(config)), encoding="utf-8")
        try:
            architecture = open_model(parse_source(str(file)), progress).with_formulas(progress)
        except UserError as error:
            found["refused"] = str(error).replace(folder, "")
        except Exception as error:  # noqa: BLE001 - any kind of error is a finding
            found["error"] = f"{type(error).__name__}: {error}"[:300]
        else:
            flows = architecture.flows
            assert flows is not None
            assert architecture.costs is not None
            found["reasons"] = [
                *architecture.source.notices,
                architecture.costs.reason,
                flows.missing.get("", ""),
            ]
    ended.set()
    return found | {
        "seconds": round(time.monotonic() - start, 1),
        "cpu": round(time.process_time() - spent, 1),
        "gigabytes": round((peak - base) / 1e9, 2),
        "silent": round(silent, 2),
    }


def in_a_process(config: dict[str, Any], slow: float) -> dict[str, Any]:
    """Derive in a separate process, which has the libraries already."""
    reading, writing = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = size * os.sysconf("SC_PAGE_SIZE") + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with os.fdopen(writing, "w") as file:
            json.dump(derive(config, slow), file)
        os._exit(0)
    os.close(writing)
    ending = threading.Timer(slow * PATIENCE, os.kill, (child, signal.SIGKILL))
    ending.start()
    with os.fdopen(reading) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    ending.cancel()
    if text:
        found: dict[str, Any] = json.loads(text)
        return found
    return {"error": f"ended with status {status}", "seconds": round(time.monotonic() - start, 1)}


def is_over(row: dict[str, Any]) -> bool:
    """Return whether a model exceeded a limit, or failed."""
    return (
        "error" in row
        or min(row["seconds"], row["cpu"]) > SECONDS + SLACK_SECONDS
        or row["gigabytes"] * 1e9 > MEMORY + SLACK_MEMORY
    )


def is_cut(row: dict[str, Any]) -> bool:
    """Return whether something was left out because of a limit."""
    return any("limit" in reason for reason in row.get("reasons", ()))


def main(arguments: list[str] | None = None) -> int:
    """Derive all, or those whose names are given."""
    parser = argparse.ArgumentParser(prog="python -m tests.bounds", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", help="model types to do first")
    parser.add_argument("--only", action="store_true", help="do no others")
    parser.add_argument(
        "--slow",
        type=float,
        default=1.0,
        help="how many times slower this machine is than an idle one; limits are of CPU time then",
    )
    parser.add_argument("--huge", type=int, default=200, help="configurations with a huge number")
    options = parser.parse_args(arguments)
    os.environ["BERTVIEWER_NO_CACHE"] = "1"
    torch.set_num_threads(1)
    libraries.load()
    rows: dict[str, dict[str, Any]] = {}
    if options.file.exists():
        lines = options.file.read_text(encoding="utf-8").splitlines()
        rows = {row["name"]: row for row in map(json.loads, lines)}
    known = dict(defaults())
    waiting = [(name, known[name]) for name in options.names]
    if not options.only:
        waiting += [*huge(options.huge), *known.items()]
    for name, config in waiting:
        if name not in rows:
            rows[name] = {"name": name, **in_a_process(config, options.slow)}
            with options.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[name]) + "\n")
            sys.stdout.write(f"{_text(rows[name])}\n")
            sys.stdout.flush()
    over = [row for row in rows.values() if is_over(row)]
    cut = [row for row in rows.values() if is_cut(row)]
    for title, found in (("Over a limit:", over), ("Cut at a limit:", cut)):
        sys.stdout.write("\n".join((title, *map(_text, found), "")))
    return int(bool(over))


def _text(row: dict[str, Any]) -> str:
    mark = "OVER" if is_over(row) else "cut" if is_cut(row) else "ok"
    said = row.get("error") or row.get("refused") or "; ".join(filter(None, row["reasons"]))
    figures = (
        f"{row['seconds']:6.1f} s {row.get('cpu', 0):5.1f} s CPU {row.get('gigabytes', 0):5.2f} GB"
    )
    return f"{mark:4} {figures} {row.get('silent', 0):5.2f} s silent  {row['name']}: {said[:200]}"


if __name__ == "__main__":
    sys.exit(main())
