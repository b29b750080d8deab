"""Files of a profile: every format says the same counts, of a kernel that calls, branches and waits."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from support.programs import COPY, build_text, profiler_of
from support.strategies import ENGINES

import vsim
from vsim.profile.profiler import FORMATS, Profiler

VOID = {"meta", "br", "link", "img", "input", "hr"}


@pytest.fixture(scope="module", params=ENGINES)
def profiler(request):
    return profiler_of("call_subroutine_diverge", "pvc", request.param)


def total(profiler):
    return sum(profile.executions for profile in profiler.profiles)


def test_json_of_lines_and_pipes_adds_up(profiler):
    for kernel in json.loads(FORMATS[".json"](profiler.profiles))["kernels"]:
        parts = [kernel["pipes"], kernel["lines"], kernel["instructions"]]
        assert [sum(row["executions"] for row in rows) for rows in parts] == [kernel["executions"]] * 3


def test_csv_and_stacks_add_up_to_the_same(profiler):
    rows = FORMATS[".csv"](profiler.profiles).splitlines()
    at = rows[0].split(",").index("executions")
    assert sum(int(row.split(",")[at]) for row in rows[1:]) == total(profiler)
    folded = FORMATS[".folded"](profiler.profiles).splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in folded) == total(profiler)
    for profile in json.loads(FORMATS[".speedscope.json"](profiler.profiles))["profiles"]:
        assert sum(profile["weights"]) == profile["endValue"] and len(profile["weights"]) == len(profile["samples"])


def test_lcov_counts_lines_and_branches(profiler):
    text = FORMATS[".lcov"](profiler.profiles)
    for record in text.split("end_of_record\n")[:-1]:
        lines = dict(re.findall(r"^DA:(\d+),(\d+)$", record, re.MULTILINE))
        assert int(re.search(r"^LF:(\d+)$", record, re.MULTILINE)[1]) == len(lines)
        assert int(re.search(r"^LH:(\d+)$", record, re.MULTILINE)[1]) == sum(n != "0" for n in lines.values())
        assert record.count("BRDA:") == int(re.search(r"^BRF:(\d+)$", record, re.MULTILINE)[1])


@pytest.mark.parametrize("end", [".lcov", ".folded"])
def test_a_line_break_in_the_name_of_a_file_breaks_no_line(end):
    image, profiler = build_text(COPY.replace("MIDDLE", ""), "dg2", name="a\nb.visaasm"), Profiler()
    watching = profiler.watching()
    args = [np.ones(8, "u4"), np.zeros(8, "u4")]
    profiler.ended(watching, vsim.Program(image).launch("copy", 8, 8, args, observers=watching.observers))
    text = FORMATS[end](profiler.profiles)
    assert "a\\nb.visaasm" in text and "\nb.visaasm" not in text


class Nesting(HTMLParser):
    """Sees that every element ends."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_and_loads_nothing(profiler):
    text, page = FORMATS[".html"](profiler.profiles), Nesting()
    page.feed(text)
    assert not page.open and not page.links and "$body" not in text
    for profile in profiler.profiles:
        assert f"{profile.executions:,} instructions executed" in text


def test_texts_of_others_are_escaped():
    profiler = profiler_of("call_subroutine_diverge", "pvc", "llvm")
    profiler.profiles[0].kernel = "<script>alert(1)</script>"
    assert "<script>alert" not in FORMATS[".html"](profiler.profiles)


def test_launches_add_up():
    once, twice = (profiler_of("wg_scan_slm", "bmg", "llvm") for _ in range(2))
    before = total(twice)
    for profile in once.profiles:
        own = next(p for p in twice.profiles if p.kernel == profile.kernel)
        for mine, other in zip(own.counts.functions, profile.counts.functions, strict=True):
            mine.add(other)
            assert np.array_equal(mine.executions, 2 * other.executions)
        del own.rows
    assert total(twice) == 2 * before
