"""The log of a served model, its file, and the thread that writes both: nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from concurrent.futures import wait
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.cli import models
from naively.cli.main import run
from naively.cli.options import update_spec
from naively.io.frames import to_arrow
from naively.serve import log, store
from naively.serve.log import Entry, Log, LogError
from naively.serve.state import Changer, RefusedError
from naively.serve.store import ReplacedError, Store, pending
from naively.serve.writer import Order, Writer, keyed, replayed
from naively.storage import model_files
from naively.storage.atomic import replacing
from naively.tables.encoding import encode_for

ROWS = [
    {"age": 20.5 + 3 * k % 41, "job": ["clerk", "boss", "cook"][k % 3], "rich": "ny"[k % 2]}
    for k in range(40)
]
MARK = bytes(range(16))


@pytest.fixture
def file(tmp_path):
    """A model file that `naively fit` wrote."""
    data, path = tmp_path / "rows.jsonl", tmp_path / "rich.model"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert run(["fit", str(data), "--target", "rich", "--naive", "-o", str(path)]) == 0
    return path


def writer_of(file):
    store = Store(file, models.load_table)
    return Writer(store, Changer(update_spec(store.saved, None)))


def order(rows, what="learn", key=""):
    return Order(what, to_arrow(rows), *keyed(key, json.dumps(rows).encode()))


def row(k, label="n"):
    return {"age": 30.0 + k, "job": "clerk", "rich": label}


def expected(changes):
    """The model after these changes, made one by one elsewhere."""
    model = NaiveBayes().fit(to_arrow(ROWS), "rich")
    for what, rows in changes:
        rows = [one for one in rows if "rich" in one]
        (model.partial_fit if what == "learn" else model.forget)(to_arrow(rows), "rich")
    return model.model_


def killed(writer):
    """What a process leaves that is killed: nothing is finished, the system closes its files."""
    writer.store.close()


@pytest.mark.skipif(os.name == "nt", reason="files have no modes")
def test_rows_that_were_sent_can_be_read_by_their_owner_alone(file):
    where = log.path_of(file)
    writer = writer_of(file)
    assert stat.S_IMODE(where.stat().st_mode) == 0o600
    killed(writer)
    where.chmod(0o644)  # as a log of old, or a restored one
    file.chmod(0o640)
    again = writer_of(file)
    assert stat.S_IMODE(where.stat().st_mode) == 0o600
    again.store.compact(again.state.model, again.state.number, again._keys())
    assert stat.S_IMODE(where.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o640  # as its owner had it
    killed(again)


@pytest.mark.skipif(os.name == "nt", reason="files have no modes")
def test_a_file_that_is_written_anew_is_never_open_to_more_people(tmp_path):
    path = tmp_path / "m.model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_bytes(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ---- the log -------------------------------------------------------------------------------------

ENTRIES = st.lists(
    st.builds(
        Entry,
        st.fixed_dictionaries({"what": st.sampled_from(["learn", "forget"]), "key": st.text()}),
        st.binary(max_size=50),
    ),
    max_size=3,
)


def written(path, frames):
    """The bytes of a log, and how many of them there were after each frame."""
    log.begin(path, MARK)
    own = Log(path, MARK, log.HEAD)
    sizes = [own.size]
    for entries in frames:
        own.append(entries)
        sizes.append(own.size)
    own.close()
    return path.read_bytes(), sizes


@settings(max_examples=15)
@given(frames=st.lists(ENTRIES, max_size=3), data=st.data())
def test_a_log_that_was_cut_says_what_came_before(tmp_path_factory, frames, data):
    path = tmp_path_factory.mktemp("log") / "m.log"
    whole, sizes = written(path, frames)
    assert log.read(path) == (MARK, [one for own in frames for one in own], len(whole))
    cut = data.draw(st.integers(log.HEAD, len(whole)))
    path.write_bytes(whole[:cut])
    before = sum(size <= cut for size in sizes) - 1
    _, found, size = log.read(path)
    assert (found, size) == ([one for own in frames[:before] for one in own], sizes[before])


@settings(max_examples=15)
@given(frames=st.lists(ENTRIES, min_size=1, max_size=4), data=st.data())
def test_a_log_with_a_changed_byte_says_no_other_entries(tmp_path_factory, frames, data):
    path = tmp_path_factory.mktemp("log") / "m.log"
    whole = bytearray(written(path, frames)[0])
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    try:
        mark, found, _ = log.read(path)
    except LogError:
        return
    every = [one for own in frames for one in own]
    last = len(every) - len(frames[-1])
    assert mark != MARK or found == every[:last]  # only the last frame may be taken for unfinished


def test_the_first_damaged_byte_is_counted_from_one(tmp_path):
    path = tmp_path / "m.log"
    whole = bytearray(written(path, [[Entry({}, b"rows")]] * 2)[0])
    whole[log.HEAD] ^= 1
    path.write_bytes(whole)
    with pytest.raises(LogError, match=f"damaged at byte {log.HEAD + 1},"):
        log.read(path)


def test_what_is_no_log_is_refused(tmp_path):
    path = tmp_path / "m.log"
    for content in (b"", b"naively log 1\n", b"PK\3\4" * 20):
        path.write_bytes(content)
        with pytest.raises(LogError, match="is not a log"):
            log.read(path)


# ---- the writer ----------------------------------------------------------------------------------


def test_the_model_is_the_one_that_learned_the_same_elsewhere(file):
    writer = writer_of(file)
    changes = [("learn", [row(k)]) for k in range(5)]
    changes += [("learn", [row(7, "y"), {"job": "cook"}]), ("forget", [row(2)])]
    done = [writer.submit(order(rows, what)) for what, rows in changes]
    numbers = [one.result(30).number for one in done]
    assert numbers == sorted(numbers)
    assert numbers[-1] == writer.state.number == len(changes)
    assert done[5].result().unlabelled == 1
    assert writer.state.model == expected(changes)
    writer.stop()
    assert model_files.load(file).model == expected(changes)
    assert not log.path_of(file).exists()
    again = writer_of(file)
    assert again.state.number == len(changes)
    again.stop()


def test_what_cannot_be_learned_is_refused_and_changes_nothing(file):
    writer = writer_of(file)
    before = writer.state
    bad = [
        (order([{"job": "pilot", "rich": "n"}], "forget"), 409),  # never learned
        (order([{"age": 3.0}]), 422),  # no label
        (order([row(99)] * 50, "forget"), 409),
    ]
    good = order([row(1)])
    done = [writer.submit(one) for one, _ in bad] + [writer.submit(good)]
    wait(done, 30)
    for future, (_, status) in zip(done, bad, strict=False):
        assert isinstance(future.exception(), RefusedError)
        assert future.exception().status == status
    assert done[-1].result().number == writer.state.number == before.number + 1
    assert writer.state.model == expected([("learn", [row(1)])])
    assert len(log.read(log.path_of(file))[1]) == 1
    writer.stop()


def test_a_killed_writer_goes_on_where_it_was(file):
    changes = []
    for k in range(4):
        writer = writer_of(file)
        assert writer.state.number == len(changes)
        assert writer.state.model == expected(changes)
        own = [("learn", [row(k), row(k, "y")]), ("learn", [row(10 + k)]), ("forget", [row(k)])]
        for what, rows in own:
            writer.submit(order(rows, what)).result(30)
        changes += own
        killed(writer)
        with log.path_of(file).open("ab") as end:
            end.write(log.read(log.path_of(file))[0] + b"torn"[: k % 3])
    writer = writer_of(file)
    assert writer.store.pending.dropped == 16
    assert writer.state.model == expected(changes)
    writer.stop()


def test_nothing_counts_twice_whenever_the_log_goes_into_the_file(file, tmp_path):
    """The states of the disk that a kill can leave, one after the other."""
    writer = writer_of(file)
    where = log.path_of(file)
    writer.submit(order([row(1)], key="one")).result(30)
    writer.submit(order([row(2, "y")])).result(30)
    old = file.read_bytes(), where.read_bytes()
    writer.store.compact(writer.state.model, writer.state.number, writer._keys())
    new = file.read_bytes(), where.read_bytes()
    killed(writer)
    changes = [("learn", [row(1)]), ("learn", [row(2, "y")])]
    for content, own in ((old[0], old[1]), (new[0], old[1]), (new[0], new[1]), (new[0], None)):
        file.write_bytes(content)
        where.unlink(missing_ok=True)
        if own is not None:
            where.write_bytes(own)
        saved = model_files.load(file)
        state = replayed(saved, pending(file, saved), changer := writer.changer)
        assert (state.number, state.model == expected(changes)) == (2, True)
        again = Writer(Store(file, models.load_table), changer)
        assert (again.state.number, again.state.model == expected(changes)) == (2, True)
        repeated = again.submit(order([row(1)], key="one")).result(30)
        assert repeated.repeated == (own is not None)
        again.stop()


def test_a_log_of_another_model_is_refused(file, tmp_path):
    writer = writer_of(file)
    writer.submit(order([row(1)])).result(30)
    killed(writer)
    other = tmp_path / "other.model"
    data = tmp_path / "rows.jsonl"
    assert run(["fit", str(data), "--target", "rich", "--naive", "-o", str(other)]) == 0
    shutil.copy(file, kept := tmp_path / "kept.model")
    other.replace(file)
    with pytest.raises(LogError, match="another model"):
        writer_of(file)
    kept.replace(file)
    again = writer_of(file)
    assert again.state.number == 1
    again.stop()


def test_parts_and_sums_of_a_served_model_have_no_log(file, tmp_path, capsys):
    writer = writer_of(file)
    writer.submit(order([row(1)])).result(30)
    killed(writer)
    assert model_files.SERVED in model_files.load(file).extra
    data, both, part = tmp_path / "rows.jsonl", tmp_path / "both.model", tmp_path / "part.model"
    capsys.readouterr()
    assert run(["merge", str(file), str(file), "-o", str(both)]) == 0
    assert "1 change of `naively serve` not in this file yet" in capsys.readouterr().err
    assert run(["fit", str(data), "--like", str(file), "-o", str(part)]) == 0
    for path in (both, part):
        assert model_files.SERVED not in model_files.load(path).extra


def test_a_file_with_changes_in_its_log_is_neither_changed_nor_verified(file, tmp_path, capsys):
    """The next start of the service would add them, after a receipt that rows are gone."""
    data, other, receipt = tmp_path / "rows.jsonl", tmp_path / "other.model", tmp_path / "r.json"
    gone = tmp_path / "gone.jsonl"
    gone.write_text(json.dumps(ROWS[0]) + "\n")
    receipted = ["forget", str(file), str(gone), "--receipt", str(receipt)]
    assert run([*receipted, "-o", str(other)]) == 0
    writer = writer_of(file)
    writer.submit(order([ROWS[0]])).result(30)
    killed(writer)
    content, where = file.read_bytes(), log.path_of(file)
    entire = where.read_bytes()
    mark = log.read(where)[0]
    incomplete = entire[: log.HEAD] + mark + b"the beginning of a frame"
    foreign = entire.replace(mark, MARK)  # as after a kill between the file and its new log
    for content_of_log in (entire, incomplete, foreign):
        where.write_bytes(content_of_log)
        for command in (
            ["forget", str(file), str(gone), "--receipt", str(tmp_path / "new.json")],
            ["forget", str(file), str(gone), "-o", str(tmp_path / "new.model")],
            ["update", str(file), str(gone)],
            ["verify", str(receipt), str(file)],
            ["merge", str(other), str(other), "-o", str(file)],
            ["fit", str(data), "--target", "rich", "--naive", "-o", str(file)],
        ):
            capsys.readouterr()
            assert run(command) == 1
            error = capsys.readouterr().err
            assert f"its log {where} has changes of `naively serve`" in error
            assert f"start `naively serve {file}`" in error
        assert file.read_bytes() == content
    assert not (tmp_path / "new.json").exists()
    assert not (tmp_path / "new.model").exists()
    where.write_bytes(entire)
    assert run(["inspect", str(file)]) == 0
    assert "before you forget, verify or update" in capsys.readouterr().err
    writer_of(file).stop()
    receipt.unlink()
    assert run(receipted) == 0
    assert run(["verify", str(receipt), str(file)]) == 0
    again = writer_of(file)
    assert again.state.model == model_files.load(file).model == expected([])
    assert again.state.number == 2  # one learned, and one forgotten by the command
    again.stop()
    where.write_text("a log of another program")
    assert run(["update", str(file), str(gone)]) == 0
    where.unlink()
    last = writer_of(file)
    assert last.state.number == 3
    last.stop()


def test_one_program_writes_at_a_time(file):
    writer = writer_of(file)
    with pytest.raises(BlockingIOError):
        writer_of(file)
    writer.submit(order([row(1)])).result(30)
    writer.store.compact(writer.state.model, writer.state.number, ())
    with pytest.raises(BlockingIOError):  # the new file is locked as well
        writer_of(file)
    writer.stop()
    writer_of(file).stop()


def test_a_full_disk_refuses_and_loses_nothing(file, caplog):
    resource = pytest.importorskip("resource", reason="files cannot be kept small here")
    writer = writer_of(file)
    writer.submit(order([row(1)])).result(30)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = log.path_of(file).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        refused = writer.submit(order([row(2)])).exception(30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(refused, RefusedError)
    assert (refused.status, writer.state.number) == (503, 1)
    problem = "the disk does not take changes: File too large"
    assert refused.message == problem
    assert caplog.messages == [f"{log.path_of(file)}: {problem}"]
    assert log.path_of(file).stat().st_size == size
    writer.submit(order([row(3)])).result(30)
    killed(writer)
    again = writer_of(file)
    assert again.state.model == expected([("learn", [row(1)]), ("learn", [row(3)])])
    again.stop()


def test_a_request_with_a_key_is_done_once(file):
    writer = writer_of(file)
    same = [writer.submit(order([row(1)], key="k")) for _ in range(5)]
    other = writer.submit(order([row(2)], key="k"))
    assert sorted(one.result(30).repeated for one in same) == [False] + [True] * 4
    assert other.exception(30).status == 422
    killed(writer)
    writer = writer_of(file)  # the key is known from the log, and later on from the next one
    assert writer.submit(order([row(1)], key="k")).result(30).repeated
    writer.submit(order([row(3)], key="l")).result(30)
    writer.stop()
    writer = writer_of(file)
    assert writer.submit(order([row(3)], key="l")).result(30) == (2, 1, 0, [], True)
    assert writer.state.model == expected([("learn", [row(1)]), ("learn", [row(3)])])
    writer.stop()


def test_every_answer_is_of_one_state(file):
    """Readers on three threads, while rows are learned: what they are told and of which state."""
    probe = to_arrow([{"age": 33.0, "job": "boss"}, {"age": 50.0, "job": "cook"}])
    rows = [row(k % 9, "ny"[k % 5 == 0]) for k in range(30)]
    truth = [expected([("learn", rows[:n])] * (n > 0)).posterior() for n in range(len(rows) + 1)]
    writer = writer_of(file)
    found, going = [], True

    def reader():
        while going:
            state = writer.state
            found.append((state.number, state.answer(probe)[0].proba))

    readers = [threading.Thread(target=reader) for _ in range(3)]
    for one in readers:
        one.start()
    for one in rows:
        told = writer.submit(order([one])).result(30)
        assert writer.state.number >= told.number
    going = False
    for one in readers:
        one.join()
    writer.stop()
    assert len({number for number, _ in found}) > 3
    for number, proba in found:
        rows = encode_for(truth[number], probe)[0]  # the type of a column may change, too
        np.testing.assert_array_equal(proba, truth[number].proba(rows))


def test_a_log_of_many_changes_goes_into_the_file(file, monkeypatch):
    monkeypatch.setattr(store, "MANY", 10)
    writer = writer_of(file)
    changes = [("learn", [row(k % 7)]) for k in range(25)]
    for what, rows in changes:
        writer.submit(order(rows, what)).result(30)
    saved = model_files.load(file)
    assert len(ROWS) + 10 <= saved.model.rows < len(ROWS) + 25 <= writer.state.model.rows
    killed(writer)
    again = writer_of(file)
    assert (again.state.number, again.state.model == expected(changes)) == (25, True)
    again.stop()


def test_a_link_to_a_model_has_the_log_of_the_model(file, tmp_path):
    (link := tmp_path / "link.model").symlink_to(file)
    writer = writer_of(link)
    writer.submit(order([row(1)])).result(30)
    assert log.path_of(file).exists()
    killed(writer)
    again = writer_of(file)
    assert again.state.number == 1
    again.stop()
    assert link.is_symlink()


def test_rows_in_the_log_are_the_rows_that_were_sent(file):
    writer = writer_of(file)
    table = pa.table(
        {"age": pa.array([1, None], pa.int8()), "rich": ["n", "y"], "job": ["a", None]}
    )
    writer.submit(Order("learn", table)).result(30)
    (entry,) = log.read(log.path_of(file))[1]
    assert pa.ipc.open_stream(entry.rows).read_all().equals(table)
    writer.stop()


# ---- what stays, and what is somebody else's -----------------------------------------------------


def test_forgotten_rows_are_not_in_the_log(file):
    """Nor before they are acknowledged: the log goes into the file first."""
    writer = writer_of(file)
    writer.submit(order([row(1), row(77)], key="learned")).result(30)
    where = log.path_of(file)
    assert b"clerk" in where.read_bytes()
    writer.submit(order([row(77)], "forget", key="forgotten")).result(30)
    entries = log.read(where)[1]
    assert [entry.rows for entry in entries] == [b"", b""]  # the keys of requests alone
    assert b"clerk" not in where.read_bytes()
    assert writer.state.model == model_files.load(file).model == expected([("learn", [row(1)])])
    killed(writer)
    again = writer_of(file)
    assert again.state.number == 2
    assert again.submit(order([row(77)], "forget", key="forgotten")).result(30).repeated
    again.stop()


def test_a_guess_of_rows_cannot_be_compared_with_the_log(file):
    """Unless one knows the key that the client gave."""
    body, key = b'{"rows": [{"age": 30.0}]}', "6f1e2c0a-8a52-4c2e-9d7c-0d4d9b3b6c11"
    name, digest = keyed(key, body)
    assert keyed(key, body) == (name, digest)
    assert keyed(key, body + b" ")[0] == name
    assert keyed(key, body + b" ")[1] != digest
    assert keyed("other", body)[1] != digest
    assert keyed("", body) == ("", "")
    writer = writer_of(file)
    writer.submit(Order("learn", to_arrow([row(1)]), name, digest)).result(30)
    content = log.path_of(file).read_bytes()
    assert digest.encode() in content
    assert key.encode() not in content
    for size in (16, 32, 64):
        assert blake2b(body, digest_size=size).hexdigest().encode() not in content
    writer.stop()


@pytest.mark.parametrize("rename", [True, False])
def test_a_file_that_took_the_place_of_the_model_stays(file, tmp_path, rename):
    writer = writer_of(file)
    writer.submit(order([row(1)])).result(30)
    other = tmp_path / "other.model"
    shutil.copy(file, other)
    model_files.save(model_files.Saved(expected([("learn", [row(9)] * 3)])), other)
    content = other.read_bytes()
    if rename:
        other.replace(file)
    else:  # as cp, which writes into the file that is there
        file.write_bytes(content)
    file.chmod(0o640)
    with pytest.raises(ReplacedError, match="was replaced while it was served, and is left"):
        writer.stop()
    assert file.read_bytes() == content
    beside = file.with_name("rich.model.served")
    assert model_files.load(beside).model == expected([("learn", [row(1)])])
    assert beside.stat().st_mode & 0o777 == 0o640
    assert not log.path_of(file).exists()
    assert not log.path_of(beside).exists()
    again = writer_of(beside)  # that goes on
    assert again.state.number == 1
    again.stop()
    writer_of(file).stop()


def test_a_replaced_model_goes_on_beside_its_file(file, caplog):
    """Also what is learned later, and when the file is replaced again."""
    writer = writer_of(file)
    for k, path in enumerate((file, file.with_name("rich.model.served"))):
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
        writer.submit(order([row(k)])).result(30)
        assert caplog.text.count("is left as it is") == k + 1
        writer.submit(order([row(k)])).result(30)
    with pytest.raises(ReplacedError, match=r"goes into .*rich\.model\.served\.served"):
        writer.stop()
    last = file.with_name("rich.model.served.served")
    twice = [("learn", [row(k)]) for k in (0, 0, 1, 1)]
    assert model_files.load(last).model == expected(twice)
    assert not any("log" in one.name for one in file.parent.iterdir())


def test_a_model_that_cannot_be_written_at_the_end_is_in_the_log(file):
    writer = writer_of(file)
    writer.submit(order([row(1)])).result(30)
    folder = file.parent
    folder.rename(moved := folder.with_name("moved"))
    with pytest.raises(OSError, match="No such file"):
        writer.stop()
    again = writer_of(moved / file.name)
    assert again.state.model == expected([("learn", [row(1)])])
    again.stop()
    moved.rename(folder)


def test_rows_without_a_label_that_were_never_learned_are_not_forgotten(file):
    writer = writer_of(file)
    bare = {"age": 30.0, "job": "clerk"}
    for rows in ([bare], [row(0) | {"rich": None}, bare]):
        refused = writer.submit(order([*rows, row(1)], "forget")).exception(30)
        assert refused.status == 409
        assert refused.message.startswith("row 1: ")
        assert "1 row without a label" in refused.message
    learned = writer.submit(order([row(1), bare])).result(30)
    assert learned.warnings == ["row 2 has no label: skipped"]
    found = writer.submit(order([bare, row(1)], "forget")).result(30)
    assert (found.rows, found.unlabelled) == (1, 1)
    assert writer.submit(order([bare, row(1)], "forget")).exception(30).status == 409
    assert writer.state.model == expected([])
    writer.stop()
