"""Event files to series, with files that real writers wrote."""

import os
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from grader.evidence.eventlog import read_event_log


def write(folder: Path, writer_class: type = SummaryWriter) -> None:
    with writer_class(str(folder)) as writer:
        for step in range(3):
            writer.add_scalar("Loss/train", 2.0 / (step + 1), step)
        writer.add_scalar("Accuracy/validation", float("nan"), 1)


def test_scalars_come_back_in_order(tmp_path: Path) -> None:
    write(tmp_path)
    log = read_event_log(tmp_path)
    assert (0, 1, 2) == log.series["Loss/train"].steps
    assert pytest.approx((2.0, 1.0, 2 / 3)) == log.series["Loss/train"].values
    assert log.series["Accuracy/validation"].values[0] != log.series["Accuracy/validation"].values[0]
    assert 1 == len(log.files)
    assert () == log.trouble


def test_tensorboardx_files_are_read_as_well(tmp_path: Path) -> None:
    tensorboard_x = pytest.importorskip("tensorboardX", reason="tensorboardX is a dependency; without it there is nothing to read")
    write(tmp_path, tensorboard_x.SummaryWriter)
    assert (0, 1, 2) == read_event_log(tmp_path).series["Loss/train"].steps


def test_the_new_style_of_scalars_is_read(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("Loss/train", 0.25, 7, new_style=True)
    assert (0.25,) == read_event_log(tmp_path).series["Loss/train"].values


def test_scalars_of_subdirectories_keep_apart(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("Loss", {"train": 1.0}, 0)
    assert ["Loss_train:Loss"] == list(read_event_log(tmp_path).series)


def test_no_directory_is_an_empty_log(tmp_path: Path) -> None:
    log = read_event_log(tmp_path / "deleted")
    assert ((), {}, ()) == (log.files, log.series, log.trouble)


def test_a_truncated_file_is_trouble_and_keeps_what_came_before(tmp_path: Path) -> None:
    write(tmp_path)
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:-7])
    log = read_event_log(tmp_path)
    assert 3 == len(log.series["Loss/train"].values)


def test_rubbish_is_trouble(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.0.x").write_bytes(b"this is not an event file, whatever its name says")
    assert "holds no event" in read_event_log(tmp_path).trouble[0]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need a privilege on Windows")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "events.out.tfevents.1").symlink_to(next((tmp_path / "elsewhere").iterdir()))
    log = read_event_log(tmp_path / "logs")
    assert "not a regular file" in log.trouble[0]
    assert {} == log.series
