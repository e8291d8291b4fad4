"""Build hook: compile the package's C module into the wheel if there is a C compiler."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

NAME = "bertviewer.core.statistics._sums"
SOURCE = Path(*NAME.split(".")).with_suffix(".c")
# GCC before 12 vectorizes at -O3 alone, and its -O3 unrolls the loop over the lanes and is slower.
# Without debug information, which holds this build's own folder, each build gives the same bytes.
ARGUMENTS = [] if sys.platform == "win32" else ["-O2", "-ftree-vectorize", "-g0"]


class CompilingHook(BuildHookInterface[Any]):
    """Adds the compiled module to the wheel, or puts it next to its source if that is editable.

    Without a compiler the wheel is pure Python: NumPy computes the same figures, more slowly.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for the running Python; ``version`` is "editable" for an editable wheel."""
        self._folder = TemporaryDirectory()
        target = Path(self.root, SOURCE.parent)
        try:
            if version == "editable":
                # A module of an older source would be imported if compiling fails.
                for older in target.glob(f"{SOURCE.stem}.*"):
                    if older.suffix in (".so", ".pyd"):
                        older.unlink()
            file = self._compile(Path(self._folder.name))
            if version == "editable":
                shutil.copy(file, target)
        except (BaseError, CCompilerError, OSError) as error:
            self.app.display_warning(f"built without C, which is only slower: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["force_include"][str(file)] = str(SOURCE.with_name(file.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the build folder; the wheel contains the module."""
        self._folder.cleanup()

    def _compile(self, folder: Path) -> Path:
        extension = Extension(NAME, [str(Path(self.root, SOURCE))], extra_compile_args=ARGUMENTS)
        command = build_ext(Distribution({"ext_modules": [extension]}))
        command.build_temp, command.build_lib = str(folder / "objects"), str(folder)
        command.ensure_finalized()
        command.run()
        return Path(command.get_ext_fullpath(NAME))
