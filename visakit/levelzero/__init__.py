"""A Level Zero driver: programs run unchanged on the simulated device.

A program's call comes by way of Level Zero's loader and the shared library (:mod:`visakit.opencl.library`) to
:mod:`visakit.levelzero.driver`, which calls the function of that name in :mod:`visakit.levelzero.calls`. That checks
its arguments and works on the objects of :mod:`visakit.runtime`, as the driver of OpenCL does.
docs/level-zero.md has the rest.
"""

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command
