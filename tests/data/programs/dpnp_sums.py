"""Arrays of dpnp, by way of Intel's SYCL runtime: a sum, a sort, what a mask takes, a histogram."""

import dpnp
import numpy as np

x = np.arange(500, dtype="f4") * 7 % 64
y = dpnp.asarray(x)
found = (y + y).sum(), dpnp.sort(y), y[y > 30], dpnp.histogram(y, bins=8)[0]
wanted = (x + x).sum(), np.sort(x), x[x > 30], np.histogram(x, bins=8)[0]
print([bool((dpnp.asnumpy(a) == b).all()) for a, b in zip(found, wanted, strict=True)])
