"""An OpenCL driver: programs run unchanged on the simulated device.

A program's call comes by way of the ICD loader and the shared library (:mod:`visakit.opencl.library`) to
:mod:`visakit.opencl.driver`, which calls the function of that name in :mod:`visakit.opencl.calls`. That checks its
arguments and works on the objects of :mod:`visakit.runtime`: contexts, queues, memory, programs, kernels, events.
Pointers and handles are numbers all the way.
docs/opencl.md has the rest.
"""

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command
