"""Consent: without it nothing is read; with it once, and then from the cache."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bertviewer.app import ERROR, main
from bertviewer.core.checkpoints.finding import LINKS_OUTSIDE
from bertviewer.core.loading.opening import open_model
from bertviewer.core.pickles.consent import (
    consented_checkpoint,
    digest,
    review,
)
from bertviewer.core.pickles.converting import pickle_files
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from tests.core.pickles.allowing import allowed
from tests.core.pickles.bad_pickles import SYSTEM


class TestConsent:
    def test_without_it(self, folder: Path, cache: Path) -> None:
        source = parse_source(str(folder))
        with pytest.raises(UserError) as raised:
            consented_checkpoint(source, allowed=False)
        assert str(raised.value) == (
            f"{folder / 'pytorch_model.bin'} is a pickle, which can run code when it is loaded; "
            "confirm when opening it, or pass --allow-pickle, to read only its tensors, in a "
            f"separate process; {folder / 'config.json'} opens without them"
        )
        assert not cache.exists()

    def test_with_it_the_model_runs(self, folder: Path, tiny_bert_folder: Path) -> None:
        model = open_model(allowed(parse_source(str(folder))))
        assert model.architecture.source.weights == "pretrained"
        assert model.architecture.source.random_tensors == ()
        expected = load_file(tiny_bert_folder / "model.safetensors")
        found = dict(model.module(random_weights=False).named_parameters())
        assert set(found) == set(expected)
        assert all(torch.equal(found[name], expected[name]) for name in expected)

    def test_it_is_called_by_the_name_of_the_pickle(self, folder: Path) -> None:
        pickle = folder / "pytorch_model.bin"
        keys = open_model(allowed(parse_source(str(folder)))).load_report
        assert keys is not None
        assert keys.files == {pickle.name: pickle.stat().st_size}

    def test_so_are_several(self, folder: Path) -> None:
        tensors = torch.load(folder / "pytorch_model.bin")
        (folder / "pytorch_model.bin").unlink()
        weight_map: dict[str, str] = {}
        for number, names in enumerate((list(tensors)[:5], list(tensors)[5:])):
            # They are read in the order of the index, which need not be that of their names.
            name = f"pytorch_model-{2 - number}.bin"
            torch.save({key: tensors[key] for key in names}, folder / name)
            weight_map |= dict.fromkeys(names, name)
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
        checkpoint = consented_checkpoint(parse_source(str(folder)), allowed=True)
        assert [file.own.name for file in checkpoint.files] == [
            "pytorch_model-2.bin",
            "pytorch_model-1.bin",
        ]
        own = {file.path: file.own.name for file in checkpoint.files}
        assert {name: own[tensor.file] for name, tensor in checkpoint.tensors.items()} == weight_map

    def test_the_architecture_opens_without_it(self, folder: Path, cache: Path) -> None:
        model = open_model(parse_source(str(folder)))
        assert model.architecture.source.weights == "none"
        assert not cache.exists()
        with pytest.raises(UserError, match="is a pickle, which can run code"):
            model.module(random_weights=False)


class TestFiles:
    def test_a_folder_a_file_and_an_index(self, folder: Path) -> None:
        file = folder / "pytorch_model.bin"
        assert pickle_files(folder) == pickle_files(file) == (file,)
        shards = [folder / f"pytorch_model-{number}.bin" for number in (1, 2)]
        for shard in shards:
            shutil.copy(file, shard)
        file.unlink()
        index = folder / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": shards[0].name, "b": shards[1].name}}))
        assert pickle_files(folder) == pickle_files(index) == tuple(shards)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            (
                "../pytorch_model.bin",
                "bad index: '../pytorch_model.bin' is not the name of a file in the same folder",
            ),
            ("/etc/x.bin", "bad index: '/etc/x.bin' is not the name of a file in the same folder"),
            ("..\\x.bin", "bad index: '..\\\\x.bin' is not the name of a file in the same folder"),
            ("model.safetensors", "bad index: 'model.safetensors' is not a .bin file"),
            (3, "bad index: Expected `str`, got `int` - at `$.weight_map[...]`"),
            ("link.bin", LINKS_OUTSIDE),
            ("missing.bin", "No such file or directory"),
        ],
    )
    def test_an_index_that_leads_away(self, tmp_path: Path, name: object, said: str) -> None:
        inside = tmp_path / "model"
        inside.mkdir()
        (tmp_path / "pytorch_model.bin").write_bytes(b"x")
        (inside / "link.bin").symlink_to(tmp_path / "pytorch_model.bin")
        index = inside / "pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(UserError) as raised:
            pickle_files(index)
        assert str(raised.value).endswith(f": {said}")

    @pytest.mark.parametrize(
        "content", ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": 3}', "[" * 10**5]
    )
    def test_a_bad_index(self, tmp_path: Path, content: str) -> None:
        index = tmp_path / "pytorch_model.bin.index.json"
        index.write_text(content)
        with pytest.raises(UserError, match=r"index\.json: bad index: "):
            pickle_files(index)


def test_what_is_asked_about(folder: Path) -> None:
    found = review(folder)
    assert found.refusal == ""
    assert found.key == digest(pickle_files(folder))
    assert found.files[0].unsafe_globals == ()
    torch.save({"a": SYSTEM}, folder / "pytorch_model.bin")
    assert "refused: it asks for posix.system" in review(folder).refusal


class TestCommands:
    """The command line; the helper process is a real one."""

    def test_refused_and_allowed(
        self, folder: Path, capsys: pytest.CaptureFixture[str], cache: Path
    ) -> None:
        assert main(["summary", str(folder)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        (line,) = said.err.splitlines()
        assert line.startswith(f"{ERROR}{folder / 'pytorch_model.bin'} is a pickle")
        assert not cache.exists()
        assert main(["summary", str(folder), "--allow-pickle"]) == 0
        assert "pretrained weights" in capsys.readouterr().out.splitlines()[0]
        assert main(["run", str(folder), "a test", "--allow-pickle"]) == 0
        assert "encoder.layer.1.output" in capsys.readouterr().out

    def test_a_malicious_one(
        self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        marker = tmp_path / "marker"
        code = f"\x80\x02cposix\nsystem\nX{chr(len(str(marker)) + 6)}\0\0\0touch {marker}\x85R."
        file = folder / "pytorch_model.bin"
        file.write_bytes(code.encode("latin-1"))
        assert main(["summary", str(folder), "--allow-pickle"]) == 2
        assert capsys.readouterr().err == (
            f"{ERROR}{file}: refused: it asks for posix.system, which tensors never need\n"
        )
        assert not marker.exists()
