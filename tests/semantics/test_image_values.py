"""Images and samplers against a model of single texels in Python floats; the graphics messages; raw messages against their twins."""

import itertools
import math
from contextlib import nullcontext
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import scalar
from support.probe import Probe
from support.programs import kernel_head
from support.strategies import CHECKED, ENGINES, RUNNING, randoms, rotated, some_of_each
from test_memory_values import BFLOAT_NAMES, INTEGER_ATOMICS, LSC_NAMES, atomic_values, model_atomics

from visakit.diagnostics import LaunchError, SimulationError, VisaWarning
from vsim.launch.launch import ImageArgument, SamplerArgument
from vsim.memory.images import ImageFormat

LANES = 8
MODES = ["none", "clamp_edge", "clamp_border", "clamp", "repeat", "mirror"]
RELATIONS = {"le": lambda r, t: r <= t, "lt": lambda r, t: r < t, "ge": lambda r, t: r >= t, "gt": lambda r, t: r > t, "eq": lambda r, t: r == t,
             "ne": lambda r, t: r != t, "always": lambda r, t: True, "never": lambda r, t: False}  # fmt: skip


def f32(x):
    return float(np.float32(x))


def place(i, size, mode):
    """The texel that a number means by the addressing mode; None is the border."""
    if mode == "repeat":
        return i % size
    if mode == "mirror":
        i %= 2 * size
        return min(i, 2 * size - 1 - i)
    if mode in ("clamp", "clamp_border"):
        return i if 0 <= i < size else None
    return max(0, min(size - 1, i))


def texel(image, places):
    """Four channels at x, y(, z); the border is 0."""
    if any(p is None for p in places):
        return [0.0] * 4
    return [float(v) for v in image[tuple(reversed(places))]]


def in_texels(x, size, sampler):
    if not sampler.normalized:
        return f32(x)
    if sampler.addressing == "repeat":
        x = f32(x - math.floor(x))
    if sampler.addressing == "mirror":
        x = abs(f32(x - 2.0 * round(f32(x * 0.5))))
    return f32(x * size)


def sampled(image, coordinates, sampler, offsets=(0, 0, 0), reference=None):
    """The sample at one place: the nearest texel, or the weighted mean of its neighbours."""
    sizes = list(reversed(image.shape[:-1]))
    axes = []
    for x, size, offset in zip(coordinates, sizes, offsets, strict=False):
        x = in_texels(x, size, sampler)
        if sampler.filter == "nearest":
            axes.append([(place(math.floor(x) + offset, size, sampler.addressing), 1.0)])
            continue
        x = f32(x - 0.5)
        low = math.floor(x)
        axes.append(
            [(place(low + offset + k, size, sampler.addressing), x - low if k else 1 - (x - low)) for k in (0, 1)]
        )
    total = [0.0] * 4
    for picks in itertools.product(*axes):
        weight = math.prod(w for _, w in picks)
        values = texel(image, [p for p, _ in picks])
        if reference is not None:
            values = [float(RELATIONS[sampler.compare](reference, values[0])), 0.0, 0.0, 1.0]
        total = [t + weight * v for t, v in zip(total, values, strict=True)]
    return total


def image_of(random, dims):
    shape = {1: (9,), 2: (5, 7), 3: (3, 5, 6)}[dims]
    values = np.array([random.uniform(-4, 4) for _ in range(math.prod(shape) * 4)], np.float32)
    return values.reshape(*shape, 4)


def probe_with(image, sampler=None, running=None, format="rgba_f32", lanes=LANES, platform="tgllp", layered=False):
    probe = Probe(platform, lanes, running)
    probe.image(ImageArgument(image, format, layered))
    if sampler is not None:
        probe.arguments.append(sampler)
        probe.declarations.append(".decl S0 v_type=S num_elts=1")
    return probe


def check(probe, wanted, running, channels=4, tolerance=0.0, name="FOUND"):
    """Channels of the lanes that run; the others keep -7."""
    for engine in ENGINES:
        found = probe.run(engine)[name].reshape(-1, LANES)
        for i in range(LANES):
            got = [float(found[c][i]) for c in range(channels)]
            expected = wanted(i) if running is None or running >> i & 1 else [-7.0] * channels
            assert np.allclose(got, expected, rtol=tolerance, atol=tolerance), (
                f"{engine}: {probe.lines} lane {i}: {got}, expected {expected}"
            )


PARAMETERS = {
    "sample_3d": "u v r", "sample_lz": "u v r", "sample_b": "bias u v r", "sample_l": "lod u v r", "sample_d": "u dudx dudy v dvdx dvdy r drdx drdy",
    "sample_c": "ref u v r", "sample_c_lz": "ref u v r", "sample_b_c": "ref bias u v r", "sample_l_c": "ref lod u v r",
    "sample_d_c": "ref u dudx dudy v dvdx dvdy r drdx drdy",
}  # fmt: skip


def coordinates_of(random, image, sampler):
    """Coordinates for all lanes and axes, in and around the image; of the nearest filter never on an edge."""
    sizes = list(reversed(image.shape[:-1]))
    if sampler.normalized:
        return [[f32(random.uniform(-1.6, 2.6)) for _ in range(LANES)] for _ in sizes]
    return [[f32(random.uniform(-3, s + 3)) for _ in range(LANES)] for s in sizes]


@pytest.mark.parametrize("name", PARAMETERS)
@CHECKED
@given(st.data())
def test_samples(name, data):
    random = data.draw(randoms)
    dims = data.draw(st.sampled_from([2, 2, 3])) if not name.endswith("_c") else 2
    normalized = data.draw(st.booleans())
    mode = data.draw(st.sampled_from(MODES if normalized else [m for m in MODES if m not in ("repeat", "mirror")]))
    sampler = SamplerArgument(
        normalized,
        mode,
        data.draw(st.sampled_from(["nearest", "linear"])),
        data.draw(st.sampled_from(sorted(RELATIONS))),
    )
    image, running = image_of(random, dims), data.draw(RUNNING) & 255 | 1
    coordinates = coordinates_of(random, image, sampler)
    offset = [data.draw(st.integers(-8, 7)) if data.draw(st.booleans()) else 0 for _ in range(dims)] + [0] * (3 - dims)
    values = dict(zip("uvr", coordinates, strict=False)) | {"ref": [f32(random.uniform(-4, 4)) for _ in range(LANES)]}
    probe = probe_with(image, sampler, running)
    names = [
        p
        for p in PARAMETERS[name].split()
        if p in values or (p not in "uvr" and not (dims == 2 and p.startswith("dr")))
    ]
    for p in names:
        probe.variable(p.upper() + "_", "f", values.get(p, [0.0] * LANES))
    probe.variable("FOUND", "f", [-7.0] * LANES * 4)
    packed = (offset[0] & 15) << 8 | (offset[1] & 15) << 4 | offset[2] & 15
    probe.lines.append(
        f"{name}.RGBA (M1, {LANES}) {packed:#x}:uw S0 T8 FOUND.0 {' '.join(f'{p.upper()}_.0' for p in names)}"
    )

    def wanted(i):
        return sampled(
            image, [c[i] for c in coordinates], sampler, offset, values["ref"][i] if "ref" in names else None
        )

    check(probe, wanted, running, tolerance=2e-4)


GATHERS = {
    "sample4": "u v", "sample4_c": "ref u v", "sample4_po": "u v ou ov", "sample4_po_c": "ref u v ou ov", "sample4_i": "u v",
    "sample4_b": "bias u v", "sample4_l": "lod u v", "sample4_i_c": "ref u v", "sample4_l_c": "ref lod u v",
}  # fmt: skip


@pytest.mark.parametrize("name", GATHERS)
@CHECKED
@given(st.data())
def test_gathers_of_four(name, data):
    """One channel of the four texels around a place, counter-clockwise from the lower left."""
    random = data.draw(randoms)
    sampler = SamplerArgument(
        True, data.draw(st.sampled_from(MODES)), "linear", data.draw(st.sampled_from(sorted(RELATIONS)))
    )
    image, channel = image_of(random, 2), data.draw(st.integers(0, 3)) if name != "sample4_c" else 0
    (u, v), ref = coordinates_of(random, image, sampler), [f32(random.uniform(-4, 4)) for _ in range(LANES)]
    ou, ov = ([random.randrange(-8, 8) for _ in range(LANES)] if "po" in name else [0] * LANES for _ in range(2))
    probe = probe_with(image, sampler)
    level = [random.uniform(-2, 3) for _ in range(LANES)]
    given = {"u": u, "v": v, "ref": ref, "lod": level, "bias": level}
    for p, t, values in (*((n, "f", x) for n, x in given.items()), ("ou", "d", ou), ("ov", "d", ov)):
        if p in GATHERS[name].split():
            probe.variable(p.upper() + "_", t, values)
    probe.variable("FOUND", "f", [-7.0] * LANES * 4)
    probe.lines.append(
        f"{name}.{'RGBA'[channel]} (M1, {LANES}) 0x0:uw S0 T8 FOUND.0 {' '.join(f'{p.upper()}_.0' for p in GATHERS[name].split())}"
    )

    def wanted(i):
        around = []
        for axis, (x, size, offset) in enumerate(((u[i], 7, ou[i]), (v[i], 5, ov[i]))):
            low = math.floor(f32(in_texels(x, size, sampler) - 0.5)) + offset
            around.append([place(low + k, size, sampler.addressing) for k in (0, 1)])
            assert axis < 2
        found = [texel(image, [around[0][a], around[1][b]]) for a, b in ((0, 1), (1, 1), (1, 0), (0, 0))]
        return (
            [float(RELATIONS[sampler.compare](ref[i], t[0])) for t in found]
            if "ref" in GATHERS[name]
            else [t[channel] for t in found]
        )

    check(probe, wanted, None)


LOADS = {"load_3d": "u v lod r", "load_lz": "u v r", "load_2dms_w": "sample mcs mcs2 u v r", "load_mcs": "u v r"}


@pytest.mark.parametrize("name", LOADS)
@CHECKED
@given(st.data())
def test_loads(name, data):
    """Texels by number; 0 outside, in other levels and in other samples."""
    random = data.draw(randoms)
    image, running = image_of(random, 3 if name in ("load_3d", "load_lz") else 2), data.draw(RUNNING) & 255 | 1
    sizes = list(reversed(image.shape[:-1]))
    numbers = {p: [random.randrange(-1, s + 1) for _ in range(LANES)] for p, s in zip("uvr", sizes, strict=False)}
    numbers |= {p: [random.choice([0, 0, 1]) for _ in range(LANES)] for p in ("lod", "sample")} | {
        p: [0] * LANES for p in ("mcs", "mcs2")
    }
    names = [p for p in LOADS[name].split() if p != "r" or len(sizes) == 3]
    probe = probe_with(image, None, running)
    for p in names:
        probe.variable(p.upper() + "_", "d", numbers[p])
    probe.variable("FOUND", "f", [-7.0] * LANES * 4)
    probe.lines.append(f"{name}.RGBA (M1, {LANES}) 0x0:uw T8 FOUND.0 {' '.join(f'{p.upper()}_.0' for p in names)}")

    def wanted(i):
        where = [numbers[p][i] for p in "uvr"[: len(sizes)]]
        inside = all(0 <= x < s for x, s in zip(where, sizes, strict=True)) and all(
            numbers[p][i] == 0 for p in ("lod", "sample") if p in names
        )
        return texel(image, where) if inside and name != "load_mcs" else [0.0] * 4

    check(probe, wanted, running)


@pytest.mark.parametrize(("name", "dims"), rotated([*PARAMETERS, *GATHERS, *LOADS], [2, 3]))
def test_parameters_that_are_left_out_are_zeros(name, dims):
    names = {**PARAMETERS, **GATHERS, **LOADS}[name].split()
    numbers = [0, 1, 2, 3, 4, 5, 6, 7] if name in LOADS else [0.2, 1.3, 2.6, -3.1, 0.0, 4.4, 0.9, 5.5]
    sampler = SamplerArgument(False, "clamp_edge", "linear", "lt")
    head = f"{name}.R (M1, {LANES}) 0x0:uw{'' if name in LOADS else ' S0'} T8"
    probe = probe_with(image_of(Random(dims), dims), sampler)
    probe.fill(X=("d" if name in LOADS else "f", numbers), ZERO=("ud", [0] * LANES))
    for count in range(1, len(names)):
        probe.fill(**{f"{which}_{count}": ("f", [-7.0] * LANES * 4) for which in ("FOUND", "WHOLE")})
        given = ["X.0"] * count
        probe.lines += [
            f"{head} FOUND_{count}.0 {' '.join(given)}",
            f"{head} WHOLE_{count}.0 {' '.join(given + ['ZERO.0'] * (len(names) - count))}",
        ]
    for engine in ENGINES:
        found = probe.run(engine)
        for count in range(1, len(names)):
            assert np.array_equal(found[f"FOUND_{count}"], found[f"WHOLE_{count}"]), (engine, count, probe.lines)


@pytest.mark.parametrize("name", [*PARAMETERS, *GATHERS])
def test_halves(name):
    """Parameters of halves are what floats of the same value are, and a destination of halves gets the rounded channels."""
    random = Random(name)
    names = {**PARAMETERS, **GATHERS}[name].split()
    sampler = SamplerArgument(False, "clamp_edge", "linear", "lt")
    probe = probe_with(image_of(random, 2), sampler, 0b1101)
    given = {}
    for n, p in enumerate(names):
        values = [random.randrange(-8, 24) / 4 for _ in range(LANES)]
        whole = p in ("ou", "ov")
        probe.variable(f"F{n}", "d" if whole else "f", [int(v) for v in values] if whole else values)
        probe.variable(f"H{n}", "d" if whole else "hf", [int(v) for v in values] if whole else values)
        given[f"F{n}"] = f"H{n}"
    probe.fill(WIDE=("f", [-7.0] * LANES * 4), NARROW=("hf", [-7.0] * 16 * 4))
    mask = "G" if name.startswith("sample4") and "_c" not in name else "R" if name.startswith("sample4") else "RGA"
    for dst, operands in (("WIDE", given), ("NARROW", given.values())):
        probe.lines.append(f"{name}.{mask} (M1, {LANES}) 0x0:uw S0 T8 {dst}.0 {' '.join(f'{n}.0' for n in operands)}")
    for engine in ENGINES:
        found = probe.run(engine)
        wide, narrow = found["WIDE"].reshape(4, LANES), found["NARROW"].reshape(4, 16)[:, :LANES]
        assert np.array_equal(wide.astype("f2"), narrow), (engine, probe.lines)


def test_comparison_with_integers():
    """The reference is a float; of an integer image the element is compared as one."""
    probe = probe_with(np.full((2, 2, 1), 3, "u1"), SamplerArgument(False, "clamp_edge", "linear", "lt"), format="r_u8")
    reference = [2.0, 2.9, 3.0, 3.1, -1.0, math.inf, -math.inf, math.nan]
    probe.fill(REF=("f", reference), ZERO=("f", [0.0] * LANES), FOUND=("f", [-7.0] * LANES * 4))
    probe.lines.append(f"sample_c.R (M1, {LANES}) 0x0:uw S0 T8 FOUND.0 REF.0 ZERO.0 ZERO.0")
    check(probe, lambda i: [float(reference[i] < 3.0)], None, channels=1)


@pytest.mark.parametrize("name", GATHERS)
def test_gathers_of_a_layer(name):
    """The four texels of an array are those of the layer that the last parameter names."""
    image = np.arange(3 * 5 * 6 * 4, dtype="f4").reshape(3, 5, 6, 4)
    sampler, layers = SamplerArgument(False, "clamp_edge", "linear", "lt"), [0.0, 1.0, 2.0, 1.4, 1.6, -3.0, 9.0, 0.0]
    probe = probe_with(image, sampler, layered=True)
    probe.fill(X=("f", [2.0] * LANES), R=("f", layers), REF=("f", [200.0] * LANES), FOUND=("f", [-7.0] * LANES * 4))
    given = [{"ref": "REF.0", "ou": "%null.0", "ov": "%null.0"}.get(p, "X.0") for p in GATHERS[name].split()]
    probe.lines.append(f"{name}.R (M1, {LANES}) 0x0:uw S0 T8 FOUND.0 {' '.join(given)} R.0")

    def wanted(i):
        one = image[max(0, min(2, round(layers[i])))]
        found = [float(one[y, x, 0]) for x, y in ((1, 2), (2, 2), (2, 1), (1, 1))]
        return [float(t > 200.0) for t in found] if "ref" in GATHERS[name] else found

    check(probe, wanted, None)


@CHECKED
@given(st.data(), st.sampled_from([8, 16]))
def test_media_forms(data, pixels):
    """``sample`` and ``load`` of 8 or 16 pixels, whatever the mask."""
    random = data.draw(randoms)
    sampler = SamplerArgument(True, "clamp_edge", data.draw(st.sampled_from(["nearest", "linear"])))
    image = image_of(random, 2)
    u, v = ([f32(random.uniform(-0.5, 1.5)) for _ in range(pixels)] for _ in range(2))
    x, y = [random.randrange(-1, 8) for _ in range(pixels)], [random.randrange(-1, 6) for _ in range(pixels)]
    probe = probe_with(image, sampler, 1)
    probe.fill(U=("f", u), V=("f", v), X=("d", x), Y=("d", y), SAMPLED=("f", [-7.0] * 64), LOADED=("f", [-7.0] * 64))
    probe.lines += [
        f"sample.RGBA ({pixels}) S0 T8 U.0 V.0 %null.0 SAMPLED.0",
        f"load.RGBA ({pixels}) T8 X.0 Y.0 %null.0 LOADED.0",
    ]
    for engine in ENGINES:
        found = probe.run(engine)
        for i in range(pixels):
            got = [float(found["SAMPLED"].reshape(-1, pixels)[c][i]) for c in range(4)]
            assert np.allclose(got, sampled(image, (u[i], v[i]), sampler), rtol=2e-4, atol=2e-4)
            got = [float(found["LOADED"].reshape(-1, pixels)[c][i]) for c in range(4)]
            assert got == (texel(image, (x[i], y[i])) if 0 <= x[i] < 7 and 0 <= y[i] < 5 else [0.0] * 4)


def test_sizes():
    """Width, height, depth and levels; one sample."""
    for dims, wanted in ((2, (7, 5, 0, 1)), (3, (6, 5, 3, 1))):
        probe = probe_with(image_of(Random(0), dims))
        for name in ("LOD", "SIZES", "SAMPLES"):
            probe.variable(name, "ud", [0] * LANES * 4)
        probe.lines += [f"resinfo.RGBA (M1, {LANES}) T8 LOD.0 SIZES.0", f"sampleinfo.RGBA (M1, {LANES}) T8 SAMPLES.0"]
        for engine in ENGINES:
            found = probe.run(engine)
            assert [found["SIZES"][LANES * c] for c in range(4)] == list(wanted) and found["SAMPLES"][0] == 1


# -- typed messages --------------------------------------------------------------------------------------------


def typed_lines(platform, what):
    port = platform == "tgllp"
    if what == "read":
        return (
            f"gather4_typed.RGBA (M1, {LANES}) T8 X.0 Y.0 %null.0 %null.0 FOUND.0"
            if port
            else f"lsc_load_quad.tgm (M1, {LANES}) FOUND:d32.xyzw bti(0x2)[X,Y]:a32"
        )
    if what == "write":
        return (
            f"scatter4_typed.RG (M1, {LANES}) T8 X.0 Y.0 %null.0 %null.0 DATA.0"
            if port
            else f"lsc_store_quad.tgm (M1, {LANES}) bti(0x2)[X,Y]:a32 DATA:d32.xy"
        )
    return f"lsc_store_uncompressed.tgm (M1, {LANES}) bti(0x2)[X,Y]:a32 DATA:d32x2"


@pytest.mark.parametrize(("platform", "what"), [("tgllp", "write"), ("dg2", "write"), ("dg2", "uncompressed")])
@CHECKED
@given(st.data())
def test_typed_reads_and_writes(platform, what, data):
    """Texels outside the image read as 0, and writes to them have no effect."""
    random = data.draw(randoms)
    running = data.draw(RUNNING) & 255 | 1
    places = random.sample([(x, y) for x in range(-1, 8) for y in range(-1, 6)], LANES)
    values = [[f32(random.uniform(-9, 9)) for _ in range(LANES)] for _ in range(2)]
    original = image_of(random, 2)
    for engine in ENGINES:
        image = original.copy()
        probe = probe_with(image, None, running, platform=platform)
        probe.fill(
            X=("d", [p[0] for p in places]),
            Y=("d", [p[1] for p in places]),
            DATA=("f", values[0] + values[1]),
            FOUND=("f", [-7.0] * LANES * 4),
        )
        probe.lines += [typed_lines(platform, "read"), typed_lines(platform, what)]
        found = probe.run(engine)["FOUND"].reshape(4, LANES)
        wanted = original.copy()
        for i, (x, y) in enumerate(places):
            inside = 0 <= x < 7 and 0 <= y < 5
            if running >> i & 1:
                assert [float(v) for v in found[:, i]] == (texel(original, (x, y)) if inside else [0.0] * 4), engine
                if inside:
                    # Channels that a message leaves out keep their values.
                    wanted[y, x, :2] = values[0][i], values[1][i]
            else:
                assert (found[:, i] == -7).all()
        assert np.array_equal(image, wanted), f"{engine}: {probe.lines}"


STORED = {
    "r": "r",
    "a": "a",
    "rg": "rg",
    "ra": "ra",
    "rgba": "rgba",
    "bgra": "bgra",
    "argb": "argb",
    "intensity": "i",
    "luminance": "l",
    "depth": "r",
}
LARGEST = {"unorm8": 255, "unorm16": 65535, "snorm8": 127, "snorm16": 32767}


def read_channels(stored, order, element):
    """Red, green, blue and alpha of a texel, from its stored elements."""
    large = LARGEST.get(element)
    values = [max(-1.0, float(v) / large) if large else v for v in stored]
    known = dict(zip(STORED[order], values, strict=True))
    if order in ("intensity", "luminance"):
        return [values[0]] * 3 + [values[0] if order == "intensity" else 1]
    return (
        [known.get(c, 1 if c == "a" and order != "a" else 0) for c in "rgba"]
        if "a" not in known
        else [known.get(c, 0) for c in "rgba"]
    )


def stored_channels(values, order, element, dtype):
    """The elements that four channels are stored as."""
    found = []
    for c in STORED[order]:
        x = values["rgba".index(c)] if c in "rgba" else values[0]
        if element in LARGEST:
            low = -1.0 if element[0] == "s" else 0.0
            x = round(f32(max(low, min(1.0, 0.0 if math.isnan(x) else x)) * LARGEST[element]))
        elif dtype.kind in "iu":
            x = max(np.iinfo(dtype).min, min(np.iinfo(dtype).max, x))
        found.append(x)
    return np.array(found).astype(dtype)


@pytest.mark.parametrize("format", some_of_each(ImageFormat.names(), lambda f: f.partition("_")[2], 2))
def test_formats(format):
    """Reads and writes of texels: order of channels, integers, floats, parts of the largest, and clamping."""
    order, element = format.split("_")
    known = ImageFormat.parse(format)
    random = np.random.default_rng(5)
    if known.dtype.kind == "f":
        original = random.uniform(-9, 9, (5, 7, known.channels)).astype(known.dtype)
    else:
        original = np.frombuffer(random.bytes(5 * 7 * known.size), known.dtype).reshape(5, 7, known.channels)
    real, signed = known.is_real, known.dtype.kind == "i"
    written = [
        [f32(x) for x in (-2.5, -0.75, -0.0, 0.1, 0.5, 0.998, 1.0, math.inf)]
        if real
        else [0, 1, 100, 127, 200, 40000, 70000, 2**31 - 1]
    ] * 4
    written = [values[c:] + values[:c] for c, values in enumerate(written)]
    if not real and signed:
        written = [[-v if n % 2 else v for n, v in enumerate(values)] for values in written]
    kind = "f" if real else "d"
    for engine in ENGINES:
        image = original.copy()
        probe = probe_with(image, None, format=format)
        probe.fill(
            X=("d", range(LANES)),
            Y=("d", [0] * LANES),
            Z=("d", [2] * LANES),
            FOUND=(kind, [0] * LANES * 4),
            DATA=(kind, [x for values in written for x in values]),
        )
        probe.lines += [
            typed_lines("tgllp", "read"),
            f"scatter4_typed.RGBA (M1, {LANES}) T8 X.0 Z.0 %null.0 %null.0 DATA.0",
        ]
        found = probe.run(engine)["FOUND"].reshape(4, LANES)
        for x in range(7):
            wanted = read_channels(original[0, x], order, element)
            assert [float(v) for v in found[:, x]] == [f32(v) if real else scalar.wrap(int(v), "d") for v in wanted], (
                engine,
                x,
            )
            assert np.array_equal(image[2, x], stored_channels([w[x] for w in written], order, element, known.dtype)), (
                engine,
                x,
            )
        assert np.array_equal(np.delete(image, 2, 0), np.delete(original, 2, 0))


@pytest.mark.parametrize("normalized", [False, True])
def test_layers(normalized):
    """The layer of an array is the one nearest to the coordinate, which is never normalised, held in the array; layers do not mix."""
    image = image_of(Random(3), 3)
    layers = [-1.0, 0.4, 0.6, 1.0, 1.4, 1.6, 2.4, 7.0]
    sampler = SamplerArgument(normalized, "clamp_edge", "linear")
    u, v = ([f32(0.3 * (i + 1) / (1 if not normalized else size)) for i in range(LANES)] for size in (6, 5))
    probe = probe_with(image, sampler, layered=True)
    probe.fill(U=("f", u), V=("f", v), R=("f", layers), FOUND=("f", [-7.0] * LANES * 4))
    probe.lines.append(f"sample_3d.RGBA (M1, {LANES}) 0x0:uw S0 T8 FOUND.0 U.0 V.0 R.0")
    check(
        probe, lambda i: sampled(image[max(0, min(2, round(layers[i])))], (u[i], v[i]), sampler), None, tolerance=2e-4
    )


@pytest.mark.parametrize(
    ("array", "format", "message"),
    [
        (np.zeros((4, 4, 4), "f4"), "rgba_f31", "unknown format 'rgba_f31'"),
        (
            np.zeros((4, 4, 4), "f4"),
            "rgba_u8",
            "4 channels of type float32, but the format 'rgba_u8' has 4 of type uint8",
        ),
        (np.zeros((4, 4, 3), "f4"), "rgba_f32", "3 channels of type float32"),
        (np.zeros((5, 4), "i1"), "rgba_i8", r"one channel \(its shape \(5, 4\) is height, width\) of type int8"),
        (np.zeros((0, 4, 4), "f4"), "rgba_f32", "empty"),
        (np.zeros((4, 8, 4), "f4")[:, ::2], "rgba_f32", "not contiguous"),
        (np.zeros(4, "f4"), "r_f32", r"shape \(4,\)"),
    ],
)
def test_arrays_that_are_no_images(array, format, message):
    with pytest.raises(LaunchError, match=message) as caught:
        probe_with(array, None, format=format).run("llvm")
    assert f"mean '{format}'" not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_red_alone_is_stored_as_luminance(engine):
    """Reads give green, blue and alpha out of the one element; writes store red alone."""
    array = np.full((1, 2, 1), 7, "u2")
    probe = probe_with(array, None, format="luminance_u16")
    probe.fill(X=("d", [*range(LANES)]), Y=("d", [0] * LANES), DATA=("ud", [5] * LANES * 3))
    probe.lines.append(f"scatter4_typed.GBA (M1, {LANES}) T8 X.0 Y.0 %null.0 %null.0 DATA.0")
    probe.run(engine)
    assert array.tolist() == [[[7], [7]]]
    probe.lines.append(f"scatter4_typed.RB (M1, {LANES}) T8 X.0 Y.0 %null.0 %null.0 DATA.0")
    probe.run(engine)
    assert array.tolist() == [[[5], [5]]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_buffer_is_no_image(engine):
    probe = Probe("tgllp", LANES)
    probe.buffer("B", bytes(64))
    probe.fill(X=("d", [0] * LANES), FOUND=("f", [0] * LANES * 4))
    probe.lines.append(f"gather4_typed.RGBA (M1, {LANES}) T8 X.0 X.0 %null.0 %null.0 FOUND.0")
    with pytest.raises(SimulationError, match="surface 2 is used as an image, but is not one, by 'gather4_typed"):
        probe.run(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_local_memory_is_no_image(engine):
    probe = probe_with(image_of(Random(1), 2))
    probe.fill(X=("d", [0] * LANES), FOUND=("f", [0] * LANES * 4))
    probe.lines.append(f"gather4_typed.RGBA (M1, {LANES}) %slm X.0 X.0 %null.0 %null.0 FOUND.0")
    with pytest.raises(SimulationError, match="%slm is not an image in 'gather4_typed"):
        probe.run(engine)


@pytest.mark.filterwarnings("ignore:.*runs on the numpy engine")
@pytest.mark.parametrize("engine", ENGINES)
def test_an_atomic_is_not_larger_than_a_texel(engine):
    probe = probe_with(np.zeros((2, 2, 1), "u1"), format="r_u8", platform="dg2")
    probe.fill(X=("d", [0] * LANES), A=("ud", [1] * LANES), OLD=("ud", [0] * LANES))
    probe.lines.append(f"lsc_atomic_iadd.tgm (M1, {LANES}) OLD:d32 bti(0x2)[X,X]:a32 A %null")
    with pytest.raises(SimulationError, match="on 4 bytes of an image with elements of 1 in 'lsc_atomic_iadd"):
        probe.run(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_images_than_a_table_of_surfaces(engine):
    """The last of many images, which is beyond what compiled code has a table for."""
    first, *others = [ImageArgument(np.full((1, 1, 1), n, "f4"), "r_f32") for n in range(260)]
    probe = Probe("tgllp", LANES)
    probe.image(first)
    probe.arguments += others
    probe.fill(X=("d", [0] * LANES), FOUND=("f", [0] * LANES * 4))
    probe.lines += ["movs (M1_NM, 1) T8(0) 261:ud", f"gather4_typed.R (M1, {LANES}) T8 X.0 X.0 %null.0 %null.0 FOUND.0"]
    with pytest.warns(VisaWarning, match="more surfaces than the table holds") if engine == "llvm" else nullcontext():
        assert (probe.run(engine)["FOUND"][:LANES] == 259).all()


TYPED_ATOMICS = [
    *((f"typed_atomic.{o}", o, "tgllp") for o in INTEGER_ATOMICS if o != "load"),
    *((f"lsc_atomic_{n}", o, "dg2") for n, o in LSC_NAMES.items() if o in INTEGER_ATOMICS),
]
TYPED_ATOMICS += [(f"lsc_atomic_{n}", o, "dg2") for n, o in LSC_NAMES.items() if o not in INTEGER_ATOMICS]
TYPED_ATOMICS += [(f"lsc_atomic_{n}", f"b{o}", "cri") for n, o in BFLOAT_NAMES.items()]


@pytest.mark.parametrize("form", some_of_each(TYPED_ATOMICS, lambda f: f[1], 2), ids=lambda f: f"{f[0]}-{f[2]}")
@CHECKED
@given(st.data())
def test_typed_atomics(form, data):
    """Lanes in order; lanes outside the image have no effect and get 0."""
    name, op, platform = form
    random = data.draw(randoms)
    running = data.draw(RUNNING) & 255 | 1
    size = 2 if platform == "cri" else 4
    element = "u2" if platform == "cri" else "u4" if op in INTEGER_ATOMICS else "f4"
    original = np.frombuffer(b"".join(atomic_values(random, op, size, 6)), element).reshape(2, 3, 1)
    places = [(random.randrange(-1, 4), random.randrange(0, 2)) for _ in range(LANES)]
    inside = [0 <= x < 3 for x, _ in places]
    first, second = (atomic_values(random, op, size, LANES) for _ in range(2))
    swap = op.endswith(("cmpxchg", "cmpwr"))
    if swap:
        first = [original[y, x].tobytes() if ok else v for (x, y), ok, v in zip(places, inside, first, strict=True)]
    lanes = sum(1 << i for i in range(LANES) if running >> i & 1 and inside[i])
    offsets = [size * (3 * y + x) for x, y in places]
    space, old = model_atomics(op, original.tobytes(), size, offsets, first, second, lanes)
    for engine in ENGINES:
        image = original.copy()
        probe = probe_with(image, None, running, format=f"r_{element[0]}{8 * size}", platform=platform)
        probe.fill(
            X=("d", [p[0] for p in places]),
            Y=("d", [p[1] for p in places]),
            A=("ud", b"".join(x.ljust(4, b"\0") for x in first)),
            B=("ud", b"".join(x.ljust(4, b"\0") for x in second)),
            OLD=("ud", [7] * LANES),
        )
        if platform == "tgllp":
            a, b = ("B", "A") if swap else ("A", "%null")
            probe.lines.append(f"{name} (M1, {LANES}) T8 X.0 Y.0 %null.0 %null.0 {a}.0 {b}.0 OLD.0")
        else:
            shape = "d16u32" if size == 2 else "d32"
            probe.lines.append(f"{name}.tgm (M1, {LANES}) OLD:{shape} bti(0x2)[X,Y]:a32 A {'B' if swap else '%null'}")
        found = probe.run(engine)["OLD"]
        assert image.tobytes() == bytes(space), f"{engine}: {probe.lines}"
        assert found[:LANES].tolist() == [old.get(i, 0) if running >> i & 1 else 7 for i in range(LANES)], engine


def test_typed_status():
    """Bit i is set if lane i's element is in the image."""
    probe = probe_with(image_of(Random(1), 2), platform="dg2")
    probe.fill(X=("d", [0, 6, 7, -1, 3, 3, 3, 3]), Y=("d", [0, 4, 0, 0, 5, -1, 2, 4]), FOUND=("d", [7] * 8))
    probe.lines.append(f"lsc_load_status.tgm (M1, {LANES}) FOUND:d32 bti(0x2)[X,Y]:a32")
    assert all(probe.run(engine)["FOUND"][0] == 0b11000011 for engine in ENGINES)


# -- blocks and the graphics pipeline --------------------------------------------------------------------------


PIXELS = {"r_u8": ("u1", 1), "rg_u8": ("u1", 2), "r_u16": ("u2", 1), "rgba_u8": ("u1", 4), "r_f32": ("f4", 1), "rgba_u16": ("u2", 4), "rgba_u32": ("u4", 4)}  # fmt: skip


def check_block(x, y, size, platform, lines, seed):
    """Load and store of a block of bytes: reads beyond the rim repeat its pixels, writes there do nothing. Rows are padded to a power of two of at least four."""
    width, height = size
    pitch = max(4, 1 << (width - 1).bit_length())
    name = [*PIXELS][seed % len(PIXELS)]
    dtype, channels = PIXELS[name]
    pixel = np.dtype(dtype).itemsize * channels
    original = np.random.default_rng(seed).integers(0, 255, (6, 11 * pixel)).astype("u1")
    payload = np.arange(pitch * height, dtype="u1")
    columns = [max(0, min(10, (x + c) // pixel)) * pixel + (x + c) % pixel for c in range(width)]
    rows = [max(0, min(5, y + r)) for r in range(height)]
    wanted = original.copy()
    for r, c in itertools.product(range(height), range(width)):
        if 0 <= y + r < 6 and 0 <= x + c < 11 * pixel:
            wanted[y + r, x + c] = payload[r * pitch + c]
    for engine in ENGINES:
        image = original.copy().view(dtype).reshape(6, 11, channels)
        probe = probe_with(image, None, format=name, platform=platform)
        probe.fill(
            FOUND=("ub", np.full(pitch * height, 7)), DATA=("ub", payload), X=("d", [x] * LANES), Y=("d", [y] * LANES)
        )
        probe.lines += lines
        found = probe.run(engine)["FOUND"][: pitch * height].reshape(height, pitch)
        assert np.array_equal(found[:, :width], original[np.ix_(rows, columns)]), engine
        assert np.array_equal(image.view("u1").reshape(6, -1), wanted), engine


PLACES = st.one_of(st.integers(-18, 12), st.integers(13, 200))
"""Bytes in front of an image, in its first pixels, and up to behind its rows."""


@CHECKED
@given(PLACES, st.integers(-3, 8), st.sampled_from([(8, 4), (4, 8), (16, 2), (3, 3)]), st.integers(0, 99))
def test_media_blocks(x, y, size, seed):
    place = f"({size[0]},{size[1]}) T8 {x & 0xFFFFFFFF:#x}:ud {y & 0xFFFFFFFF:#x}:ud"
    check_block(x, y, size, "tgllp", [f"media_ld.nomod {place} FOUND.0", f"media_st.nomod {place} DATA.0"], seed)


@pytest.mark.parametrize(
    ("surface", "reason"),
    [
        (".top (4,4) T8", "not interlaced"),
        (".bottom_mod (4,4) T8", "not interlaced"),
        (".nomod (4,4) T8 1", "one plane"),
    ],
)
@pytest.mark.parametrize("name", ["media_ld", "media_st"])
@pytest.mark.parametrize("engine", ENGINES)
def test_parts_that_images_lack(name, surface, reason, engine):
    """Fields of interlaced pictures and planes of planar ones are refused, not taken for the whole picture."""
    probe = probe_with(np.zeros((6, 8, 1), "u1"), format="r_u8")
    probe.fill(FOUND=("ub", [7] * 64))
    probe.lines.append(f"{name}{surface} 0:ud 0:ud FOUND.0")
    with pytest.raises(SimulationError, match=f"{reason}.* in '{name}"):
        probe.run(engine)


@CHECKED
@given(PLACES, st.integers(-3, 8), st.sampled_from([(8, 4), (16, 2), (3, 3)]), st.integers(0, 99))
def test_tiles(x, y, size, seed):
    """The LSC messages for the same, with the place in registers; compression hints do nothing."""
    tile, place = f"{size[0]}x{size[1]}", "bti(0x2)[X,Y]:a32"
    lines = [f"lsc_load_block2d.tgm (M1_NM, 1) FOUND:{tile} {place}", f"lsc_ccs_update.tgm (M1, {LANES}) {place} DATA:d32",
             f"lsc_store_block2d.tgm (M1_NM, 1) {place} DATA:{tile}"]  # fmt: skip
    check_block(x, y, size, "dg2", lines, seed)


@pytest.mark.parametrize("head", ["(P) {} (M1, 1)", "(!P) {} (M1, 1)", "{} (M1, 1)", "{} (M1_NM, 1)"])
@pytest.mark.parametrize("running", [0b10, 0b11])
def test_tiles_under_a_mask(head, running):
    """A block is read and written for the first lane: where that does not run, or its predicate is not set, nothing happens."""
    executes = "_NM" in head or (running & 1 and not head.startswith("(!P)"))
    for engine in ENGINES:
        image = np.full((6, 11, 1), 9, "u1")
        probe = probe_with(image, None, running, format="r_u8", platform="dg2")
        probe.fill(FOUND=("ub", [7] * 64), DATA=("ub", [5] * 64), X=("d", [1] * LANES))
        probe.predicate("P", 1)
        probe.lines.append(f"{head.format('lsc_load_block2d.tgm')} FOUND:8x4 bti(0x2)[X,X]:a32")
        probe.lines.append(f"{head.format('lsc_store_block2d.tgm')} bti(0x2)[X,X]:a32 DATA:8x4")
        found = probe.run(engine)["FOUND"][:32]
        assert (found == (9 if executes else 7)).all() and (image[1:5, 1:9] == (5 if executes else 9)).all(), engine


@CHECKED
@given(st.integers(0, 255))
def test_render_targets(running):
    """Each lane's colours go to the pixel of its work-item."""
    running |= 1
    colours = np.arange(1, 4 * LANES + 1, dtype="f4").reshape(4, LANES)
    for engine in ENGINES:
        image = np.zeros((2, 12, 4), "f4")
        probe = probe_with(image, None, running)
        for c in range(4):
            probe.variable("RGBA"[c] + "_", "f", colours[c])
        probe.lines.append(f"rt_write_3d (M1, {LANES}) T8 %null.0 R_.0 G_.0 B_.0 A_.0")
        probe.run(engine)
        wanted = np.zeros_like(image)
        for i in range(LANES):
            if running >> i & 1:
                wanted[0, i] = colours[:, i]
        assert np.array_equal(image, wanted), engine


def test_urb_writes():
    """Output k of a lane goes to dword k behind its handle, if its channel mask has it."""
    from support.programs import build_text

    from vsim.launch.launch import BufferArgument, Launch
    from vsim.program import Program

    text = (
        kernel_head("HANDLE=ud*8 MASK=ud*8 SLOT=ud*8 DATA=ud*32", SimdSize=8)
        + """mov (M1, 8) HANDLE(0,0)<1> 0x76543210:uv
mov (M1, 8) SLOT(0,0)<1> 1:ud
mov (M1, 8) MASK(0,0)<1> 0xb0000:ud
mul (M1, 8) DATA(0,0)<1> HANDLE(0,0)<1;1,0> 10:ud
add (M1, 8) DATA(1,0)<1> DATA(0,0)<1;1,0> 1:ud
add (M1, 8) DATA(2,0)<1> DATA(0,0)<1;1,0> 2:ud
add (M1, 8) DATA(3,0)<1> DATA(0,0)<1;1,0> 3:ud
urb_write_3d (M1, 8) 4 2 MASK.0 HANDLE.0 SLOT.0 DATA.0
ret (M1, 1)
"""
    )
    urb = np.zeros(64, "u4")
    argument = BufferArgument(urb)
    Program(build_text(text)).run(Launch("k", (8,), (8,), args=[argument], names={"%urb": argument}))
    wanted = np.zeros(64, "u4")
    for i, k in itertools.product(range(8), (0, 1, 3)):
        wanted[4 * (i + 3) + k] = 10 * i + k
    assert np.array_equal(urb, wanted)


# -- raw messages ----------------------------------------------------------------------------------------------

UNTYPED_READ, SVM_SCATTER, UNTYPED_ATOMIC = (
    0x02000000 | 1 << 14 | 2,
    0x02000000 | 0x1A << 14 | 1 << 8 | 255,
    0x02000000 | 2 << 14 | 7 << 8 | 1 << 13 | 2,
)
LSC_LOAD, LSC_STORE = 3 << 7 | 2 << 9, 4 | 3 << 7 | 2 << 9
"""LSC descriptors: flat, 64-bit addresses, one dword for each lane."""
RAW = [
    ("xehp", f"raw_send (M1, 16) 0xc 2 8 {UNTYPED_READ | 1 << 12:#x}:ud OFFSETS.0 FOUND.0", "gather4_scaled.RGBA (M1, 16) T8 0x0:ud OFFSETS.0 FOUND.0"),
    ("xehp", f"raw_sendc (M1, 16) 0xc 2 8 {UNTYPED_READ | 1 << 12:#x}:ud OFFSETS.0 FOUND.0", "gather4_scaled.RGBA (M1, 16) T8 0x0:ud OFFSETS.0 FOUND.0"),
    ("xehp", f"raw_sends.12.2.2.2 (M1, 16) 0xc:ud {UNTYPED_ATOMIC:#x}:ud OFFSETS.0 DATA.0 FOUND.0", "dword_atomic.add (M1, 16) T8 OFFSETS.0 DATA.0 %null.0 FOUND.0"),
    ("xehp", f"raw_sends.12.4.2.0 (M1, 16) 0xc:ud {SVM_SCATTER:#x}:ud PLACES.0 DATA.0 %null.0", "svm_scatter.4.1 (M1, 16) PLACES.0 DATA.0"),
    ("dg2", f"raw_sends.15.4.0.2 (M1, 16) 0xf:ud {LSC_LOAD:#x}:ud PLACES.0 %null.0 FOUND.0", "lsc_load.ugm (M1, 16) FOUND:d32 flat[PLACES]:a64"),
    ("dg2", f"raw_sends.15.4.2.0 (M1, 16) 0xf:ud {LSC_STORE:#x}:ud PLACES.0 DATA.0 %null.0", "lsc_store.ugm (M1, 16) flat[PLACES]:a64 DATA:d32"),
    ("dg2", f"raw_sendsc.4.2.0 (M1, 16) 0xf:ud {LSC_STORE:#x}:ud PLACES.0 DATA.0 %null.0", "lsc_store.ugm (M1, 16) flat[PLACES]:a64 DATA:d32"),
    ("dg2", f"raw_sends_eot.15.4.2.0 (M1, 16) 0xf:ud {LSC_STORE:#x}:ud PLACES.0 DATA.0 %null.0", "lsc_store.ugm (M1, 16) flat[PLACES]:a64 DATA:d32\nret (M1, 1)"),
    ("dg2", f"raw_sendsc_eot.4.2.0 (M1, 16) 0xf:ud {LSC_STORE:#x}:ud PLACES.0 DATA.0 %null.0", "lsc_store.ugm (M1, 16) flat[PLACES]:a64 DATA:d32\nret (M1, 1)"),
]  # fmt: skip


@pytest.mark.parametrize("case", RAW, ids=lambda c: c[1].partition(" ")[0])
@CHECKED
@given(st.integers(0, 65535), st.permutations(range(16)), st.integers(0, 1 << 32))
def test_raw_messages_have_the_effect_of_their_twins(case, running, places, seed):
    platform, raw, equivalent = case
    results = []
    random = Random(seed)
    memory, payload = random.randbytes(512), random.randbytes(64)
    for line in (raw, equivalent):
        for engine in ENGINES:
            probe = Probe(platform, 16, running | 1)
            probe.buffer("MEM", memory)
            probe.fill(OFFSETS=("ud", [16 * p for p in places]), DATA=("ud", payload), FOUND=("ud", bytes(256)))
            probe.addresses("PLACES", "MEM", [16 * p for p in places])
            probe.lines += line.split("\n")
            found = probe.run(engine)
            results.append((bytes(found["MEM"]), bytes(found["FOUND"])))
    assert len(set(results)) == 1, raw
    assert results[0] != (memory, bytes(256)), "the message does nothing"


COVERED = {
    *PARAMETERS, *GATHERS, *LOADS, "sample", "load", "resinfo", "sampleinfo", "gather4_typed", "scatter4_typed", "typed_atomic", "media_ld", "media_st", "rt_write_3d",
    "urb_write_3d", *(case[1].partition(" ")[0].partition(".")[0] for case in RAW),
}  # fmt: skip
COVERED_TYPED = {
    "lsc_load_block2d",
    "lsc_store_block2d",
    "lsc_ccs_update",
    "lsc_load_quad",
    "lsc_store_quad",
    "lsc_store_uncompressed",
    "lsc_load_status",
    *(f[0] for f in TYPED_ATOMICS if f[0].startswith("lsc_")),
}
"""Typed forms of LSC messages."""
