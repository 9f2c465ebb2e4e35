import os

import pytest

from moonlynx.judge.files.atomic import written_whole


def test_a_file_stands_there_once_it_is_written(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("before")
    with written_whole(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_finished_does_not_take_the_name(tmp_path):
    path = tmp_path / "run.json"

    def killed():
        with written_whole(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed()
    assert not path.exists()
    assert [left.suffix for left in tmp_path.iterdir()] == [".part"]


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with written_whole(pipe) as draft:
        draft.write_text("text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
