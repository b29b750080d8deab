"""The compiler driver that is installed, and the devices that it knows."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache

from visakit import object_cache
from visakit.compiler.process import identity, run_once
from visakit.language.platforms import find

DRIVER_SETTING = "VISAKIT_OCLOC"
"""Environment variable: the compiler driver that is used instead of the one on the path."""
PREFERRED = ("bmg", "dg2", "tgllp", "skl")
"""Default devices: the first of these that the compiler knows."""
_HELP_SECONDS = 60


def compiler_driver() -> str | None:
    """The path of the compiler driver: from the environment, else the installed one; None if there is neither."""
    return shutil.which(os.environ.get(DRIVER_SETTING) or "ocloc")


def known_devices() -> list[str]:
    """The devices that the installed compiler driver compiles for, in its order; empty where it does not say.

    Devices without a platform of :mod:`visakit.language.platforms` are left out, and words for several devices.
    """
    driver = compiler_driver()
    return list(_devices_of(driver)) if driver else []


def preferred_device() -> str:
    """The newest device that the compiler lists, as the name of a platform."""
    known = {platform.name for name in known_devices() if (platform := find(name)) is not None}
    return next((name for name in PREFERRED if name in known), PREFERRED[0])


def device_table() -> str:
    """The devices of the installed compiler, for people: lines of at most 100 characters."""
    import textwrap

    names = known_devices()
    if not names:
        return "Intel's compiler driver (ocloc), which compiles sources, is not installed, or names no devices."
    text = f"The installed ocloc compiles for {', '.join(names)}; for {preferred_device()} where --platform is missing."
    return textwrap.fill(text, 100, break_on_hyphens=False)


@cache
def _devices_of(driver: str) -> tuple[str, ...]:
    """The devices that the help of a compiler driver names, once for each version of it."""
    try:
        key = object_cache.key("devices", *identity(driver))
        kept = object_cache.load(key)
        if kept is not None:
            return tuple(kept.decode().split())
        with tempfile.TemporaryDirectory(prefix="visakit-") as folder:
            said = run_once(driver, ["compile", "--help"], folder, _HELP_SECONDS).output
    except (OSError, subprocess.TimeoutExpired):
        return ()
    names = said.partition("<device_type> can be:")[2].partition("\n")[0]
    words = names.replace(",", " ").split()
    devices = tuple(dict.fromkeys(w for w in words if not w.startswith(("xe", "gen")) and find(w) is not None))
    if devices:
        object_cache.save(key, " ".join(devices).encode())
    return devices
