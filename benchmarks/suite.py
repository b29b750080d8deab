"""All benchmark kernels by name: the six of the corpus, those of ordinary kinds, and further ones."""

import further
import kernels
import ordinary

DEVICES = ordinary.DEVICES
BENCHMARKS = kernels.KERNELS | ordinary.KERNELS | further.KERNELS
