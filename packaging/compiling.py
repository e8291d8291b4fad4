"""Compiles the package's C modules while a wheel is built, where there is a C compiler."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

NAMES = ("bertviewer.core.schema._row_sums", "bertviewer.core.corpus._sums")
# GCC before 12 vectorizes at -O3 alone, and its -O3 unrolls the loop over the lanes and is slower.
# Without debug information, which holds this build's own folder, each build gives the same bytes.
ARGUMENTS = [] if sys.platform == "win32" else ["-O2", "-ftree-vectorize", "-g0"]


class CompilingHook(BuildHookInterface[Any]):
    """Puts the compiled modules into the wheel; of an editable one, beside its source.

    Without them the same figures are taken in several passes, so a machine without a compiler gets
    a wheel too.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for the running Python; ``version`` is "editable" for an editable wheel."""
        self._folder = TemporaryDirectory()
        try:
            if version == "editable":
                # One of an older source would be used as long as no other takes its place.
                for source in map(_source, NAMES):
                    for older in Path(self.root, source.parent).glob(f"{source.stem}.*"):
                        if older.suffix in (".so", ".pyd"):
                            older.unlink()
            compiled = self._compiled(Path(self._folder.name))
            if version == "editable":
                for source, file in compiled.items():
                    shutil.copy(file, Path(self.root, source.parent))
        except (BaseError, CCompilerError, OSError) as error:
            self.app.display_warning(f"built without C, which is only slower: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            for source, file in compiled.items():
                build_data["force_include"][str(file)] = str(source.with_name(file.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled: the wheel has it."""
        self._folder.cleanup()

    def _compiled(self, folder: Path) -> dict[Path, Path]:
        """Return what was compiled by its source."""
        extensions = [
            Extension(name, [str(Path(self.root, _source(name)))], extra_compile_args=ARGUMENTS)
            for name in NAMES
        ]
        command = build_ext(Distribution({"ext_modules": extensions}))
        command.build_temp, command.build_lib = str(folder / "objects"), str(folder)
        command.ensure_finalized()
        command.run()
        return {_source(name): Path(command.get_ext_fullpath(name)) for name in NAMES}


def _source(name: str) -> Path:
    return Path(*name.split(".")).with_suffix(".c")
