"""Random calls of an interface's functions: live, released and wrong handles, null pointers, sizes that overflow."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from support.c_programs import SOURCES, run
from visakit.opencl.library import library_path

CALLS, WORDS = 2000, 1 << 20
SIZES = (0, 1, 4, 64, 4096, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 64, (1 << 64) - 1)


class Attack:
    """Calls functions with arguments of all kinds.

    Args:
        host: has functions and their prototypes by name.
        handles: of objects; new objects join them, and stay after a release by others.
        numbers: what programs write to the beginning of structures and lists.
        is_handle: whether a function's parameter of a name takes one.
        left_out: names of functions that are not called.
    """

    def __init__(self, host, handles, numbers, is_handle, left_out=()):
        self.host, self.handles, self.numbers, self.is_handle = host, handles, numbers, is_handle
        self.names = sorted(set(host.points) - set(left_out))

    def argument(self, generator, point, name, kind, places):
        """An argument for a parameter of a function."""
        if kind != "ptr":
            counts = [0, 1, 2, 8] if "num" in name.lower() or "count" in name.lower() else [*SIZES, *self.numbers]
            chosen = generator.choice([0, 1000] if "imeout" in name else counts)
            return chosen & (1 << (32 if kind in ("u32", "i32") else 64)) - 1
        return generator.choice([*self.handles, 0, 12345] if self.is_handle(point, name) else [*places, 0])

    def run(self, generator, check):
        """Make calls; ``check`` gets name, arguments, result and the places of memory, and gives a handle or 0."""
        memory = [np.zeros(WORDS, "u8") for _ in range(4)]
        places = [one.ctypes.data for one in memory]
        for _ in range(CALLS):
            for one in memory:
                one[2:12] = [generator.choice([0, *places]) for _ in range(10)]
                one[0] = generator.choice([0, generator.randrange(64), *self.numbers, *self.handles])
                one[1] = generator.choice([0, 0, *places])
            name = generator.choice(self.names)
            point = self.host.points[name]
            values = [self.argument(generator, point, word, kind, places) for kind, word in point.parameters]
            if made := check(name, values, self.host.functions[name](*values), dict(zip(places, memory, strict=True))):
                self.handles.append(made)

    def gives(self, point):
        """The kind of result of a function, as the program in C knows it."""
        if point.result == "i32":
            return "m" if "Create" in point.name else "i"
        return "o" if point.has_error_parameter else "x"

    def letter(self, point, name, kind, objects):
        """The kind of a parameter, as the program in C knows it; functions that release objects take any."""
        if kind == "ptr" and self.is_handle(point, name):
            known = name in objects and not re.search("Destroy|Release|Free", point.name)
            return chr(ord("A") + objects[name]) if known else "h"
        if kind == "ptr":
            return "p"
        if "num" in name.lower() or "count" in name.lower():
            return "n"
        return "t" if "imeout" in name else "u" if kind in ("u32", "i32") else "s"

    def in_c(self, program, objects, *words):
        """Let a program in C make calls of the library: its statuses by name, and the process.

        Args:
            program: its path.
            objects: for names of parameters the numbers of objects that the program makes first.
            words: the path of a program binary, a seed, and numbers of calls and threads.
        """
        points = [self.host.points[name] for name in self.names]
        letters = ["".join(self.letter(p, name, kind, objects) for kind, name in p.parameters) for p in points]
        rows = [f"{p.name} {self.gives(p)} {given or '-'}" for p, given in zip(points, letters, strict=True)]
        table = "\n".join([str(len(rows)), *rows, *map(str, self.numbers)])
        done = run(program, library_path(), *words, options=["--platform", "tgllp"], given=table)
        return [(name, int(status)) for name, status in re.findall(r"^(\w+) (-?\d+)$", done.stdout, re.M)], done


def built(folder, interface):
    """The program in C, for OPENCL or LEVEL_ZERO."""
    words = ["gcc", "-Wall", "-Werror", "-O1", f"-D{interface}", "-o", folder / "random_calls"]
    subprocess.run([*words, SOURCES / "random_calls.c", "-ldl", "-lpthread"], check=True)
    return folder / "random_calls"


def in_threads(count, function):
    """Call a function with the numbers of threads, in as many; all come to their end."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(function, range(count)))
