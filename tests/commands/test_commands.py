"""The command lines: help, completion, forms of options, wrong usage word by word, exit codes, pipes, signals."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest
from support.commands import APPS, said
from support.golden_files import module_of
from support.programs import ROOT, build_text
from typer.main import get_command

from vasm.assembler import assemble_text
from visakit.cli import all_commands
from visakit.commands.command import exit_code
from visakit.diagnostics import Diagnostic, Label, Span, did_you_mean, render, render_gnu
from visakit.language.platforms import PLATFORMS, find

SMALL = '.version 4.1\n.kernel "k"\nret (M1, 1)\n'
ENDLESS = '.version 4.1\n.kernel "k"\nagain:\njmp (M1, 1) again\nret (M1, 1)\n'


def run(tool, *words, **more):
    return subprocess.run(
        [sys.executable, "-m", module_of(tool), *map(str, words)], capture_output=True, cwd=ROOT, **more
    )


def parsed(tool, words):
    """The parameters that a command line stands for."""
    taken = {}
    command = get_command(APPS[tool])
    command.callback = lambda **given: taken.update(given) or 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("visakit.commands.command.get_command", lambda app: command)
        assert exit_code(APPS[tool], tool, words.split()) == 0
    return {name: list(value) if isinstance(value, tuple) else value for name, value in taken.items()}


# -- help and completion


PANELS = {
    "vasm": [
        "Arguments",
        "Options",
        "Output",
        "Rules for make",
        "Checks",
        "Inline assembly",
        "A new kernel",
        "Diagnostics",
    ],
    "vdis": ["Arguments", "Options", "Output", "What is shown", "Diagnostics"],
    "vlink": ["Arguments", "Options", "Output", "Inputs", "What is linked", "Diagnostics"],
    "vsim": [
        "Arguments",
        "Options",
        "What is launched",
        "Execution",
        "Results",
        "Captures",
        "Trace",
        "Checks",
        "CTM target",
        "Diagnostics",
    ],
}


@pytest.mark.parametrize("width", ["9" * 30, "wide", "\u00b2", ""], ids=ascii)
def test_help_with_odd_widths_of_the_terminal(width):
    environment = os.environ | dict.fromkeys(("COLUMNS", "LINES", "TERMINAL_WIDTH"), width)
    shown = subprocess.run(
        [sys.executable, "-m", "vasm.vdis", "--help"], env=environment, capture_output=True, text=True
    )
    assert (shown.returncode, shown.stderr) == (0, "") and "Usage" in shown.stdout


@pytest.mark.parametrize("tool", APPS)
def test_help_groups_options_and_ends_with_examples(tool, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, text, errors = said(capsys, tool, "--help")
    assert (code, errors) == (0, "") and "\x1b" not in text
    own = [panel for panel in PANELS[tool] if panel not in ("Options", "Diagnostics")]
    assert re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE) == [*own, "Diagnostics", "Options", "Examples"]
    for parameter in get_command(APPS[tool]).params:
        assert parameter.help and all(
            re.search(rf"(?<![\w-]){name}[\s,]", text) for name in parameter.opts if name[0] == "-"
        )
    assert said(capsys, tool, "-h")[1] == text
    examples = re.findall(rf"^  ({tool} .+?) *$", text.partition("Examples")[2], re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        parsed(*example.partition(" <")[0].split(" ", 1))


COMPLETED = {tool: partial(APPS.get, tool) for tool in APPS} | {"visakit": all_commands}


@pytest.mark.parametrize("tool", COMPLETED)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_script(tool, shell, capsys, monkeypatch):
    app = COMPLETED[tool]()
    monkeypatch.setenv(f"_{tool.upper()}_COMPLETE", f"source_{shell}")
    with pytest.raises(SystemExit, match=r"^0$"):
        exit_code(app, tool, [])
    script = capsys.readouterr().out
    assert f"_{tool.upper()}_COMPLETE" in script and f"complete_{shell}" in script
    assert {"--install-completion", "--show-completion"} <= {n for p in get_command(app).params for n in p.opts}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vasm --platform t", "tgllp"),
        ("vasm -W out", "out-of-bounds"),
        ("vasm -W error=out", "error=out-of-bounds"),
        ("vasm --explain V01", "V010"),
        ("vasm --emit i", "isa"),
        ("vlink --platform pv", "pvc"),
        ("vdis --error-format s", "sarif"),
        ("vsim --engine n", "numpy"),
        ("vsim --schedule re", "reverse"),
        ("vsim --max", "--max-seconds"),
        ("visakit do", "doctor"),
        ("visakit exec --keep", "--keep-texts"),
        ("visakit exec --platform dg", "dg2"),
        ("visakit opencl --error-format g", "gnu"),
    ],
)
def test_completion_of_values(words, expected, capsys, monkeypatch):
    tool = words.split()[0]
    monkeypatch.setenv(f"_{tool.upper()}_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit, match=r"^0$"):
        exit_code(COMPLETED[tool](), tool, [])
    found = capsys.readouterr().out.split()
    assert expected in found and all(f.startswith(words.split()[-1]) for f in found)


# -- forms of options


def test_forms_of_options():
    given = parsed("vlink", "a.o -L x -Ly -lm -l n -oout.bin b.o -MD -r --map - -")
    assert (given["files"], given["library_dirs"], given["libraries"]) == (["a.o", "b.o", "-"], ["x", "y"], ["m", "n"])
    assert (given["output"], given["map_file"], given["make_rule"], given["relocatable"]) == (
        "out.bin",
        "-",
        True,
        True,
    )
    given = parsed("vasm", "-gok.o -MF k.d -Wno-no-return -W error=no-return --max-errors=3 k")
    assert (given["debug"], given["output"], given["make_rule"], given["make_rule_file"]) == (True, "k.o", False, "k.d")
    assert (given["warnings"], given["max_errors"]) == (["no-no-return", "error=no-return"], 3)
    given = parsed("vasm", "-o=k.o --platform TGL -- -g --emit")
    assert (given["output"], given["platform"], given["files"]) == ("k.o", "tgllp", ["-g", "--emit"])
    given = parsed("vsim", "--arg 0=-1 k.bin --arg=-x=2 --max-seconds -1.5")
    assert (given["arguments"], given["image"], given["max_seconds"]) == (["0=-1", "-x=2"], "k.bin", -1.5)


USAGE = [
    ("vasm", "", "there is no input; see vasm --help"),
    ("vasm", "k --emit obk", "--emit: 'obk' is not one of 'obj', 'isa'; did you mean 'obj'?"),
    ("vasm", "k --emit elf", "--emit: 'elf' is not one of 'obj', 'isa'"),
    ("vasm", "k --error-format jsn", "--error-format: 'jsn' is not one of 'human', 'gnu', 'json', 'sarif'; did you mean 'json'?"),
    ("vasm", "k --max-errors 0", "--max-errors: '0' is not a whole number from 1 on"),
    ("vasm", "k --platfrom tgl", "there is no option '--platfrom'; did you mean '--platform' or '--list-platforms'?"),
    ("vasm", "k --plat tgl", "there is no option '--plat'; did you mean '--platform'?"),
    ("vasm", "k -platform tgl", "there is no option '-platform'; did you mean '--platform'?"),
    ("vasm", "k -output x", "there is no option '-output'; did you mean '-o'?"),
    ("vasm", "k -out-dir=x", "there is no option '-out-dir=x'; did you mean '--out-dir'?"),
    ("vasm", "k -p tgl", "there is no option '-p'; did you mean '--platform'?"),
    ("vasm", "k -g -e x", "there is no option '-e'; see vasm --help"),
    ("vasm", "k -Werror", "-W error: there is no warning 'error'; --fatal-warnings makes errors of all"),
    ("vlink", "k -e k", "there is no option '-e'; did you mean '--entry'?"),
    ("vsim", "k.cl -g", "there is no option '-g'; a compiler gets it by '--build-options=-g'"),
    ("vsim", "k.cl -cl-std=CL3.0", "there is no option '-cl-std=CL3.0'; a compiler gets it by '--build-options=-cl-std=CL3.0'"),
    ("vasm", "k -gx", "there is no option '-x'; see vasm --help"),
    ("vasm", "k -o", "-o needs FILE behind it"),
    ("vasm", "k -o --emit isa", "-o needs FILE behind it, found '--emit'"),
    ("vasm", "k --emit", "--emit needs obj or isa behind it"),
    ("vasm", "k --fatal-warnings=1", "option '--fatal-warnings' does not take a value; see vasm --help"),
    ("vasm", "a b -o c", "-o names one output, but there are several inputs; use --out-dir"),
    ("vasm", "a -o b --out-dir c", "-o and --out-dir exclude each other"),
    ("vasm", "k -W no-out-of-bound", "-W no-out-of-bound: there is no warning 'out-of-bound'; did you mean 'out-of-bounds'?"),
    ("vasm", "--explain V01O", "there is no message 'V01O'; did you mean 'V071' or 'V051'?"),
    ("vdis", "", "FILE is missing; see vdis --help"),
    ("vlink", "--data x", "--data takes NAME=FILE, found 'x'"),
    ("vsim", "", "IMAGE is missing: name an image, a zebin, OpenCL C (.cl) or SPIR-V, or --replay DIR"),
    ("vsim", "k --threads two", "--threads: 'two' is not a whole number from 1 on"),
    ("vsim", "k --max-seconds soon", "--max-seconds: 'soon' is not a number of seconds"),
    ("vsim", "k --engine lvm", "--engine: 'lvm' is not one of 'auto', 'llvm', 'numpy'; did you mean 'llvm'?"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "words", "message"), USAGE, ids=lambda value: str(value)[:30])
def test_wrong_usage(tool, words, message, capsys):
    assert said(capsys, tool, *words.split()) == (2, "", f"{tool}: {message}\n")


def test_platforms_are_named_and_one_is_suggested(capsys):
    code, out, text = said(capsys, "vlink", "--platform", "tglp")
    assert (code, out) == (2, "") and text.startswith("vlink: --platform: 'tglp' is not a platform; ")
    assert "platforms are skl, " in text and "did you mean 'tgllp' or 'tgl'?" in text and text.count("\n") == 1


DEVICES = """
    skl kbl cfl apl bxt glk whl aml cml icllp lkf ehl jsl tgllp rkl adl-s adl-p adl-n dg1 acm-g10 ats-m150 dg2-g10 acm-g11
    ats-m75 dg2-g11 acm-g12 dg2-g12 pvc-sdv pvc gen11 gen12lp gen9 xe-hp xe-hpc xe-hpg tgl rpl-s rpl-p dg2-g10-a0 dg2
    dg2-g11-b1 pvc-xl-a0 pvc-xl-a0p pvc-xt-c0 pvc-vg pvc-xt-c0-vg mtl-u-a0 arl-s arl-u mtl-m mtl-s mtl-u mtl mtl-h mtl-p arl-h
    arl-h-b0 bmg-g21 bmg bmg-g21-a1 bmg-g31 lnl-a0 lnl-m ptl-h-a0 ptl-h ptl ptl-u wcl wcl-a1 nvl-s-a0 nvl-hx nvl-s nvl-ul nvl-h
    nvl-u nvl-p nvl-p-b0 cri cri-a0 xe2 xe3 xe3p xe-hpc-vg xe-lp xe-lpg xe-lpgplus xe2-hpg xe2-lpg xe3-lpg xe3p-lpg xe3p-xpc
    lnl icl adl rpl arl acm
"""
"""Names that ocloc takes, today's and that of 2023 (23.26), some with steppings, and words for several of them."""
ABSENT = {"bdw", "gen8", "xe"}
"""What ocloc has besides: a generation before the first platform, and a word for several platforms."""


def test_platforms_have_the_names_of_the_compiler(capsys):
    """Each name is a platform, and --list-platforms shows it."""
    for tool in APPS:
        code, table, errors = said(capsys, tool, "--list-platforms")
        assert (code, errors) == (0, "")
    for name in DEVICES.split():
        assert find(name), name
        assert re.sub(r"-[a-d]\d\w?(?=-|$)", "", name) in table.split() or name == "lnl-a0"
    shown = [line.split() for line in table.partition("\n\n")[0].splitlines()]
    assert [words[0] for words in shown if words[0] in PLATFORMS] == list(PLATFORMS)


@pytest.mark.skipif(not shutil.which("ocloc"), reason="the compiler driver ocloc is not installed")
def test_platforms_have_the_names_of_the_installed_compiler():
    text = subprocess.run(["ocloc", "compile", "--help"], capture_output=True, text=True).stdout
    names = re.search(r"<device_type> can be: (.*?),? (?:ip )?version", text)[1].split(", ")
    assert {name for name in names if not find(name)} <= ABSENT and len(names) > 20


# -- exit codes, streams, signals


def test_input_at_fault_is_reported_in_the_chosen_style_and_leaves_no_output(tmp_path, capsys):
    text, out = tmp_path / "k.visaasm", tmp_path / "k.o"
    text.write_text(SMALL + "rat (M1, 1)\n")
    code, _, found = said(capsys, "vasm", text, "-o", out)
    assert code == 1 and found.startswith(f"{text}:4:1: error: ") and not out.exists()
    for style, start in (("gnu", f"{text}:4:1: error: "), ("json", "[\n"), ("sarif", '{\n "version"')):
        assert said(capsys, "vasm", text, "-o", out, "--error-format", style)[2].startswith(start)
    for tool in ("vdis", "vlink", "vsim"):
        code, _, found = said(capsys, tool, tmp_path / "missing", "--error-format", "json")
        assert code == 1 and '"code": "F001"' in found
    code, _, found = said(capsys, "vasm", text, "--out-dir", text)
    assert code == 1 and "[F001]" in found


@pytest.mark.parametrize("tool", APPS)
def test_json_is_one_array_whatever_happens(tool, tmp_path, capsys):
    """Done, warned, at fault, wrong usage: standard error is an array of objects with the fields of docs/json.md."""
    fields = re.findall(r"^\| `(\w+)` \| (\w[\w ]*) \|", (ROOT / "docs" / "json.md").read_text(), re.MULTILINE)
    kinds = {"string": str, "number": int, "array": list, "string or null": (str, type(None))}
    known = {name: kinds[kind] for name, kind in fields[: fields.index(("labels", "array")) + 1]}
    (tmp_path / "k.visaasm").write_text(SMALL)
    (tmp_path / "k.bin").write_bytes(build_text(SMALL).to_bytes())
    (tmp_path / "k.o").write_bytes(assemble_text(SMALL).object_bytes())
    good = {"vasm": "k.visaasm -o x.o", "vdis": "k.o", "vlink": "k.o -o x.bin", "vsim": "k.bin"}[tool].split()
    good = [str(tmp_path / w) if "." in w else w for w in good]
    for words, code in ((good, 0), ([tmp_path / "none"], 1), (["--none"], 2), ([*good, "--platform", "x"], 2)):
        for style in (["--json"], ["--error-format=json"]):
            found, _, errors = said(capsys, tool, *words, *style)
            assert errors or style == ["--json"]
            items = json.loads(errors or "[]")
            assert found == code and bool(items) == bool(code)
            for item in items:
                assert {name: isinstance(item[name], kind) for name, kind in known.items()} == dict.fromkeys(item, True)
    assert said(capsys, tool, "--none", "--error-format", "sarif")[2].startswith('{\n "version"')
    assert said(capsys, tool, "--none", "--error-format", "gnu", "--json")[2].startswith(f"{tool}: there is")


def test_standard_streams_and_python_m():
    text = run("vasm", "-", "-o", "-", input=SMALL.encode())
    assert text.returncode == 0 and text.stdout[:4] == b"\x7fELF" and not text.stderr
    back = run("vdis", "-", input=text.stdout)
    assert back.returncode == 0 and b"\nret (M1, 1)" in back.stdout.replace(b"    ", b"")
    image = run("vlink", "-", "-o", "-", input=text.stdout)
    assert image.returncode == 0 and image.stdout[:4] == b"\x7fELF"
    assert run("vsim", "-", input=image.stdout).stdout.startswith(b"k: done")


def test_version_loads_few_modules():
    for tool in APPS:
        assert run(tool, "--version").stdout.decode() == f"{tool} (visakit) 0.1.0\n"
    code = (
        "import sys, vasm.cli\nfrom visakit.commands.command import exit_code\n"
        "assert exit_code(vasm.cli.app, 'vasm', ['-', '-o', '/dev/null']) == 0\n"
        "print(sorted({'rich', 'pydantic', 'numpy', 'llvmlite', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=SMALL, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[]\n", done.stderr


def test_closed_pipe(tmp_path):
    text = SMALL.replace(
        "ret", ".decl V32 v_type=G type=d num_elts=8\n" + "mov (M1, 8) V32(0,0)<1> 1:d\n" * 9000 + "ret"
    )
    (tmp_path / "big.isa").write_bytes(assemble_text(text).isa)
    words = [sys.executable, "-m", "vasm.vdis", str(tmp_path / "big.isa")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as command:
        assert command.stdout.readline() == b".version 4.1\n"
        command.stdout.close()
        assert command.stderr.read() == b"" and command.wait(60) == 1


@pytest.mark.parametrize(("engine", "more"), [("llvm", []), ("numpy", []), ("numpy", ["--json"])])
def test_interrupt(engine, more, tmp_path):
    (tmp_path / "k.bin").write_bytes(build_text(ENDLESS).to_bytes())
    os.mkfifo(tmp_path / "launch.json")
    words = [sys.executable, "-m", "vsim", "k.bin", "--launch", "launch.json", "--engine", engine, *more]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as command:
        # Opening waits until the command reads. Wherever its work is then, the interrupt is told in one way.
        (tmp_path / "launch.json").write_text('{"launches": [{"kernel": "k", "global_size": [1]}]}')
        time.sleep(0.5)
        assert command.poll() is None
        command.send_signal(signal.SIGINT)
        out, errors = command.communicate(timeout=60)
    assert (command.returncode, out) == (130, b"")
    if more:
        assert [(d["code"], d["message"]) for d in json.loads(errors)] == [("U004", "interrupted")]
    else:
        assert errors == b"vsim: interrupted\n"


def test_a_removed_working_directory_is_an_error(tmp_path):
    script = f"mkdir gone; cd gone; rmdir ../gone; exec {sys.executable} -m vasm x.visaasm"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "vasm: the working directory is gone\n")


@pytest.mark.parametrize("port", ["0", "65536", "99999999999999999999", "٣"])
def test_ports_are_numbers_of_ports(port):
    done = run("visakit", "dap", "--port", port, encoding="utf-8")
    assert (done.returncode, done.stderr) == (2, f"visakit dap: --port: '{port}' is no port, which are 1 to 65535\n")


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("visakit", "dap", "--port", port, text=True)
    assert done.returncode == 1 and done.stderr.startswith(f"error: port {port}: Address already in use")


OF_CTM = {
    "launch", "out_dir", "max_seconds", "allow_paths", "as_json", "group", "ctm", "image", "trace", "trace_groups",
    "explain", "error_format", "list_platforms", "version", "install_completion", "show_completion", "replay",
}  # fmt: skip
"""Parameters of ``vsim`` that images of the CTM target have; ``--replay`` takes a folder in place of the image."""


def test_options_that_ctm_images_do_not_have_are_refused(tmp_path):
    """Each of them, with a value that it takes: none is passed over."""
    values = {"--trace-lanes": "1", "--global-size": "8", "--platform": "dg2", "--max-memory": "1G", "--cost": "dg2"}
    for name in ("collatz", "functions"):
        run("vasm", f"samples/ctm/collatz/{name}.ctm", "-o", tmp_path / f"{name}.o")
    run("vlink", tmp_path / "collatz.o", tmp_path / "functions.o", "-o", tmp_path / "i.bin")
    refused = [p for p in get_command(APPS["vsim"]).params if p.name not in OF_CTM]
    assert len(refused) > 20
    for parameter in refused:
        option = parameter.opts[0]
        words = [option] if parameter.is_flag else [option, values.get(option, "1")]
        trace = ["--trace", "-"] if option.startswith("--trace") else []
        assert exit_code(APPS["vsim"], "vsim", [str(tmp_path / "i.bin"), *trace, *words]) == 2, option


def test_long_lines_and_names_are_cut():
    """A message shows the place in a line of a megabyte, and the ends of a name that long."""
    line = "a" * 500_000 + "HERE" + "b" * 500_000
    hint = "c" * 500_000
    d = Diagnostic("V002", f"'{line}' is unknown", Span("f", 1, 500_001, 4, text=line), hint)
    message, text, caret, last = render([d]).splitlines()
    assert text[caret.index("^") :].startswith("HERE") and caret.count("^") == 4
    assert text.startswith(" 1 | ...a") and text.endswith("b...")
    assert message.startswith("f:1:500001: error: 'aaa") and message.endswith("bbb' is unknown [V002]")
    assert max(map(len, (message, text, caret, last, render_gnu(d)))) < 5000
    for start in (1, 2, 80, 81, 82, 999_990, 1_000_004):
        shown, mark = render([replace(d, span=Span("f", 1, start, 4, text=line))]).splitlines()[1:3]
        assert shown[mark.index("^")] == line[start - 1]


def test_control_characters_are_escaped():
    """Control characters of file names in messages move no cursor, reverse no line and begin no line."""
    name = "a\nb\x1b[2J\u202ec\udcff\x85"
    span = Span(name, 1, 3, 1, text="x\t\x1b[31my")
    d = Diagnostic("S011", f"there is no kernel '{name}'", span, f"hint {name}", (Label(span, f"note {name}"),))
    shown = r"a\nb\x1b[2J\u202ec\udcff\x85"
    assert render_gnu(d) == rf"{shown}:1:3: error: there is no kernel '{shown}' [S011] (hint {shown})"
    human = render([d])
    assert human.count(shown) == 6 - 1 and len(human.splitlines()) == 7 and "\x1b" not in human
    assert " 1 | x\t\ufffd[31my" in human
    assert json.loads(render([d], "json"))[0]["file"] == name


def test_of_names_as_near_the_first_letter_decides():
    assert did_you_mean("adx", ["mad", "max", "mov", "add"]).startswith("did you mean 'add' or ")
    assert did_you_mean("MUL", ["mulh", "mul"]) == "did you mean 'mul'?"
