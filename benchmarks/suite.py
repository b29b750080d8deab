"""All benchmark kernels by name: the six of the corpus, and those of ordinary kinds."""

import kernels
import ordinary

DEVICES = ordinary.DEVICES
BENCHMARKS = kernels.KERNELS | ordinary.KERNELS
