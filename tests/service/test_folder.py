"""The data folder: private, locked, with secrets that stay."""

import stat
from pathlib import Path

import pytest

from runlane.contract.errors import Unavailable
from runlane.service.embedded.folder import DataFolder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_secrets_stay_and_are_private(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "data") as folder:
        first = folder.secrets()
    with DataFolder(tmp_path / "data") as folder:
        second = folder.secrets()

    assert first == second
    assert len({*first.model_dump().values()}) == 5
    assert mode(tmp_path / "data") == 0o700
    assert mode(tmp_path / "data" / "secrets.json") == 0o600
    assert first.host_key not in repr(first)


def test_two_stacks_cannot_share_a_folder(tmp_path: Path) -> None:
    with DataFolder(tmp_path), pytest.raises(Unavailable) as caught, DataFolder(tmp_path):
        pass

    assert caught.value.code == "data_folder_in_use"


def test_a_folder_that_cannot_be_made_is_a_typed_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Unavailable) as caught, DataFolder(tmp_path / "file" / "data"):
        pass

    assert caught.value.code == "data_folder"


def test_damaged_secrets_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text("{")

    with DataFolder(tmp_path) as folder, pytest.raises(Unavailable):
        folder.secrets()

    assert (tmp_path / "secrets.json").read_text() == "{"


def test_the_connection_file_goes_when_the_stack_ends(tmp_path: Path) -> None:
    with DataFolder(tmp_path) as folder:
        folder.connection_file.write_text("{}")

    assert not (tmp_path / "connection.json").exists()
