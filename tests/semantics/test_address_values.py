"""Addresses of LSC messages beyond a register: bases, extended offsets, surfaces by handle, moved coordinates, on both engines against a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import Probe
from support.strategies import CHECKED, ENGINES, RUNNING, randoms

from visakit import SimulationError
from vsim.launch.launch import ImageArgument

LANES, SPACE, MIDDLE = 16, 512, 256
HANDLE = 0x40
"""Between the handles of two arguments."""


@CHECKED
@given(
    randoms, RUNNING, st.sampled_from(["a32s", "a32u", "a64"]), st.sampled_from([1, 4]), st.booleans(), st.booleans()
)
def test_offsets_from_a_base(random, running, size, scale, store, direct):
    """base + scale * offset + number in 64 bits; offsets of 32 bits are extended with zeros or with their sign."""
    shift = random.choice([0, 16, -16])
    lowest = -24 if size == "a32s" else 0
    offsets = random.sample(range(lowest, 24), LANES) if store else [random.randrange(lowest, 24) for _ in range(LANES)]
    unit = 4 // scale
    memory, data = random.randbytes(SPACE), [random.randrange(1 << 32) for _ in range(LANES)]
    probe = Probe("cri", LANES, running)
    probe.buffer("MEM", memory)
    kind = {"a32s": "d", "a32u": "ud", "a64": "uq"}[size]
    probe.fill(PLACES=(kind, [unit * o for o in offsets]), DATA=("ud", data), BASE=("uq", [0] * 4))
    probe.lines.append(f"add (M1_NM, 1) BASE(0,1)<1> MEM(0,0)<0;1,0> {MIDDLE}:ud")
    by = f"{'-' if shift < 0 else '+'}{abs(shift):#x}" if shift else ""
    place = f"flat(BASE(0,1))[{'' if scale == 1 else f'{scale}*'}PLACES{by}]:{size}"
    if direct and size == "a64":
        probe.addresses("PLACES_", "MEM", [MIDDLE + unit * o for o in offsets])
        place, scale = f"flat[PLACES_{by}]:a64", 1
    probe.lines.append(
        f"lsc_store.ugm (M1, 16) {place} DATA:d32" if store else f"lsc_load.ugm (M1, 16) DATA:d32 {place}"
    )
    words, found = np.frombuffer(memory, "u4").copy(), list(data)
    for lane in range(LANES):
        at = (MIDDLE + 4 * offsets[lane] + shift) // 4
        if running >> lane & 1 and store:
            words[at] = data[lane]
        elif running >> lane & 1:
            found[lane] = int(words[at])
    for engine in ENGINES:
        result = probe.run(engine)
        assert result["DATA"].tolist() == found and bytes(result["MEM"]) == words.tobytes(), (engine, place)


@CHECKED
@given(randoms, RUNNING)
def test_atomics_at_offsets_from_a_base(random, running):
    offsets = [random.randrange(-4, 4) for _ in range(LANES)]
    probe = Probe("cri", LANES, running)
    probe.buffer("MEM", bytes(64))
    probe.fill(PLACES=("d", [4 * o for o in offsets]), ADDED=("ud", range(1, 17)), BASE=("uq", [0] * 2))
    probe.lines += [
        "add (M1_NM, 1) BASE(0,0)<1> MEM(0,0)<0;1,0> 24:ud",
        "lsc_atomic_iadd.ugm (M1, 16) %null:d32 flat(BASE)[PLACES+0x8]:a32s ADDED %null",
    ]
    wanted = [0] * 16
    for lane, offset in enumerate(offsets):
        wanted[8 + offset] += (lane + 1) * (running >> lane & 1)
    for engine in ENGINES:
        assert probe.run(engine)["MEM"].view("u4").tolist() == wanted, engine


@pytest.mark.parametrize("engine", ENGINES)
def test_an_offset_without_a_sign_is_far_away(engine):
    """-4 is four bytes in front of the base as a32s, and 4 GiB behind it as a32u."""
    for size, fails in (("a32s", False), ("a32u", True)):
        probe = Probe("cri", LANES)
        probe.buffer("MEM", bytes(range(64)))
        probe.fill(PLACES=("d", [-4] * LANES), DATA=("ud", [0] * LANES), BASE=("uq", [0] * 2))
        probe.lines += [
            "add (M1_NM, 1) BASE(0,0)<1> MEM(0,0)<0;1,0> 8:ud",
            f"lsc_load.ugm (M1, 16) DATA:d32 flat(BASE)[PLACES]:{size}",
        ]
        if fails:
            with pytest.raises(SimulationError, match="lsc_load"):
                probe.run(engine)
        else:
            assert probe.run(engine)["DATA"].tolist() == [0x07060504] * LANES


# -- surfaces by handle ----------------------------------------------------------------------------------------


def with_two_images(running=(1 << LANES) - 1):
    """A probe whose arguments 2 and 3 are images of 4 x 8 dwords; a handle is 64 bytes times the argument's number, from 1 on."""
    images = [np.arange(first, first + 32, dtype="u4").reshape(4, 8, 1) for first in (100, 500)]
    probe = Probe("cri", LANES, running)
    for image in images:
        probe.image(ImageArgument(image, "r_u32"))
    return probe, images


@CHECKED
@given(randoms, RUNNING, st.sampled_from(["register", "number", "index", "bss"]), st.booleans())
def test_surfaces_by_handle(random, running, how, store):
    """Memory of an image by the handle of its state, or by that of a state in front of it and an index."""
    probe, images = with_two_images(running)
    places = random.sample(range(32), LANES)
    first, second = 3 * HANDLE, 4 * HANDLE
    probe.fill(PLACES=("ud", [4 * p for p in places]), DATA=("ud", range(LANES)), STATE=("uq", [0, first, second, 0]))
    surface = {
        "register": "surf(STATE(0,2))", "number": f"surf({second:#x})", "index": "surf(STATE(0,1),0x1)", "bss": f"bss({first:#x},0x1)",
    }[how]  # fmt: skip
    place = f"{surface}[PLACES]:a32u"
    probe.lines.append(
        f"lsc_store.ugm (M1, 16) {place} DATA:d32" if store else f"lsc_load.ugm (M1, 16) DATA:d32 {place}"
    )
    original = images[1].copy()
    words, data = original.ravel(), list(range(LANES))
    for lane in range(LANES):
        if running >> lane & 1 and store:
            words[places[lane]] = lane
        elif running >> lane & 1:
            data[lane] = int(words[places[lane]])
    untouched = images[1].copy()
    for engine in ENGINES:
        images[1][:] = untouched
        assert probe.run(engine)["DATA"].tolist() == data, (engine, place)
        assert np.array_equal(images[1], original), (engine, place)


@pytest.mark.parametrize(
    ("surface", "name"),
    [
        ("bti(0x3)", "argument 3"),
        ("surf(0x100)", "argument 3"),
        ("surf(0x104)", "surface 260"),
        ("bss(0x3)", "surface 3"),
    ],
)
def test_faults_name_images(surface, name):
    """The image behind a number or a handle, or the number itself without an image."""
    probe, _ = with_two_images()
    probe.fill(PLACES=("ud", [64 + 8 * lane for lane in range(LANES)]), DATA=("ud", range(LANES)))
    probe.lines.append(f"lsc_store.ugm (M1, 16) {surface}[PLACES]:a32 DATA:d32")
    size, at = (128, 128) if name.startswith("argument") else (0, 64)
    for engine in ENGINES:
        with pytest.raises(SimulationError, match=f"outside '{name}', which has {size} bytes, at offset {at} by"):
            probe.run(engine)


@CHECKED
@given(randoms, st.sampled_from(["bti(0x2)", "surf(0xc0)", "surf(STATE)", "surf(0x80,0x1)"]))
def test_moved_coordinates(random, surface):
    """Numbers in the address are added to each coordinate: loads, stores and atomics of images."""
    probe, images = with_two_images()
    dx, dy = random.randrange(-3, 4), random.randrange(-2, 3)
    xs, ys = [random.randrange(-2, 10) for _ in range(LANES)], [random.randrange(-1, 5) for _ in range(LANES)]
    probe.fill(
        X=("d", xs), Y=("d", ys), FOUND=("ud", [7] * LANES), STATE=("uq", [3 * HANDLE] * 4), ONE=("ud", [1] * LANES)
    )
    place = f"{surface}[X{dx:+},Y{dy:+}]:a32".replace("+0", "")
    probe.lines += [
        f"lsc_load_quad.tgm (M1, {LANES}) FOUND:d32.x {place}",
        f"lsc_atomic_iadd.tgm (M1, {LANES}) %null:d32 {place} ONE %null",
    ]
    original = images[0].copy()
    inside = [(y + dy, x + dx) if 0 <= x + dx < 8 and 0 <= y + dy < 4 else None for x, y in zip(xs, ys, strict=True)]
    wanted = original.copy()
    for at in inside:
        if at:
            wanted[at] += 1
    for engine in ENGINES:
        images[0][:] = original
        found = probe.run(engine)["FOUND"].tolist()
        assert found == [int(original[at][0]) if at else 0 for at in inside], (engine, place)
        assert np.array_equal(images[0], wanted), (engine, place)


@CHECKED
@given(st.integers(-2, 6), st.integers(-2, 4), st.sampled_from(["numbers", "moved"]))
def test_places_of_tiles(x, y, how):
    """A tile lies at numbers, or at registers and numbers; beyond the rim its bytes repeat."""
    probe, images = with_two_images()
    probe.fill(X=("d", [x - 3] * LANES), Y=("d", [y + 1] * LANES), FOUND=("ub", [7] * 32))
    place = f"bti(0x2)[{x & 0xFFFFFFFF:#x},{y & 0xFFFFFFFF:#x}]" if how == "numbers" else "bti(0x2)[X+3,Y-1]"
    if how == "numbers" and (x < 0 or y < 0):
        place = f"bti(0x2)[{x},{y}]"
    probe.lines.append(f"lsc_load_block2d.tgm FOUND:8x4 {place}")
    image = images[0].view("u1").reshape(4, 32)
    rows, columns = ([min(max(first + k, 0), last) for k in range(n)] for first, n, last in ((y, 4, 3), (x, 8, 31)))
    for engine in ENGINES:
        found = probe.run(engine)["FOUND"][:32].reshape(4, 8)
        assert np.array_equal(found, image[np.ix_(rows, columns)]), (engine, place)
