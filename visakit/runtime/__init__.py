"""The objects behind both drivers, OpenCL's (:mod:`visakit.opencl`) and Level Zero's (:mod:`visakit.levelzero`).

Contexts with one simulated address space, memory, programs that the compiler builds, kernels with arguments, queues,
events and the order of commands; the end of the process, and forks. A driver checks the calls of its interface, and
works on these objects. They refuse with statuses of OpenCL, the finer ones of both interfaces; the driver of Level Zero
translates them.
"""

import visakit.start  # noqa: F401 # first, so that an interrupt from here on ends a command
