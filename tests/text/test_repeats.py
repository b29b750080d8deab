"""Instructions that were read before are known by their bytes, in large functions: the same modules, texts and errors."""

import pytest
from support.programs import DATA

import visakit
from visakit.binary import code_reader
from visakit.text import printer

GOLDEN = sorted((DATA / "golden").glob("*.isa"))
BODY = "".join(f"add (M1, 8) X{n % 3}(0,0)<1> X{n % 2}(0,0)<1;1,0> {n % 7}:d\n" for n in range(200))
DECLARATIONS = "".join(f".decl X{n} v_type=G type=d num_elts=8\n" for n in range(3))
TEXT = f'.version 4.1\n.kernel "k"\n{DECLARATIONS}{BODY}ret (M1, 1)\n'


def read(data):
    """A module and its text, or the error's message."""
    try:
        module = visakit.read_module(data)
        return module, visakit.disassemble(module)
    except visakit.FormatError as error:
        return str(error)


@pytest.fixture
def from_the_first(monkeypatch):
    """Small functions count as large ones."""

    def begin():
        monkeypatch.setattr(code_reader, "LARGE_CODE", 0)
        monkeypatch.setattr(printer, "LARGE", 0)

    return begin


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_modules_are_the_same(path, from_the_first):
    data = path.read_bytes()
    plain = read(data)
    from_the_first()
    assert read(data) == plain


def test_repeated_instructions_share_fields_and_damage_is_found(from_the_first):
    data = visakit.assemble(TEXT)
    damaged = [data[:-n] for n in (1, 4, 9, 40)] + [
        data[: -4 - n] + bytes([data[-4 - n] ^ 0x80]) + data[-3 - n :] for n in range(1, 90)
    ]
    plain = [read(d) for d in damaged]
    from_the_first()
    module = visakit.read_module(data)
    fields = {id(i.args) for i in module.kernels[0].instructions}
    assert len(fields) < 60 < len(module.kernels[0].instructions) == 201
    assert visakit.write_module(module) == data
    assert [read(d) for d in damaged] == plain and any(isinstance(p, str) for p in plain)
