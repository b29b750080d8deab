"""Commands run in the process of the tests."""

import vasm.cli
import vasm.vdis_cli
import vlink.cli
import vsim.command.cli
from visakit.commands.command import exit_code

APPS = {"vasm": vasm.cli.app, "vdis": vasm.vdis_cli.app, "vlink": vlink.cli.app, "vsim": vsim.command.cli.app}


def said(capsys, tool, *words):
    """Exit code, standard output and standard error of a command in this process."""
    code = exit_code(APPS[tool], tool, [str(w) for w in words])
    return code, *capsys.readouterr()
