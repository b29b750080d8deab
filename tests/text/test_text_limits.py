"""Texts and modules beyond every limit: an error with its place, at once."""

import warnings

import pytest
from support.programs import short_id

import visakit
from visakit import AssemblyError, FormatError, UsageError
from visakit.language.operands import General, PredicateControl
from visakit.language.program import Attribute, Declared

START = '.version 4.1\n.kernel "k"\n.decl V v_type=G type=d num_elts=8\n'
END = "ret (M1, 1)\n"
NUMBER = "mov (M1, 8) V(0,0)<1> {}:d\n"


def declarations(kind, count):
    return "".join(f".decl X{n} v_type={kind} num_elts=1\n" for n in range(count))


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ('.kernel_attr OutputAsmPath="' + "a" * 256 + '"\n', "V029", 4),
        ('.kernel "' + "a" * 0x10000 + '"\n', "V029", 4),
        (declarations("P", 4096), "V029", 4 + 4095),
        (declarations("S", 32), "V029", 4 + 31),
        (declarations("T", 251), "V029", 4 + 250),
        ("".join(f"L{n}:\n" for n in range(0x10000)), "V029", 4 + 0xFFFF),
        ("fcall (M1, 8) f 0 0\n" * 0x10000, "V029", None),
        (".kernel_attr NoBarrier\n" * 0x10000, "V029", None),
        (".decl W v_type=G type=d num_elts=8 attrs={" + ",".join(["Input"] * 256) + "}\n", "V029", 4),
        (".decl W v_type=G type=d num_elts=32768\n.input W offset=32\n", "V029", 5),
        (f".implicit_UNDEFINED_{'9' * 5000} V offset=32 size=4\n", "V029", 4),
        ("switchjmp (M1, 1) V(0,0)<0;1,0> (" + ",".join(f"L{n}" for n in range(256)) + ")\n", "V029", 4),
        ("{\n" * 1001, "V029", 4 + 999),
        (NUMBER.format("9" * 10_000_000), "V001", 4),
        (NUMBER.format("9" * 4380), "V021", 4),
        (NUMBER.format("-" * 5000 + "1"), "V001", 4),
        (NUMBER.format("(" + "0+" * 50_000 + "0)"), "V001", 4),
        (NUMBER.format("(" + "*".join(["0x" + "f" * 900] * 90) + ")"), "V020", 4),
        ("mov (M1, 8) V(0,0)<1> 1e999:f\n", "V021", 4),
        ("mov (M1, 8) V(0,0)<1> 0x1p9999:f\n", "V021", 4),
        (f"dpas.s8.s8.{'9' * 4380}.8 (M1, 8) V.0 V.0 V.0 V(0,0)\n", "V004", 4),
        ("lsc_load_block2d.ugm (M1, 1) V:d32.16x99999nn flat[V,1,1,1,V,V]\n", "V021", 4),
        ("{" * 100_000 + "\n", "V001", 4),
        ('"/*' * 50_000 + "\n", "V002", 4),
        ("// \ud800\n", "V001", 4),
        ('fcall (M1, 8) "\ud800" 0 0\n', "V001", 4),
        ('fcall (M1, 8) "\\x00" 0 0\n', "V023", 4),
    ],
    ids=short_id,
)
def test_text(body, code, line):
    with pytest.raises(AssemblyError) as caught:
        visakit.assemble(START + body + END)
    first = next(d for d in caught.value.diagnostics if d.severity == "error")
    assert first.code == code
    assert first.span is not None and (line is None or first.span.line == line)


def test_many_kernels():
    text = ".version 4.1\n" + "".join(f'.kernel "k{n}"\n{END}' for n in range(20))
    module = visakit.read_module(visakit.assemble(text))
    module.kernels *= 4000
    with pytest.raises(UsageError, match="kernels: 80000, at most 65535"):
        visakit.write_module(module)


def changed(change):
    module = visakit.read_module(visakit.assemble(START + ".decl P1 v_type=P num_elts=8\n" + NUMBER.format(1) + END))
    function = module.kernels[0]
    change(function, function.instructions[0].args)
    return module


@pytest.mark.parametrize(
    "change",
    [
        lambda f, a: f.attributes.append(Attribute(0, "A", bytes(256))),
        lambda f, a: f.surfaces.extend([Declared(0, "T", 1)] * 1000),
        lambda f, a: f.samplers.extend([Declared(0, "S", 1)] * 1000),
        lambda f, a: f.predicates.extend([Declared(0, "P", 1)] * 70_000),
        lambda f, a: f.predicates.extend([Declared(0, "P", 1)] * 4095),
        lambda f, a: setattr(f.variables[0], "elements", 70_000),
        lambda f, a: setattr(f, "name", "k" * 70_000),
        lambda f, a: f.strings.append("\ud800"),
        lambda f, a: f.strings.append(None),
        lambda f, a: a.update(dst=General(32, 256, 0, (None, None, 1))),
        lambda f, a: a.update(dst=General(32, 0, 0, (None, None, 3))),
        lambda f, a: a.update(dst=None),
        lambda f, a: a.update(pred=PredicateControl(4096)),
        lambda f, a: a.pop("exec"),
    ],
)
def test_module(change):
    with pytest.raises(UsageError, match="this module cannot be written"):
        visakit.write_module(changed(change))


def test_coordinates_left_out_behind_one_that_was_given():
    text = START + ".decl W v_type=G type=ud num_elts=32\n"
    load = "lsc_load_quad.tgm (M1, 8) W:d32.x bti(0x3)[{}]:a32\n"
    whole = visakit.assemble(text + load.format("V,V,V") + load.format("V,V") + END)
    assert visakit.assemble(visakit.disassemble(whole)) == whole


@pytest.mark.parametrize("name", ["a\u202eb", "ä", "a\tb", 'a"b\\', "\udcff", "a b", "\x01"])
def test_names_keep_their_bytes(name):
    from visakit.text.operand_printer import quote

    data = visakit.assemble(f".version 4.1\n.kernel {quote(name)}\nfcall (M1, 8) {quote(name)} 0 0\n{END}")
    module = visakit.read_module(data)
    assert module.kernels[0].name == name and module.kernels[0].strings[-2] == name
    assert quote(name).isprintable()
    assert visakit.assemble(visakit.disassemble(data)) == data


def test_two_targets():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = visakit.assemble(START + '.kernel_attr Target="3d"\n' * 2 + END)
    assert visakit.assemble(visakit.disassemble(data)) == data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.variables.reverse(), "order"),
        (lambda f: f.strings.append("x"), "strings that nothing uses"),
        (lambda f: setattr(f, "linkage", 2), "linkage"),
        (lambda f: f.attributes.clear(), "strings that nothing uses"),
        (lambda f: setattr(f.variables[0], "alias", (33, 0)), "alias"),
        (lambda f: setattr(f.variables[1], "string", f.variables[0].string), "order"),
        (lambda f: f.instructions.clear() or setattr(f, "input_size", 1), "sizes of arguments"),
    ],
)
def test_modules_without_a_text_form(change, message):
    text = START + ".decl W v_type=G type=ud num_elts=8\n" + END
    module = visakit.read_module(visakit.assemble(text))
    change(module.kernels[0])
    with pytest.raises(FormatError, match=message) as caught:
        visakit.disassemble(module)
    assert caught.value.diagnostics[0].code == "C003"


def test_function_without_a_body():
    data = bytearray(visakit.assemble(START + END))
    data[15:19] = bytes(4)  # behind magic number, version, count, length and name stand offset and size
    with pytest.raises(FormatError, match="k has no body"):
        visakit.read_module(bytes(data))
