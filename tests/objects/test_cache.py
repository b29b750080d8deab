"""The cache directory: entries of other owners are never read, even if others may write there."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys

import pytest

from visakit import cache
from visakit import object_cache as objects

CODE = b"code that will be executed" * 10


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    objects.save("a", CODE)
    assert objects.load("a") == CODE
    return tmp_path / "cache"


def entry(base):
    return base / "objects" / "a.o"


def test_only_the_user_can_read_and_write(base):
    modes = {p.relative_to(base).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in [base, *base.rglob("*")]}
    assert modes == {".": 0o700, "key": 0o600, "objects": 0o700, "objects/a.o": 0o600}


def forge_contents(base):
    data = bytearray(entry(base).read_bytes())
    data[-1] ^= 1
    entry(base).write_bytes(data)


def forge_with_another_key(base):
    other = base.parent / "other"
    os.environ["VISAKIT_CACHE"] = str(other)
    objects.save("a", b"evil")
    os.environ["VISAKIT_CACHE"] = str(base)
    entry(base).write_bytes((other / "objects" / "a.o").read_bytes())


def forge_by_another_entry(base):
    objects.save("b", b"other")
    shutil.copy(base / "objects" / "b.o", entry(base))


def forge_by_another_folder(base):
    cache.write("grammar", "a.o", b"other")
    shutil.copy(base / "grammar" / "a.o", entry(base))


def link_it(base):
    entry(base).rename(base / "moved")
    entry(base).symlink_to(base / "moved")


def link_the_folder(base):
    (base / "objects").rename(base / "moved")
    (base / "objects").symlink_to("moved")


def make_fifo(base):
    entry(base).unlink()
    os.mkfifo(entry(base), 0o600)


def make_key_fifo(base):
    (base / "key").unlink()
    os.mkfifo(base / "key", 0o600)


def empty_the_key(base):
    (base / "key").write_bytes(b"")


def grow_without_end(base):
    os.truncate(entry(base), 1 << 40)


def open_to_all(name, mode):
    def change(base):
        (base / name).chmod(mode)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda base: entry(base).write_bytes(b""), lambda base: os.truncate(entry(base), 40), forge_contents, forge_with_another_key,
        forge_by_another_entry, forge_by_another_folder, link_it, link_the_folder, grow_without_end, make_fifo, make_key_fifo, empty_the_key,
        lambda base: (base / "key").unlink(), open_to_all("key", 0o644), open_to_all("objects", 0o777), open_to_all(".", 0o770),
        open_to_all("objects/a.o", 0o666),
    ],
)  # fmt: skip
def test_entries_that_others_may_write_are_not_read(base, change):
    change(base)
    assert objects.load("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["key", "objects", "objects/a.o", "."])
def test_entries_of_other_owners_are_not_read(base, name):
    os.chown(base / name, 12345, -1)
    assert objects.load("a") is None


def test_without_a_private_key_nothing_is_kept(base):
    (base / "key").chmod(0o644)
    objects.save("b", CODE)
    assert sorted(p.name for p in (base / "objects").iterdir()) == ["a.o"]
    (base / "key").unlink()
    objects.save("b", CODE)
    assert objects.load("b") == CODE and objects.load("a") is None


def test_the_code_of_an_entry_is_fast_to_load():
    program = (
        "import sys, visakit.cache\nprint('hashlib' in sys.modules, '_hashlib' in sys.modules, 'hmac' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_objects_that_were_not_used_for_longest_go_when_there_are_too_many(monkeypatch, tmp_path):
    """The size of all is looked at once in a while only."""
    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "LIMIT_BYTES", 200 * 132)
    monkeypatch.setattr(objects, "_LOOKS", "0")
    names = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(400)]
    looked, trim = [], objects._trim
    monkeypatch.setattr(objects, "_trim", lambda folder: looked.append(folder) or trim(folder))
    for hour, name in enumerate(names):
        objects.save(name, bytes(100))
        os.utime(tmp_path / "cache" / "objects" / f"{name}.o", (hour, hour))
    kept = [objects.load(name) is not None for name in names]
    assert 5 < len(looked) < 80 and all(kept[-100:]) and not any(kept[:100])
