"""Sampler messages of Xe2 and later: least levels, another order of loads, and states by handles in registers, against a model of texels."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import Probe
from support.strategies import CHECKED, ENGINES, randoms
from test_image_values import f32, image_of, sampled, texel

from vsim.launch.launch import ImageArgument, SamplerArgument

LANES = 16
STATE, SAMPLER = 64, 16
"""Bytes between the handles of two images and of two samplers."""
FIRST_IMAGE = STATE * 3
"""The handle of argument 2, which is the first image of a probe."""
SAMPLERS = [SamplerArgument(False, "clamp_edge", "nearest", "lt"), SamplerArgument(True, "repeat", "linear", "ge")]
PARAMETERS = {
    "sample_mlod": "least u v",
    "sample_c_mlod": "least ref u v",
    "sample_lz": "u v",
    "sample_c_lz": "ref u v",
}


def probe_with(images):
    probe = Probe("cri", LANES)
    for image in images:
        probe.image(ImageArgument(image, "rgba_f32"))
    for n, sampler in enumerate(SAMPLERS):
        probe.arguments.append(sampler)
        probe.declarations.append(f".decl S{n} v_type=S num_elts=1")
    return probe


def check(probe, wanted):
    """Four channels of all lanes."""
    for engine in ENGINES:
        found = probe.run(engine)["FOUND"].reshape(4, LANES)
        for i in range(LANES):
            got = [float(channel[i]) for channel in found]
            assert got == pytest.approx(wanted(i), rel=2e-4, abs=2e-4), (engine, probe.lines, i)


@pytest.mark.parametrize("name", PARAMETERS)
@CHECKED
@given(st.data())
def test_samples(name, data):
    """Variables, and handles of the image and of the sampler, each with the number of the state behind it or without."""
    random, which = data.draw(randoms), data.draw(st.integers(0, 1))
    images = [image_of(random, 2), image_of(random, 2)]
    sampler = SAMPLERS[data.draw(st.integers(0, 1))]
    width, height = (1.0, 1.0) if sampler.normalized else (7.0, 5.0)
    values = {
        "least": [random.choice([0.0, 1.5, 7.0]) for _ in range(LANES)],
        "ref": [f32(random.uniform(-4, 4)) for _ in range(LANES)],
        "u": [f32(random.uniform(0, width)) for _ in range(LANES)],
        "v": [f32(random.uniform(0, height)) for _ in range(LANES)],
    }
    probe = probe_with(images)
    numbers = (which, SAMPLERS.index(sampler))
    bases = [data.draw(st.integers(0, n)) for n in numbers]
    probe.fill(SURFACE=("uq", [FIRST_IMAGE + STATE * bases[0]]), STATE=("uq", [SAMPLER * bases[1]]))
    probe.fill(FOUND=("f", [-7.0] * LANES * 4), **{p.upper() + "_": ("f", values[p]) for p in PARAMETERS[name].split()})
    surface, state = (
        f"({register},{number - base})" if number > base or data.draw(st.booleans()) else register
        for register, number, base in zip(("SURFACE", "STATE"), numbers, bases, strict=True)
    )
    if data.draw(st.booleans()):
        surface, state = f"T{8 + which}", f"S{numbers[1]}"
    given = " ".join(f"{p.upper()}_.0" for p in PARAMETERS[name].split())
    probe.lines.append(f"{name}.RGBA (M1, {LANES}) 0x0:uw {state} {surface} FOUND.0 %null.0 {given}")

    def wanted(i):
        reference = values["ref"][i] if "ref" in PARAMETERS[name] else None
        return sampled(images[which], [values["u"][i], values["v"][i]], sampler, reference=reference)

    check(probe, wanted)


@pytest.mark.parametrize("surface", ["T9", "(SURFACE, 1)", "BEHIND", "SURFACE(0,0)<0;1,0>[1]"])
@CHECKED
@given(randoms)
def test_loads(surface, random):
    """The level is the last parameter of load_l; 0 outside the image and in other levels."""
    images = [image_of(random, 2), image_of(random, 2)]
    u, v, level = ([random.randrange(*r) for _ in range(LANES)] for r in ((-1, 8), (-1, 6), (0, 2)))
    probe = probe_with(images)
    probe.fill(SURFACE=("uq", [FIRST_IMAGE]), BEHIND=("ud", [FIRST_IMAGE + STATE]), FOUND=("f", [-7.0] * LANES * 4))
    probe.fill(U=("d", u), V=("d", v), LEVEL=("d", level))
    probe.lines.append(f"load_l.RGBA (M1, {LANES}) 0x0:uw {surface} FOUND.0 %null.0 U.0 V.0 %null.0 LEVEL.0")

    def wanted(i):
        inside = 0 <= u[i] < 7 and 0 <= v[i] < 5 and level[i] == 0
        return texel(images[1], (u[i], v[i])) if inside else [0.0] * 4

    check(probe, wanted)


def test_a_gather_by_handles():
    """It reads one channel of four texels, counter-clockwise from the lower left."""
    image = image_of(Random(1), 2)
    probe = probe_with([image])
    probe.fill(SURFACE=("uq", [FIRST_IMAGE]), STATE=("uq", [0]), FOUND=("f", [-7.0] * LANES * 4))
    probe.fill(U=("f", [3.0] * LANES), V=("f", [2.0] * LANES), LEVEL=("f", [0.0] * LANES))
    probe.lines.append(f"sample4_l.G (M1, {LANES}) 0x0:uw STATE SURFACE FOUND.0 %null.0 LEVEL.0 U.0 V.0")
    check(probe, lambda i: [float(image[y, x, 1]) for x, y in ((2, 2), (3, 2), (3, 1), (2, 1))])


@CHECKED
@given(randoms)
def test_loads_of_a_sample_by_words(random):
    """Parameters of 16 bits: the control data are four of them, before the coordinates; samples but the first read as 0."""
    image = image_of(random, 2)
    u, v, sample = ([random.randrange(*r) for _ in range(LANES)] for r in ((-1, 8), (-1, 6), (0, 2)))
    probe = probe_with([image])
    probe.fill(U=("w", u), V=("w", v), SAMPLE=("w", sample), MCS=("w", [0] * LANES), FOUND=("f", [-7.0] * LANES * 4))
    control = " ".join(["MCS.0"] * 4)
    probe.lines.append(f"load_2dms_w.RGBA (M1, {LANES}) 0x0:uw T8 FOUND.0 %null.0 SAMPLE.0 {control} U.0 V.0")

    def wanted(i):
        inside = 0 <= u[i] < 7 and 0 <= v[i] < 5 and sample[i] == 0
        return texel(image, (u[i], v[i])) if inside else [0.0] * 4

    check(probe, wanted)


@pytest.mark.parametrize("surface", ["T9", "(SURFACE, 1)", "BEHIND"])
def test_sizes(surface):
    """Width and height, no depth and one level; one sample."""
    probe = probe_with([image_of(Random(1), 3), image_of(Random(2), 2)])
    probe.fill(SURFACE=("uq", [FIRST_IMAGE]), BEHIND=("ud", [FIRST_IMAGE + STATE]), LEVEL=("ud", [0] * LANES))
    probe.fill(SIZES=("ud", [7] * LANES * 4), SAMPLES=("ud", [7] * LANES))
    probe.lines += [
        f"resinfo.RGBA (M1_NM, {LANES}) {surface} LEVEL.0 SIZES.0",
        f"sampleinfo.R (M1_NM, {LANES}) {surface} SAMPLES.0",
    ]
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["SIZES"].reshape(4, LANES).tolist() == [[n] * LANES for n in (7, 5, 0, 1)], engine
        assert found["SAMPLES"].tolist() == [1] * LANES, engine


# -- typed messages that name a sample -------------------------------------------------------------------------


@CHECKED
@given(randoms)
def test_typed_messages_of_a_sample(random):
    """Images have one sample: others read as 0, and stores and atomics on them have no effect."""
    original = image_of(random, 2)
    places = random.sample([(x, y) for x in range(-1, 8) for y in range(-1, 6)], LANES)
    sample = [random.choice([0, 0, 1]) for _ in range(LANES)]
    values = [[f32(random.uniform(-9, 9)) for _ in range(LANES)] for _ in range(2)]
    exists = [0 <= x < 7 and 0 <= y < 5 for x, y in places]
    for engine in ENGINES:
        image = original.copy()
        probe = probe_with([image])
        probe.fill(X=("d", [p[0] for p in places]), Y=("d", [p[1] for p in places]), SAMPLE=("d", sample))
        probe.fill(DATA=("f", values[0] + values[1]), FOUND=("f", [-7.0] * LANES * 4), MAPPED=("ud", [7] * LANES * 2))
        address = f"surf({FIRST_IMAGE:#x})[X,Y,%null,SAMPLE]:a32"
        probe.lines += [
            f"lsc_load_quad_msrt.tgm (M1, {LANES}) FOUND:d32.xyzw {address}",
            f"lsc_store_quad_msrt.tgm (M1, {LANES}) {address} DATA:d32.xy",
            f"lsc_load_quad_status.tgm (M1, {LANES}) MAPPED:d32.xz surf({FIRST_IMAGE:#x})[X,Y]:a32",
        ]
        found = probe.run(engine)
        wanted = original.copy()
        for i, (x, y) in enumerate(places):
            own = exists[i] and sample[i] == 0
            got = [float(channel[i]) for channel in found["FOUND"].reshape(4, LANES)]
            assert got == (texel(original, (x, y)) if own else [0.0] * 4), (engine, i)
            if own:
                wanted[y, x, :2] = values[0][i], values[1][i]
        assert (image[..., :2] == wanted[..., :2]).all(), engine
        assert found["MAPPED"].tolist() == [int(e) for e in exists] * 2, engine


@CHECKED
@given(randoms)
def test_typed_atomics_of_a_sample(random):
    """With .msaa the last coordinate is a sample, without it is a level, of which there is one, too."""
    original = np.array([[random.randrange(1 << 32) for _ in range(3)] for _ in range(2)], np.uint32).reshape(2, 3, 1)
    places = [(random.randrange(-1, 4), random.randrange(2)) for _ in range(LANES)]
    sample, add = ([random.randrange(n) for _ in range(LANES)] for n in (2, 1 << 32))
    for engine in ENGINES:
        image, wanted = original.copy(), original.copy()
        probe = Probe("cri", LANES)
        probe.image(ImageArgument(image, "r_u32"))
        probe.fill(X=("d", [p[0] for p in places]), Y=("d", [p[1] for p in places]), SAMPLE=("d", sample))
        probe.fill(ADD=("ud", add), OLD=("ud", [7] * LANES))
        probe.lines.append(f"lsc_atomic_iadd.tgm.msaa (M1, {LANES}) OLD:d32 bti(0x2)[X,Y,%null,SAMPLE]:a32 ADD %null")
        old = probe.run(engine)["OLD"].tolist()
        for i, (x, y) in enumerate(places):
            if not 0 <= x < 3 or sample[i]:
                assert old[i] == 0, engine
                continue
            assert old[i] == int(wanted[y, x, 0]), engine
            wanted[y, x, 0] = (old[i] + add[i]) % (1 << 32)
        assert (image == wanted).all(), engine


def test_hints_compute_nothing():
    """Overfetching loads are loads, and cache hints change no memory."""
    probe = Probe("cri", LANES)
    probe.buffer("MEMORY", np.arange(64, dtype=np.uint32).tobytes())
    probe.addresses("PLACE", "MEMORY", [8 * i for i in range(LANES)])
    probe.fill(ONE=("ud", [7] * LANES), TWO=("ud", [7] * LANES * 2))
    probe.lines += [
        f"lsc_load.ugm.ca.ca.ov (M1, {LANES}) ONE:d32 flat[PLACE]:a64",
        f"lsc_load_quad.ugm.ov (M1, {LANES}) TWO:d32.xy flat[PLACE]:a64",
        f"lsc_extended_cache_ctrl.ugm.uc.uc.reset.64B (M1, {LANES}) flat[PLACE]:a64",
    ]
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["ONE"].tolist() == [2 * i for i in range(LANES)]
        assert found["TWO"].tolist() == [2 * i for i in range(LANES)] + [2 * i + 1 for i in range(LANES)]


COVERED = {*PARAMETERS, "load_l", "lsc_extended_cache_ctrl"}
COVERED_TYPED = {"lsc_load_quad_msrt", "lsc_store_quad_msrt", "lsc_load_quad_status"}
