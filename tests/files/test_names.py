"""Symbolic links are followed and stay; directories, loops and impossible names are errors that leave nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.files import check_writable, write_atomically

WRITERS = [lambda name: write_atomically(name, "new"), check_writable]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target, link = tmp_path / "dotfiles" / "profiles.toml", tmp_path / "profiles.toml"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (target.read_text(encoding="utf-8"), names(target.parent)) == ("new", ["profiles.toml"])


@pytest.mark.parametrize("exists", [True, False])
def test_relative_links_of_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("links", "data"):
        Path(folder).mkdir()
    Path("folder").symlink_to("data")
    if exists:
        Path("data/lag.prom").write_text("old")
    Path("links/second").symlink_to("../folder/lag.prom")
    Path("links/first").symlink_to("second")
    check_writable("links/first")
    write_atomically("links/first", "new")
    assert Path("data/lag.prom").read_text() == "new"
    assert [str(Path("links", name).readlink()) for name in ("first", "second")] == ["second", "../folder/lag.prom"]
    assert (names(Path("data")), names(Path("links"))) == (["lag.prom"], ["first", "second"])


@pytest.mark.parametrize("write", WRITERS)
def test_a_loop_of_links_is_an_error(tmp_path: Path, write: Callable[[str], None]) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write(str(tmp_path / "a"))
    assert (names(tmp_path), (tmp_path / "a").is_symlink()) == (["a", "b"], True)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("", errno.ENOENT),
        (".", errno.EISDIR),
        ("..", errno.EISDIR),
        ("folder", errno.EISDIR),
        ("folder/", errno.EISDIR),
        ("link", errno.EISDIR),
        ("new/", errno.EISDIR),
        ("new/.", errno.EISDIR),
        ("file/", errno.EISDIR),
        ("file/below", errno.ENOTDIR),
        ("missing/new", errno.ENOENT),
        ("dangling", errno.ENOENT),
        ("x" * 256, errno.ENAMETOOLONG),
        ("~/new", errno.ENOENT),
    ],
)
def test_a_name_that_cannot_be_a_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[str], None], name: str, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("old")
    Path("link").symlink_to("folder")
    Path("dangling").symlink_to("missing/target")
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as raised:
        write(name)
    assert raised.value.errno == number
    assert names(tmp_path) == ["dangling", "file", "folder", "link"]
    assert (Path("file").read_text(), names(Path("folder"))) == ("old", [])


@pytest.mark.parametrize("name", ["x" * 255, "x" * 250 + ".json", "ä" * 127])
def test_the_longest_names_can_be_written_and_replaced(tmp_path: Path, name: str) -> None:
    for content in ("first", "second"):
        write_atomically(tmp_path / name, content)
        assert ((tmp_path / name).read_text(), names(tmp_path)) == (content, [name])


@pytest.mark.parametrize("name", ["two words", "-", "#1 50%", "new\nline", os.fsdecode(b"latin-\xe9"), "-n.draft"])
def test_unusual_names_are_names(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, "new")
    assert (names(tmp_path), (tmp_path / name).read_text()) == ([name], "new")
