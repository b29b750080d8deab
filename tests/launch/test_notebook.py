"""What notebooks show: text of any kind is escaped, and the notebook of the samples runs."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from support.programs import ROOT, build_text

import vasm
from visakit import AssemblyError
from visakit.notebook import escape, highlighted, table
from vsim.program import Program

NOTEBOOK = ROOT / "samples" / "python" / "notebook.ipynb"
EVIL = "<script>alert('1 & \"2\"')</script>"
TEXT = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1
.decl R v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=16
.input OUT offset=64 size=8
mov (M1_NM, 16) R(0,0)<1> 7:ud
svm_block_st (4) OUT(0,0)<0;1,0> R.0
ret (M1, 1)
"""


class Reader(HTMLParser):
    """The text of HTML, and its elements, which all end."""

    def __init__(self, html):
        super().__init__()
        self.text, self.open, self.tags = "", [], set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "html", [table(EVIL, (EVIL,), [(EVIL,)]), highlighted(EVIL), highlighted(f'// {EVIL}\n"{EVIL}')]
)
def test_all_text_is_escaped(html):
    found = Reader(html)
    assert EVIL in found.text and "script" not in found.tags


def test_text_in_colours_is_the_text():
    assert Reader(highlighted(TEXT)).text == TEXT.rstrip("\n")
    assert 'bold">mov</span>' in highlighted(TEXT) and escape("<'>") == "&lt;&#x27;&gt;"
    assert Reader(highlighted("x\n" * 1000)).text.endswith("600 more lines")


def test_objects_show_themselves():
    program = Program(build_text(TEXT))
    assert "OUT" in Reader(program._repr_html_()).text and "OUT" in Reader(program["k"]._repr_html_()).text
    result = program["k"](np.zeros(16, "u4"), global_size=32, check="race")
    shown = Reader(result._repr_html_()).text
    assert re.search(r"work items32groups\d+threads2", shown) and "svm_block_st (4) OUT(0,0)<0;1,0> R.0" in shown
    assert result.findings[0].code in Reader(result.findings[0]._repr_html_()).text
    assembly = vasm.assemble_text(TEXT, "t.visaasm")
    assert "svm_block_st" in Reader(assembly._repr_html_()).text
    with pytest.raises(AssemblyError) as error:
        vasm.assemble_text(TEXT.replace("7:ud", "7:<b>"), "t.visaasm")
    found = Reader(error.value.diagnostics[0]._repr_html_())
    assert found.tags == {"pre"} and "7:<b>" in found.text


def test_the_notebook_of_the_samples_runs():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [
        o["data"]["text/html"] for c in notebook.cells for o in c.get("outputs", ()) if "text/html" in o.get("data", {})
    ]
    assert len(shown) == 5 and "mul" in shown[0] and "K001" in shown[-1]
