"""The three forms of the address of a block message differ in their bytes, with any values."""

import itertools

import pytest

import visakit
from visakit.binary import read_module
from visakit.diagnostics import Collector
from visakit.text.parser import parse_module
from visakit.text.printer import print_module

VARIABLES = 600
"""So many that the bytes of numbers can name one."""
HEAD = "\n".join(
    [
        *(".version 4.1", '.kernel "k"'),
        *(f".decl N{n} v_type=G type=ud num_elts=2048 align=GRF" for n in range(VARIABLES)),
        ".kernel_attr SimdSize=16",
        "",
    ]
)
OFFSETS = (0, 1, 5, 6, 0x100, 0x105, 0x500, 0x505, -1, -251, -256, -65531, -65536, 65535, 0xFF05, 0x2100)
"""Numbers whose bytes look like tags, types, regions and variables."""
REGISTERS = ("N0", "N223", "N479", "N500(1,0)")
"""Numbers 32, 255 and 511 among them."""
DATA = ("N3", "N223.64", "N250.4032", "N500")
NUMBERS = ("0x0", "0x5", "0x105", "0x1000005", "0xfffffffb", "0x12000000")
BEHIND = ("add (M1, 1) N1(0,0)<1> N2(0,0)<0;1,0> N3(0,0)<0;1,0>", "ret (M1, 1)")


def _payloads():
    for x, y, register in itertools.product(OFFSETS, OFFSETS, REGISTERS):
        yield f"flat[{register}+({x},{y})]"


def _operands():
    for x, register, y in itertools.product(OFFSETS, REGISTERS, (*REGISTERS, *NUMBERS)):
        yield f"flat[N1,0x3f,0x5,N2,{register}{f'{x:+}' if x else ''},{y}]"


@pytest.mark.parametrize("places", [_payloads, _operands], ids=["payloads", "operands"])
def test_forms_are_told_apart(places):
    """Text, its bytes, and the text of these bytes say the same, before whatever instruction the message stands."""
    data, behind = itertools.cycle(DATA), itertools.cycle(BEHIND)
    lines = []
    for place in places():
        payload = next(data)
        lines += [f"lsc_load_block2d.ugm (M1, 1) {payload}:d16.16x16nt {place}", next(behind)]
        lines += [f"lsc_store_block2d.ugm (M1, 1) {place} {payload}:d32.16x8nn", next(behind)]
    text = HEAD + "\n".join(lines) + "\nret (M1, 1)\n"
    collector = Collector()
    parsed = parse_module(text, "k.visaasm", None, collector)
    encoded = visakit.write_module(parsed)
    module = read_module(encoded)
    assert not collector.error_count and len(module.kernels[0].instructions) == len(lines) + 1
    assert print_module(module) == print_module(parsed)
