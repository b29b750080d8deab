"""The share of the lines that ran, as ``make test`` shows it."""

import json

import pytest
from support import package_coverage


def report(tmp_path, ran, missing):
    found = {"vsim/a.py": {"executed_lines": [*range(ran)], "missing_lines": [*range(missing)]}}
    (tmp_path / "report.json").write_text(json.dumps({"files": found}))
    return str(tmp_path / "report.json")


def test_the_share_of_a_package_says_which_tests_it_is_of(tmp_path, capsys):
    package_coverage.main(report(tmp_path, 9, 1))
    assert capsys.readouterr().out == f"coverage of vsim     90 % by {package_coverage.COUNTED}\n"


def test_a_share_below_the_floor_fails(tmp_path):
    with pytest.raises(SystemExit, match=r"coverage is 80\.0 %, at least 85 % is required"):
        package_coverage.main(report(tmp_path, 8, 2))
