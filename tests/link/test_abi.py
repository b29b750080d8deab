"""Separately compiled programs, function pointers, libraries, constant data, printf: as the compiler emits them, on every device that has them."""

import numpy as np
import pytest
from support.programs import SHARED, needs_corpus
from support.strategies import ENGINES, rotated

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink.archive import archive_bytes
from vlink.linker import Linker, LinkOptions
from vsim.launch.launch import LocalArgument
from vsim.program import Program

EVIDENCE = SHARED / "abi" / "evidence"
DEVICES = ("skl", "tgllp", "dg2", "pvc")


def program(device, *names, archive=None, **options):
    """The programs of some folders linked together; those named in ``archive`` through an archive."""
    linker = Linker(LinkOptions(platform=device, **options))
    for name in names:
        folder = EVIDENCE / device / name
        if not folder.exists():
            pytest.skip(f"{name} does not exist for {device}")
        objects = {
            t.stem: assemble_text(t.read_text(), t.name, device).object_bytes()
            for t in sorted(folder.glob("*.visaasm"))
        }
        if archive is not None and name == archive[0]:
            path = archive[1]
            for stem, data in objects.items():
                (path / f"{stem}.o").write_bytes(data)
            members = [(str(o), o.read_bytes()) for o in sorted(path.glob("*.o"))]
            linker.add_bytes(archive_bytes(members), str(path / "lib.a"))
        else:
            for stem, data in objects.items():
                linker.add_bytes(data, f"{name}/{stem}.o")
        for info in [*folder.glob("*.bin")][:1] or [folder / "ze_info.yaml"]:
            linker.add_info(info.read_bytes(), str(info))
    return Program(read_image(linker.run().image.to_bytes(), "image.bin"))


pytestmark = needs_corpus
on_devices = pytest.mark.parametrize(("device", "engine"), rotated(DEVICES, ENGINES))
IDS = np.arange(64, dtype="i4")


def data(seed=3, low=-50, high=50):
    return np.random.default_rng(seed).integers(low, high, 64).astype("i4")


@on_devices
@pytest.mark.parametrize("uniform", [0, 1])
def test_function_pointers(device, engine, uniform):
    x, sel = data(), data(4, 0, 100)
    out = x.copy()
    program(device, "fptr").launch("fptr", 64, 16, [out, sel, uniform], engine=engine)
    r = np.select([sel & 3 == 0, sel & 3 == 1, sel & 3 == 2], [x + IDS, x - IDS, x * IDS], x ^ IDS)
    assert (out == (r + 3 if uniform else r * 3)).all()


@on_devices
def test_a_table_of_functions_in_constant_data(device, engine):
    x, sel, addresses = data(), data(5, 0, 100), np.zeros(4, "u8")
    out = x.copy()
    p = program(device, "fptr_table")
    p.launch("ftab", 64, 16, [out, sel, addresses], engine=engine)
    assert (out == np.select([sel % 3 == 0, sel % 3 == 1], [x + IDS, x - IDS], x * IDS)).all()
    assert len(set(addresses[:3])) == 3 and all(0 < a < 1 << 32 and p.image.function_at(int(a)) for a in addresses[:3])


@on_devices
@pytest.mark.parametrize("as_archive", [False, True])
def test_a_library_compiled_apart(device, engine, as_archive, tmp_path):
    x = data()
    out = x.copy()
    p = program(device, "extern_main", "extern_lib", archive=("extern_lib", tmp_path) if as_archive else None)
    p.launch("extmain", 64, 16, [out, 3], engine=engine)
    # lib_state reads the neighbour: its old value, for both lanes of a pair read before either writes.
    inner = x * x + 7
    assert (out == inner * 3 + x[IDS ^ 1] + (IDS * IDS + 7)).all()


@on_devices
def test_constant_and_global_data(device, engine):
    out, c = np.zeros(64, "i4"), np.array([100, 200, 300, 400], "i4")
    p = program(device, "constglob")
    for launch in range(2):
        p.launch("constglob", 64, 16, [out, c], engine=engine)
        table = np.array([1, 2, 3, 5, 8, 13, 21, 34])
        counters = np.sort(out - (table[IDS & 7] + c[IDS & 3] + np.where(IDS & 1, ord("c"), ord("a"))))
        assert (counters == np.arange(64) + 5 + 64 * launch).all()


@on_devices
def test_stack_calls(device, engine):
    n = 6
    x, f = np.random.default_rng(6).integers(-20, 20, 64 + 64 + 16 * 64 + 64).astype("i4"), np.zeros(64, "f4")
    start = x.copy()
    program(device, "stack").launch("stk", 16, 16, [x, f, n], engine=engine)
    # Every work-item writes x[id] and reads x[id & 7]: only the first hardware thread reads what no other thread writes.
    for i in range(0, 8, 2):
        r = i * n + int(start[i & 7])
        assert f[i] == np.float32(i * r + n - r)
        assert x[i] == r + 720


@on_devices
def test_two_local_arrays(device, engine):
    out = np.zeros(64, "i4")
    program(device, "twolocal").launch(
        "twolocal",
        64,
        16,
        [out, LocalArgument(64), LocalArgument(256), np.zeros(4, "i4"), 9, LocalArgument(16)],
        engine=engine,
    )
    lane = IDS % 16
    assert (out == (lane ^ 1) + 9 + (lane ^ 3) + 9).all()


@on_devices
def test_printf(device, engine):
    x = data()
    out = x.copy()
    p = program(device, "prf")
    result = p.launch("prf", 32, 16, [out[:32]], engine=engine)
    p.launch("prf", 32, 16, [np.zeros(32, "i4")], engine=engine)
    lines = sorted(result.printf.splitlines(), key=lambda line: int(line.split()[1]))
    assert lines == [f"id {i} val {x[i]} str" for i in range(32)]
    assert (out[:32] == x[:32] + 1).all()


@on_devices
def test_local_memory_and_printf_in_functions(device, engine):
    x = data()
    out = x.copy()
    p = program(device, "stackids")
    p.launch("stackids", 64, 16, [out, LocalArgument(64)], engine=engine)
    r = x + IDS * 3 + IDS // 16 + 16 + 1 + 4 + 1
    neighbour = IDS // 16 * 16 + (IDS + 1) % 16
    assert (out == r + r[neighbour]).all()
