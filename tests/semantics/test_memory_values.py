"""Messages to memory on both engines against models over Python bytes: gathers, scatters, blocks, matrices, atomics."""

import struct
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import scalar
from support.probe import Probe
from support.strategies import CHECKED, ENGINES, RUNNING, chosen, numbers, randoms, rotated, some_of_each

import visakit
from visakit import SimulationError
from visakit.language.platforms import find
from vsim.engines.llvm.host import native

SPACE = 4096


@dataclass
class Gather:
    """A load of each lane and the store of the same shape.

    ``where``: a surface with offsets, addresses, or a base with offsets. ``parts`` are the byte offsets of the elements of a lane.
    """

    load: str
    store: str
    memory: int
    register: int
    parts: list
    where: str
    platform: str = "xehp"
    lanes: int = 16
    unit: int = 1

    def __str__(self):
        return f"{self.load}-{self.platform}"


def _parts(name):
    return [4 * "RGBA".index(c) for c in name]


GATHERS = [
    *(Gather(f"gather_scaled.{n}", f"scatter_scaled.{n}", n, 4, [0], "surface") for n in (1, 2, 4)),
    *(
        Gather(f"gather4_scaled.{c}", f"scatter4_scaled.{c}", 4, 4, _parts(c), "surface")
        for c in ("RGBA", "RG", "GA", "B")
    ),
    *(Gather(f"gather.{n}", f"scatter.{n}", n, 4, [0], "surface", unit=n) for n in (1, 2, 4)),
    *(Gather(f"qw_gather.{n}", f"qw_scatter.{n}", 8, 8, [8 * k for k in range(n)], "offsets") for n in (1, 2)),
    *(Gather(f"svm_gather.1.{n}", f"svm_scatter.1.{n}", n, 4, [0], "flat") for n in (1, 2, 4)),
    *(Gather(f"svm_gather.4.{n}", f"svm_scatter.4.{n}", 4, 4, [4 * k for k in range(n)], "flat") for n in (1, 2, 4, 8)),
    *(Gather(f"svm_gather.8.{n}", f"svm_scatter.8.{n}", 8, 8, [8 * k for k in range(n)], "flat") for n in (1, 2, 4)),
    *(Gather(f"svm_gather4scaled.{c}", f"svm_scatter4scaled.{c}", 4, 4, _parts(c), "base") for c in ("RGBA", "RB")),
]
LSC_SIZES = {"d8": (1, 1), "d16": (2, 2), "d32": (4, 4), "d64": (8, 8), "d8c32": (1, 4), "d16c32": (2, 4)}
for _platform in ("dg2", "pvc"):
    for _size, (_m, _r) in LSC_SIZES.items():
        for _count in (1, 2, 3, 4, 8) if _size in ("d32", "d64") else (1,):
            for _where in ("lsc flat", "lsc surface") if _count == 1 or _platform == "dg2" else ("lsc flat",):
                _x = f"{_size}x{_count}" if _count > 1 else _size
                _n = 16 if _platform == "dg2" or _count > 2 else 32
                GATHERS.append(
                    Gather(
                        f"lsc_load:{_x}",
                        f"lsc_store:{_x}",
                        _m,
                        _r,
                        [_m * k for k in range(_count)],
                        _where,
                        _platform,
                        _n,
                    )
                )
GATHERS += [
    Gather(
        f"lsc_load_quad:d32.{c}", f"lsc_store_quad:d32.{c}", 4, 4, [4 * "xyzw".index(k) for k in c], "lsc flat", "dg2"
    )
    for c in ("xyzw", "xz", "w")
]
GATHERS += [Gather("lsc_load:d32", "lsc_store_uncompressed:d32", 4, 4, [0], "lsc flat", "dg2")]


def message(g, op, shift):
    """The line of a message; ``shift`` is its global or immediate offset."""
    mask = f"(M1, {g.lanes})"
    if g.where == "surface":
        return f"{op} {mask} T8 {shift}:ud OFFSETS.0 DATA.0"
    if g.where == "offsets":
        return f"{op} {mask} T8 OFFSETS.0 DATA.0"
    if g.where == "base":
        return f"{op} {mask} MEM(0,0)<0;1,0> ADDRESSES_OFFSETS.0 DATA.0"
    if g.where == "flat":
        return f"{op} {mask} ADDRESSES.0 DATA.0"
    name, _, data = op.partition(":")
    place = f"bti(0x2)[OFFSETS+{shift:#x}]:a32" if "surface" in g.where else f"flat[ADDRESSES+{shift:#x}]:a64"
    return f"{name}.ugm {mask} DATA:{data} {place}" if "load" in name else f"{name}.ugm {mask} {place} DATA:{data}"


@pytest.mark.parametrize(("g", "way"), rotated(GATHERS, ["load", "store"]), ids=str)
@CHECKED
@given(st.data())
def test_gathers_and_scatters(g, way, data):
    store, random = way == "store", data.draw(randoms)
    span = g.parts[-1] + g.memory
    slots = (SPACE - 256) // span
    # Lanes may load from one address; what two of them store to one is tested below.
    places = [random.randrange(slots) for _ in range(g.lanes)] if not store else random.sample(range(slots), g.lanes)
    shift = data.draw(chosen([0, 16, 64], f"{g} {store}"))
    offsets = [p * (span if g.unit == 1 else 1) for p in places]
    grf = find(g.platform).grf_size
    step = -(-g.lanes * g.register // grf) * grf
    payload, memory = random.randbytes(step * len(g.parts)), random.randbytes(SPACE)
    running = data.draw(st.integers(0, (1 << g.lanes) - 1)) | 1
    probe = Probe(g.platform, g.lanes, running)
    probe.buffer("MEM", memory)
    probe.fill(OFFSETS=("ud", offsets), DATA=("ud", payload))
    probe.addresses("ADDRESSES", "MEM", offsets)
    line = message(g, g.store if store else g.load, shift)
    probe.lines.append(line)
    registers, space = bytearray(payload), bytearray(memory)
    shift = shift * g.unit if g.where in ("surface",) or g.where.startswith("lsc") else 0
    for k, part in enumerate(g.parts):
        for i in range(g.lanes):
            at, register = offsets[i] * g.unit + shift + part, step * k + g.register * i
            if running >> i & 1 and store:
                space[at : at + g.memory] = registers[register : register + g.memory]
            elif running >> i & 1:
                registers[register : register + g.register] = space[at : at + g.memory].ljust(g.register, b"\0")
    for engine in ENGINES:
        found = probe.run(engine)
        assert bytes(found["DATA"].view(np.uint8)[: len(registers)]) == registers, f"{engine}: {line}"
        assert bytes(found["MEM"]) == space, f"{engine}: {line}"


@CHECKED
@given(st.data())
def test_of_lanes_that_store_to_one_address_the_highest_wins(data):
    places = data.draw(st.lists(st.integers(0, 3), min_size=16, max_size=16))
    running = data.draw(RUNNING)
    probe = Probe(running=running)
    probe.buffer("MEM", bytes(64))
    probe.fill(OFFSETS=("ud", [4 * p for p in places]), DATA=("ud", range(1, 17)))
    probe.lines.append("scatter_scaled.4 (M1, 16) T8 0:ud OFFSETS.0 DATA.0")
    wanted = [0] * 16
    for i, p in enumerate(places):
        if running >> i & 1:
            wanted[p] = i + 1
    assert all(probe.run(engine)["MEM"].view("u4").tolist() == wanted for engine in ENGINES)


@CHECKED
@given(st.data())
def test_local_memory(data):
    """Stores to local memory and loads from it, as data port and as LSC messages, with addresses of two and four bytes."""
    to, back = data.draw(st.permutations(range(16))), data.draw(st.lists(st.integers(0, 15), min_size=16, max_size=16))
    values = data.draw(numbers("ud", 16))
    space = [0] * 16
    for place, value in zip(to, values, strict=True):
        space[place] = value
    wanted = [space[p] for p in back]
    messages = {
        "xehp": (
            "scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 DATA.0",
            "gather_scaled.4 (M1, 16) %slm 0:ud BACK.0 FOUND.0",
        ),
        "dg2": ("lsc_store.slm (M1, 16) flat[TO]:a32 DATA:d32", "lsc_load.slm (M1, 16) FOUND:d32 flat[BACK]:a32"),
        "pvc": ("lsc_store.slm (M1, 16) flat[TO]:a32 DATA:d32", "lsc_load.slm (M1, 16) FOUND:d32 flat[SHORT]:a16"),
    }
    for platform, lines in messages.items():
        probe = Probe(platform)
        probe.attributes.append(".kernel_attr SLMSize=1")
        probe.fill(
            TO=("ud", [4 * x for x in to]),
            BACK=("ud", [4 * x for x in back]),
            SHORT=("uw", [4 * x for x in back]),
            DATA=("ud", values),
            FOUND=("ud", [7] * 16),
        )
        probe.lines += lines
        assert all(probe.run(engine)["FOUND"].tolist() == wanted for engine in ENGINES), platform


BLOCKS = [
    *((f"oword_ld ({n})", f"oword_st ({n})", 16 * n, 16, "surface", "xehp") for n in (1, 2, 4, 8)),
    *((f"oword_ld_unaligned ({n})", "", 16 * n, 1, "surface", "xehp") for n in (1, 2, 4, 8)),
    *((f"svm_block_ld ({n})", f"svm_block_st ({n})", 16 * n, 1, "flat", "xehp") for n in (1, 2, 4, 8)),
    *((f"lsc_load:d32x{n}t", f"lsc_store:d32x{n}t", 4 * n, 1, "lsc", "dg2") for n in (1, 2, 4, 8, 16, 32, 64)),
    *((f"lsc_load:d64x{n}t", f"lsc_store:d64x{n}t", 8 * n, 1, "lsc", "pvc") for n in (1, 4, 16, 64)),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b[0])
@CHECKED
@given(st.data())
def test_blocks(block, data):
    load, store, size, unit, where, platform = block
    for op in (load, store) if store else (load,):
        random = data.draw(randoms)
        at = random.randrange((SPACE - size) // 16) * (16 // unit)
        memory, payload = random.randbytes(SPACE), random.randbytes(size)
        probe = Probe(platform)
        probe.buffer("MEM", memory)
        probe.fill(PLACE=("uq", [0]), DATA=("ud", payload + bytes(-size % 4)))
        name, _, shape = op.partition(":")
        if where == "surface":
            line = f"{op} T8 {at}:ud DATA.0"
        else:
            probe.lines.append(f"add (M1_NM, 1) PLACE(0,0)<1> MEM(0,0)<0;1,0> {at}:ud")
            place = "flat[PLACE]:a64"
            line = (
                f"{op} PLACE(0,0)<0;1,0> DATA.0"
                if where == "flat"
                else f"{name}.ugm (M1_NM, 1) {f'DATA:{shape} {place}' if 'load' in name else f'{place} DATA:{shape}'}"
            )
        probe.lines.append(line)
        first = at * unit
        for engine in ENGINES:
            found = probe.run(engine)
            if op == load:
                assert bytes(found["DATA"].view(np.uint8)[:size]) == memory[first : first + size], f"{engine}: {line}"
            else:
                assert bytes(found["MEM"]) == memory[:first] + payload + memory[first + size :], f"{engine}: {line}"


@CHECKED
@given(st.data())
def test_strided(data):
    """Lane i accesses base + i * pitch."""
    random = data.draw(randoms)
    base, pitch, running = 4 * random.randrange(64), 4 * random.randrange(1, 20), data.draw(RUNNING)
    memory, payload = random.randbytes(SPACE), data.draw(numbers("ud", 16))
    probe = Probe("dg2", running=running)
    probe.buffer("MEM", memory)
    probe.buffer("COPY", memory)
    probe.fill(FIRST=("uq", [0]), SECOND=("uq", [0]), DATA=("ud", payload), FOUND=("ud", [7] * 16))
    probe.lines += [f"add (M1_NM, 1) FIRST(0,0)<1> MEM(0,0)<0;1,0> {base}:ud", f"add (M1_NM, 1) SECOND(0,0)<1> COPY(0,0)<0;1,0> {base}:ud",
                    f"lsc_load_strided.ugm (M1, 16) FOUND:d32 flat[FIRST,{pitch}]:a64", f"lsc_store_strided.ugm (M1, 16) flat[SECOND,{pitch}]:a64 DATA:d32"]  # fmt: skip
    words, wanted = list(struct.unpack(f"<{SPACE // 4}I", memory)), [7] * 16
    stored = list(words)
    for i in range(16):
        if running >> i & 1:
            wanted[i], stored[(base + i * pitch) // 4] = words[(base + i * pitch) // 4], payload[i]
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["FOUND"].tolist() == wanted and found["COPY"].view("u4").tolist() == stored, engine


def raw_matrices(probe, way, size, how, moved, registers, stores):
    """A prefetch, a load and perhaps a store by raw messages, which have the shape in their payload alone."""
    descriptor = (size.bit_length() - 1) << 9 | ("v" in how) << 7 | ("t" in how) << 15
    extended = 0xF | (moved[0] & 0x3FF) << 12 | (moved[1] & 0x3FF) << 22
    load, store = descriptor | 1 << 25 | 3, descriptor | 1 << 25 | 7
    length = min(registers, 31)
    if way == "contiguous":
        probe.variable("WHOLE", "ud", bytes(64) + bytes(probe.variables["DATA"][1]))
        probe.lines += ["mov (M1_NM, 16) WHOLE(0,0)<1> PLACE(0,0)<1;1,0>"]
        probe.lines += [f"mov (M1_NM, 16) WHOLE({n + 1},0)<1> DATA({n},0)<1;1,0>" for n in range(registers)]
        messages = [f"raw_send (M1, 1) 0xf 1 {min(length, 16)} {load:#x}:ud PLACE.0 FOUND.0"]
        return messages + [f"raw_send (M1_NM, 16) 0xf {registers + 1} 0 {store:#x}:ud WHOLE.0 %null.0"] * stores
    messages = [
        f"raw_sends.15.1.0.{n} (M1, {lanes}) {extended:#x}:ud {load:#x}:ud PLACE.0 %null.0 {to}.0"
        for n, lanes, to in ((0, 16, "%null"), (length, 1, "FOUND"))
    ]
    return (
        messages
        + [f"raw_sends.15.1.{registers}.0 (M1_NM, 1) {extended:#x}:ud {store:#x}:ud PLACE.0 DATA.0 %null.0"] * stores
    )


@CHECKED
@pytest.mark.parametrize("addressing", ["operands", "offsets", "payload", "raw", "contiguous"])
@given(st.data(), st.sampled_from([("d32", 4, 16, 8, 1, ""), ("d16", 2, 16, 16, 1, ""), ("d8", 1, 32, 8, 1, ""), ("d16", 2, 16, 8, 2, ""), ("d32", 4, 8, 8, 1, "t"),
                                   ("d16", 2, 16, 16, 1, "v"), ("d8", 1, 16, 16, 1, "v"), ("d32", 4, 5, 3, 1, ""), ("d64", 8, 4, 8, 1, "t"),
                                   ("d64", 8, 8, 5, 1, ""), ("d8", 1, 12, 7, 2, "v"), ("d16", 2, 5, 8, 1, "tv"), ("d16", 2, 32, 32, 1, "v"), ("d8", 1, 8, 3, 4, "")]))  # fmt: skip
def test_matrices(addressing, data, shape):
    """Blocks of a matrix, also across its rim: the address in operands, with offsets of x and y, or in a payload."""
    name, size, width, height, blocks, how = shape
    random = data.draw(randoms)
    columns, rows, pitch = 64 // size, 12, 80
    x, y = random.randrange(-4, 12), random.randrange(-4, 10)
    memory = random.randbytes(2048)
    order = "t" if "t" in how else "n"
    vnni = "t" if "v" in how else "n"
    text = f"{name}.{f'{blocks}x' if blocks > 1 else ''}{width}x{height}{order}{vnni}"
    padded = 1 << ((height if order == "t" else width) - 1).bit_length()
    group = 4 // size if vnni == "t" else 1
    down = -(-(width if order == "t" else height) // group) * group
    each = -(-down * padded * size // 64) * 64
    payload = random.randbytes(each * blocks)
    probe = Probe("pvc")
    probe.buffer("MEM", memory)
    most = {"operands": 0, "contiguous": 0, "raw": 511}.get(addressing, 2000)
    across, down = (random.randrange(-most, most + 1) for _ in range(2))
    limits = [columns * size - 1, rows - 1, pitch - 1]
    words = [0, 0, *limits, x - across, y - down, blocks - 1 << 16 | height - 1 << 8 | width - 1]
    probe.fill(PLACE=("d", words), DATA=("ud", payload), FOUND=("ud", payload))
    probe.declarations.append(".decl BASE v_type=G type=uq num_elts=1 alias=<PLACE,0>")
    probe.lines.append("mov (M1_NM, 1) BASE(0,0)<1> MEM(0,0)<0;1,0>")
    if addressing in ("payload", "raw", "contiguous"):
        matrix = f"flat[PLACE+({across},{down})]"
    else:
        x_offset, y_offset = (f"{n:+}" if n else "" for n in (across, down))
        matrix = f"flat[BASE,{limits[0]:#x},{limits[1]:#x},{limits[2]:#x},PLACE(0,5){x_offset},PLACE(0,6){y_offset}]"
    stores, raw = blocks == 1 and not how, addressing in ("raw", "contiguous")
    if raw:
        probe.lines += raw_matrices(probe, addressing, size, how, (across, down), each * blocks // 64, stores)
    else:
        probe.lines.append(f"lsc_load_block2d.ugm (M1_NM, 1) %null:{text} {matrix}")
        probe.lines.append(f"lsc_load_block2d.ugm (M1_NM, 1) FOUND:{text} {matrix}")
    if stores and not raw:
        probe.lines.append(f"lsc_store_block2d.ugm (M1_NM, 1) {matrix} DATA:{text}")
    wanted, space = bytearray(len(payload)), bytearray(memory)  # zeros between rows and behind blocks
    for b in range(blocks):
        for r in range(-(-height // group) * group if order == "n" else height):
            for c in range(width if order == "n" else -(-width // group) * group):
                line, n = (c, r) if order == "t" else (r, c)
                element = line // group * padded * group + n * group + line % group
                register = b * each + element * size
                row, column = y + r, x + b * width + c
                at = row * pitch + column * size
                inside = 0 <= row < rows and 0 <= column < columns
                wanted[register : register + size] = memory[at : at + size] if inside else bytes(size)
                if inside and stores:
                    space[at : at + size] = payload[register : register + size]
    for engine in ENGINES:
        found = probe.run(engine)
        assert bytes(found["FOUND"].view(np.uint8)[: len(wanted)]) == wanted, f"{engine}: {text} {matrix}"
        assert bytes(found["MEM"]) == space, f"{engine}: {text}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("lsc_load_block2d.slm (M1_NM, 1) FOUND:d32.16x1nn flat[MEM,0x3f,0x0,0x3f,0x0,0x0]", "are in flat memory"),
        ("lsc_load.slm (M1, 16) FOUND:d32 bti(0x2)[FOUND]:a32", "has no surfaces, and the address is written bti"),
    ],
)
def test_local_memory_has_neither_matrices_nor_surfaces(engine, line, reason):
    probe = Probe("bmg")
    probe.buffer("MEM", bytes(64))
    probe.fill(FOUND=("ud", [0] * 16))
    probe.lines.append(line)
    with pytest.raises(visakit.VisaError, match=reason):
        probe.run(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_matrix_of_the_greatest_width(engine):
    """Its bytes are one more than a dword holds."""
    probe = Probe("bmg")
    probe.buffer("MEM", bytes(range(64)))
    probe.fill(FOUND=("ud", [7] * 16))
    probe.lines.append("lsc_load_block2d.ugm (M1_NM, 1) FOUND:d32.16x1nn flat[MEM,0xffffffff,0x0,0xffffffff,0x0,0x0]")
    assert bytes(probe.run(engine)["FOUND"].view(np.uint8)) == bytes(range(64))


@pytest.mark.parametrize("engine", ENGINES)
def test_payloads_describe_their_blocks(engine):
    """A payload of another shape than its message is a fault, and none where the message does not execute."""
    probe = Probe("bmg")
    probe.buffer("MEM", bytes(64))
    probe.fill(PLACE=("ud", [0, 0, 63, 0, 63, 0, 0, 0x2030F]), FOUND=("ud", [7] * 16))
    probe.lines.append("lsc_load_block2d.ugm (M1_NM, 1) FOUND:d32.16x1nn flat[PLACE+(0,0)]")
    with pytest.raises(
        visakit.SimulationError, match=r"describes 3x16x4 .* the instruction 1x16x1, by 'lsc_load_block2d"
    ):
        probe.run(engine)
    probe.predicate("NONE", 0)
    probe.lines = [f"(NONE) {probe.lines[0].replace('M1_NM', 'M1')}"]
    assert probe.run(engine)["FOUND"].tolist() == [7] * 16


@pytest.mark.parametrize("engine", ENGINES)
def test_raw_messages_have_room_for_the_blocks_of_their_payload(engine):
    """More registers than the message has are a fault, and none where the message does not execute."""
    probe = Probe("pvc")
    probe.buffer("MEM", bytes(64))
    probe.fill(PLACE=("ud", [0, 0, 63, 0, 63, 0, 0, 0x1010F]), FOUND=("ud", [7] * 64))
    probe.lines.append("raw_sends.15.1.0.3 (M1_NM, 1) 0xf:ud 0x2000403:ud PLACE.0 %null.0 FOUND.0")
    with pytest.raises(visakit.SimulationError, match=r"blocks of 4 registers, the message has 3, by 'raw_sends"):
        probe.run(engine)
    probe.predicate("NONE", 0)
    probe.lines = [f"(NONE) {probe.lines[0].replace('M1_NM', 'M1')}"]
    assert probe.run(engine)["FOUND"].tolist() == [7] * 64


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("raw_sends.15.1.0.1 (M1, 1) 0xf:ud 0x2000803:ud", "a size that elements of a matrix do not have"),
        ("raw_sends.15.1.0.1 (M1, 1) 0xf:ud 0x62000403:ud", "in flat memory"),
        ("raw_sends.14.1.0.1 (M1, 1) 0xe:ud 0x2000403:ud", "in flat memory"),
        ("raw_sends.15.1.0.1 (M1, 1) X(0,0)<0;1,0> 0x2000403:ud", "extended descriptor is not a constant"),
        ("raw_sends.15.1.0.1 (M1, 1) 0xf:ud 0x2008283:ud", "transposed or in VNNI form"),
        ("raw_sends.15.1.0.1 (M1, 1) 0xf:ud 0x2008407:ud", "stored unchanged"),
    ],
)
def test_raw_blocks_without_an_instruction(message, reason):
    probe = Probe("pvc")
    probe.fill(X=("ud", [0] * 16))
    probe.lines.append(f"{message} X.0 X.0 X.0")
    with pytest.raises(visakit.LaunchError, match=f"cannot be executed: .*{reason}"):
        probe.run("numpy")


@CHECKED
@given(st.data())
def test_load_status(data):
    """Bit i is set if lane i's address is in a buffer."""
    offsets = data.draw(st.lists(st.sampled_from([0, 4, 60, 1 << 20, 64, 61]), min_size=16, max_size=16))
    probe = Probe("dg2")
    probe.buffer("MEM", bytes(64))
    probe.fill(FOUND=("ud", [7] * 16))
    probe.addresses("PLACES", "MEM", offsets)
    probe.lines.append("lsc_load_status.ugm (M1, 16) FOUND:d32 flat[PLACES]:a64")
    wanted = sum(1 << i for i, o in enumerate(offsets) if o + 4 <= 64)
    assert all(probe.run(engine)["FOUND"][0] == wanted for engine in ENGINES)


def test_messages_without_effect():
    """Fences and compression hints change neither registers nor memory."""
    probe = Probe("dg2")
    probe.buffer("MEM", bytes(range(64)))
    probe.fill(OFFSETS=("ud", range(0, 64, 4)), DATA=("ud", range(16)))
    probe.lines += ["lsc_ccs_update.ugm (M1, 16) bti(0x2)[OFFSETS]:a32 DATA:d32", "lsc_fence.ugm.evict.gpu", "fence_global", "fence_local", "fence_sw", "yield",
                    "sampler_cache_flush", "wait 0x0:ud", "lifetime.start DATA", "lifetime.end DATA"]  # fmt: skip
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["DATA"].tolist() == list(range(16)) and bytes(found["MEM"]) == bytes(range(64))


# -- atomics ---------------------------------------------------------------------------------------------------


def _wrap(x, bits):
    return x & ((1 << bits) - 1)


def _signed(x, bits):
    return x - (1 << bits) if x >> (bits - 1) else x


INTEGER_ATOMICS = {
    "add": lambda old, a, b, n: old + a, "sub": lambda old, a, b, n: old - a, "inc": lambda old, a, b, n: old + 1, "dec": lambda old, a, b, n: old - 1,
    "min": lambda old, a, b, n: min(old, a), "max": lambda old, a, b, n: max(old, a), "xchg": lambda old, a, b, n: a,
    "cmpxchg": lambda old, a, b, n: b if old == a else old, "and": lambda old, a, b, n: old & a, "or": lambda old, a, b, n: old | a,
    "xor": lambda old, a, b, n: old ^ a, "minsint": lambda old, a, b, n: min(_signed(old, n), _signed(a, n)),
    "maxsint": lambda old, a, b, n: max(_signed(old, n), _signed(a, n)), "load": lambda old, a, b, n: old,
}  # fmt: skip
"""New contents from the old ones and the operands; a compare-and-swap compares with ``a`` and writes ``b``."""
FLOAT_ATOMICS = {
    "fadd": lambda old, a, b, t: scalar.add(old, a, t), "fsub": lambda old, a, b, t: scalar.add(old, -a, t), "fmin": lambda old, a, b, t: min(old, a),
    "fmax": lambda old, a, b, t: max(old, a), "fcmpwr": lambda old, a, b, t: b if old == a else old,
}  # fmt: skip
LSC_NAMES = {
    "iadd": "add", "isub": "sub", "iinc": "inc", "idec": "dec", "umin": "min", "umax": "max", "store": "xchg", "icas": "cmpxchg", "and": "and", "or": "or",
    "xor": "xor", "smin": "minsint", "smax": "maxsint", "load": "load", "fadd": "fadd", "fsub": "fsub", "fmin": "fmin", "fmax": "fmax", "fcas": "fcmpwr",
}  # fmt: skip
BFLOAT_NAMES = {n.replace("f", "bf", 1): o for n, o in LSC_NAMES.items() if o in FLOAT_ATOMICS}
PORT_OPS = [o for o in (*INTEGER_ATOMICS, *FLOAT_ATOMICS) if o != "load"]


def model_atomics(op, memory, size, offsets, first, second, running):
    """Memory afterwards and old values by lane, lanes in ascending order."""
    space, old_values = bytearray(memory), {}
    floats = {2: "bf" if op.startswith("b") else "hf", 4: "f", 8: "df"}
    for i, offset in enumerate(offsets):
        if not running >> i & 1:
            continue
        raw = bytes(space[offset : offset + size])
        old_values[i] = int.from_bytes(raw, "little")
        if op.removeprefix("b") in FLOAT_ATOMICS:
            t = floats[size]
            old, a, b = (scalar.decode(np.frombuffer(r, scalar.DTYPES[t]), t)[0] for r in (raw, first[i], second[i]))
            new = scalar.encode(FLOAT_ATOMICS[op.removeprefix("b")](old, a, b, t), t)
        else:
            a, b = (int.from_bytes(r, "little") for r in (first[i], second[i]))
            new = _wrap(INTEGER_ATOMICS[op](old_values[i], a, b, 8 * size), 8 * size).to_bytes(size, "little")
        space[offset : offset + size] = new
    return space, old_values


def atomic_values(random, op, size, count):
    """Elements as bytes: small whole numbers, so that sums of floats are exact often, never NaN or a negative zero."""
    t = "bf" if op.startswith("b") else {2: "hf", 4: "f", 8: "df"}[size]
    if op.removeprefix("b") in FLOAT_ATOMICS:
        few = (1.0, 2.0, 0.5, -3.25, 100.0)
        return [scalar.encode(scalar.narrow(random.choice([*few, random.uniform(-5, 5)]), t), t) for _ in range(count)]
    return [random.choice([random.randbytes(size), (3).to_bytes(size, "little"), b"\xff" * size]) for _ in range(count)]


ATOMIC_FORMS = [
    *((f"dword_atomic.{o}", o, 4, "xehp") for o in PORT_OPS), *((f"svm_atomic.{o}", o, 4, "xehp") for o in PORT_OPS),
    *((f"svm_atomic.{o}.64", o, 8, "xehp") for o in INTEGER_ATOMICS if o != "load"),
    *((f"lsc_atomic_{n}:d32", o, 4, "dg2") for n, o in LSC_NAMES.items()),
    *((f"lsc_atomic_{n}:d64", o, 8, "pvc") for n, o in LSC_NAMES.items()),
    *((f"lsc_atomic_{n}:d16c32", o, 2, "pvc") for n, o in LSC_NAMES.items()),
    *((f"lsc_atomic_{n}:d16u32", f"b{o}", 2, "cri") for n, o in BFLOAT_NAMES.items()),
]  # fmt: skip


@pytest.mark.parametrize("form", some_of_each(ATOMIC_FORMS, lambda f: f[1], 2), ids=lambda f: f[0])
@CHECKED
@given(st.data())
def test_atomics(form, data):
    """All lanes of a message one after the other, several of them at one address."""
    name, op, size, platform = form
    random = data.draw(randoms)
    lanes = 16
    register = max(4, size)
    offsets = [register * random.randrange(6) for _ in range(lanes)]
    memory = b"".join(v.ljust(register, b"\0") for v in atomic_values(random, op, size, 16))
    first, second = (atomic_values(random, op, size, lanes) for _ in range(2))
    if op.endswith(("cmpxchg", "cmpwr")):
        first = [memory[o : o + size] if random.random() < 0.7 else v for o, v in zip(offsets, first, strict=True)]
    running = data.draw(RUNNING) | 1
    probe = Probe(platform, lanes, running)
    probe.buffer("MEM", memory)
    padding = random.randbytes(register * lanes)
    x_bytes, y_bytes = (b"".join(v.ljust(register, b"\0") for v in values) for values in (first, second))
    probe.fill(OFFSETS=("ud", offsets), OLD=("ud", padding), X=("ud", x_bytes), Y=("ud", y_bytes))
    probe.addresses("PLACES", "MEM", offsets)
    swap = op.endswith(("cmpxchg", "cmpwr"))
    # The data port's compare-and-swap has the new value first, LSC's has it last.
    x, y = ("Y", "X") if swap else ("X", "%null")
    if op in ("inc", "dec", "load"):
        x = "%null"
    wants = data.draw(chosen([True, False, True], name))
    old = "OLD" if wants else "%null"
    if name.startswith("dword"):
        line = f"{name} (M1, 16) T8 OFFSETS.0 {x}.0 {y}.0 {old}.0"
    elif name.startswith("svm"):
        line = f"{name} (M1, 16) PLACES.0 {old}.0 {x}.0 {y}.0"
    else:
        mnemonic, _, shape = name.partition(":")
        place = data.draw(chosen(["bti(0x2)[OFFSETS]:a32", "flat[PLACES]:a64"], name))
        a, b = ("X", "Y") if swap else (x, "%null")
        line = f"{mnemonic}.ugm (M1, 16) {old}:{shape} {place} {a} {b}"
    probe.lines.append(line)
    space, old_values = model_atomics(op, memory, size, offsets, first, second, running)
    wanted = bytearray(padding)
    for i, value in old_values.items() if wants else ():
        wanted[register * i : register * (i + 1)] = value.to_bytes(register, "little")
    for engine in ENGINES:
        found = probe.run(engine)
        assert bytes(found["MEM"]) == space, f"{engine}: {line}"
        assert bytes(found["OLD"].view(np.uint8)[: len(wanted)]) == wanted, f"{engine}: {line}"


LOCAL_FORMS = {"d32": (4, "dg2", 3), "d64": (8, "pvc", 1), "d16c32": (2, "pvc", 1)}
"""Size, platform, and how often all operations follow each other: 42 of them are more than have code inline."""


@pytest.mark.parametrize("shape", LOCAL_FORMS)
@CHECKED
@given(st.data())
def test_atomics_of_local_memory(shape, data):
    """All operations on integers one after the other, whose old values show the results of the operations before."""
    size, platform, rounds = LOCAL_FORMS[shape]
    random, running, lanes, register = data.draw(randoms), data.draw(RUNNING) | 1, 16, max(4, size)
    offsets = [register * random.randrange(6) for _ in range(lanes)]
    first, second = (atomic_values(random, "add", size, lanes) for _ in range(2))
    probe = Probe(platform, lanes, running)
    probe.attributes.append(".kernel_attr SLMSize=1")
    x, y = (b"".join(v.ljust(register, b"\0") for v in values) for values in (first, second))
    probe.fill(PLACES=("ud", offsets), X=("ud", x), Y=("ud", y))
    space, wanted = bytes(64), {}
    names = [(n, o) for n, o in LSC_NAMES.items() if o in INTEGER_ATOMICS and o != "load"]
    for k, (name, op) in enumerate([*names * rounds, ("load", "load")]):
        old = f"OLD{k}" if k % 3 == 0 else "%null"
        a, b = ("X", "Y") if op == "cmpxchg" else ("%null" if op in ("inc", "dec", "load") else "X", "%null")
        probe.lines.append(f"lsc_atomic_{name}.slm (M1, 16) {old}:{shape} flat[PLACES]:a32 {a} {b}")
        space, old_values = model_atomics(op, space, size, offsets, first, second, running)
        if old != "%null":
            probe.fill(**{old: ("ud", bytes(register * lanes))})
            wanted[old] = b"".join(old_values.get(i, 0).to_bytes(register, "little") for i in range(lanes))
    for engine in ENGINES:
        found = probe.run(engine)
        assert {n: found[n].tobytes()[: len(v)] for n, v in wanted.items()} == wanted, engine


@pytest.mark.parametrize("running", [0xFFFF, 0x7F00])
def test_atomics_outside_local_memory(running):
    """The first lane outside is named, whether all lanes run or some."""
    probe = Probe("dg2", 16, running)
    probe.attributes.append(".kernel_attr SLMSize=1")
    probe.fill(PLACES=("ud", [1021 if i in (9, 12) else 4 * i for i in range(16)]))
    probe.lines.append("lsc_atomic_iinc.slm (M1, 16) %null:d32 flat[PLACES]:a32 %null %null")
    for engine in ENGINES:
        with pytest.raises(SimulationError, match="lane 9"):
            probe.run(engine)


COVERED = {
    *(name.partition(":")[0].partition(".")[0] for g in GATHERS for name in (g.load, g.store)), *(b[k].partition(":")[0].partition(" ")[0] for b in BLOCKS for k in (0, 1) if b[k]),
    "lsc_load_strided", "lsc_store_strided", "lsc_load_block2d", "lsc_store_block2d", "lsc_load_status", "lsc_ccs_update", "lsc_fence", "fence_global", "fence_local",
    "fence_sw", "yield", "sampler_cache_flush", "wait", "lifetime.start", "lifetime.end", *(f[0].partition(".")[0].partition(":")[0] for f in ATOMIC_FORMS),
}  # fmt: skip


BYTES = """\
define void @run(ptr %p, ptr %to) {
  %v = load <2 x i8>, ptr %p, align 1
  %a = extractelement <2 x i8> %v, i64 1
  %q = getelementptr i8, ptr %p, i64 2
  %b = load i8, ptr %q, align 1
  %high = zext i8 %a to i16
  %low = zext i8 %b to i16
  %s = shl i16 %high, 8
  %r = or i16 %s, %low
  store i16 %r, ptr %to, align 1
  ret void
}
"""


def test_bytes_that_are_put_together_the_other_way_round():
    """Byte 1 of a vector, and below it the byte behind the vector: LLVM 22 would take the vector's first two bytes."""
    memory, out = np.array([1, 2, 3], "u1"), np.zeros(2, "u1")
    code = native.Native([native.compile_object(BYTES)])
    code.run(memory.ctypes.data, out.ctypes.data)
    assert out.tolist() == [3, 2]
