"""A program like any other: pyopencl on the first device that it finds."""

import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
x, y = np.arange(4096, dtype="f4"), np.ones(4096, "f4")
source = cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
target = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=y)
program = cl.Program(
    context,
    """kernel void saxpy(global float *y, global const float *x, float a) {
  size_t i = get_global_id(0);
  y[i] += a * x[i];
}""",
).build()
cl.Kernel(program, "saxpy")(queue, (4096,), (64,), target, source, np.float32(2))
out = np.empty_like(y)
cl.enqueue_copy(queue, out, target)
print(f"{out.size} elements, {np.count_nonzero(out != 1 + 2 * x)} wrong")
