"""Random calls of an interface's functions: live, released and wrong handles, null pointers, sizes that overflow."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

CALLS, WORDS = 2000, 1 << 20
SIZES = (0, 1, 4, 64, 4096, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 64, (1 << 64) - 1)


class Attack:
    """Calls functions with arguments of all kinds.

    Args:
        host: has functions and their prototypes by name.
        handles: of objects; those that calls make join them, and stay when others release them.
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


def in_threads(count, function):
    """Call a function with the numbers of threads, in as many; all come to their end."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(function, range(count)))
