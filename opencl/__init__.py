"""An OpenCL driver: programs run unchanged on the simulated device.

A program's call comes by way of the ICD loader and the shared library (:mod:`opencl.library`) to
:mod:`opencl.driver`, which calls the function of that name in :mod:`opencl.calls`. That checks what it is given and
works on objects: contexts, queues, memory, programs, kernels, events. Pointers and handles are numbers on all the way.
docs/opencl.md has the rest.
"""

import visakit_start  # noqa: F401 # first, so that an interrupt from here on ends a command
