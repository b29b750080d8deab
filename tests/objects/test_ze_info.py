"""ze_info of compilers is read as by any YAML reader; unusual YAML is refused at once."""

import time

import pytest
import yaml
from support.programs import DATA

from visakit.diagnostics import FormatError
from visakit.objects import yaml_reader, yaml_tree
from visakit.objects.image import parse_ze_info

FILES = sorted(DATA.glob("cases/*/*/ze_info.yaml"))


def test_trees_agree_with_a_yaml_reader():
    assert len(FILES) > 20
    for path in FILES:
        text = path.read_text()
        assert yaml_tree.parse(text, "x")[0] == yaml.safe_load(text), path


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, -2, +3, 0, 007, 0x1F, -0x2, 12345678901234567890]",
        "a: [1.5, .5, -2., 1.0e+3, 1e3, 0.0]",
        "a: [True, FALSE, TRUE, false, ~, null, '', '1', \"2\", , n, y]".replace(", ,", ", x,"),
        "a:\nb: |\n  text\n  more\nc: >\n  folded\n  text\nd: 'it''s'\ne: \"\\n\"\n",
        "a: {b: [1, {c: d}], e: {}}\nf: []\n1: x\n",
        "'a': 1\n? b\n: 2\n",
        "- 1\n- [2]\n",
        "5",
        "",
    ],
)
def test_values_agree_with_a_yaml_reader(text):
    def texts(value):
        """Keys are texts here."""
        return {str(k): v for k, v in value.items()} if isinstance(value, dict) else value

    assert yaml_tree.parse(text, "x")[0] == texts(yaml.safe_load(text))


def test_names_that_were_truth_values_once_are_names():
    """The compiler writes YAML 1.2: arguments called off and no have no quotes."""
    assert yaml_tree.parse("a: [yes, No, off, ON, y, n]", "x")[0] == {"a": ["yes", "No", "off", "ON", "y", "n"]}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("kernels: " + "[" * 2_000_000, "nested deeper"),
        ("kernels: " + "[" * 300_000 + "]" * 300_000, "nested deeper"),
        ('{"kernels": ' + "[" * 300_000 + "]" * 300_000 + "}", "nested deeper"),
        ("- " * 300_000, "nested deeper"),
        ("{" * 300_000, "nested deeper|a list or a mapping"),
        ("kernels: [" + "a, " * (yaml_reader.MAXIMUM_VALUES // 100) + "]", "more than"),
        ("kernels: " + "x" * yaml_tree.MAXIMUM_SIZE, "more than"),
        ('{"kernels": [],\n"kernels": []}', "'kernels' of line 1 occurs again"),
        ("kernels:\n  - name: k\n    simd_size: 8\n    name: l", "'name' of line 2 occurs again"),
        ("kernels: [&a x, *a]", "alias"),
        ("kernels: !x []", "tag"),
        ("kernels: !!int 5", "tag"),
        ("a: \0", "not YAML"),
        ("\ud800", "not YAML"),
        ("kernels: [\n  - x", "not YAML"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_unusual_yaml_is_refused_at_once(text, match, monkeypatch):
    monkeypatch.setattr(yaml_reader, "MAXIMUM_VALUES", yaml_reader.MAXIMUM_VALUES // 200)
    started = time.monotonic()
    with pytest.raises(FormatError, match=match):
        parse_ze_info(text, "x")
    assert time.monotonic() - started < 5
