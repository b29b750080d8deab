"""Many objects with functions that call each other at random: linked, and a path through a hundred of them executed.

A thousand objects with ten thousand functions in ``make fuzz``, a tenth of that otherwise.
"""

import random

import numpy as np
from support.programs import kernel_head
from support.strategies import FUZZ

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink import link
from vsim.program import Program

OBJECTS, EACH, PATH = 1000 if FUZZ else 100, 10, 100
TOTAL = OBJECTS * EACH
KERNEL = (
    kernel_head("OUT=uq@qword WHERE=uq*8 LANE=ud*8 RESULT=ud*8")
    + """.decl ARG v_type=G type=ud num_elts=8 alias=<%arg, 0>
.kernel_attr SimdSize=8
.input OUT offset=32 size=8
mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
shl (M1, 8) WHERE(0,0)<1> LANE(0,0)<1;1,0> 2:ud
add (M1, 8) WHERE(0,0)<1> WHERE(0,0)<1;1,0> OUT(0,0)<0;1,0>
mov (M1, 8) ARG(0,0)<1> LANE(0,0)<1;1,0>
fcall (M1, 8) f{first} 1 1
mov (M1, 8) RESULT(0,0)<1> ARG(0,0)<1;1,0>
svm_scatter.4.1 (M1, 8) WHERE.0 RESULT.0
ret (M1, 1)
"""
)
FUNCTION = """.global_function "f{index}"
.decl ARG v_type=G type=ud num_elts=8 alias=<%arg, 0>
.kernel_attr SimdSize=8
.kernel_attr Extern
.kernel_attr ArgSize=1
.kernel_attr RetValSize=1
add (M1, 8) ARG(0,0)<1> ARG(0,0)<1;1,0> {index}:ud
{calls}
fret (M1, 8)
"""


def test_a_path_through_many_objects():
    source = random.Random(7)
    path = source.sample(range(TOTAL), PATH)
    following = dict(zip(path, [*path[1:], None], strict=True))
    objects = [assemble_text(KERNEL.format(first=path[0]), "k").object_bytes()]
    for n in range(OBJECTS):
        text = [".version 4.1\n"]
        for index in range(n * EACH, (n + 1) * EACH):
            targets = [following[index]] if index in following else source.sample(range(TOTAL), 3)
            calls = "\n".join(f"fcall (M1, 8) f{t} 1 1" for t in targets if t is not None)
            text.append(FUNCTION.format(index=index, calls=calls))
        objects.append(assemble_text("".join(text), f"o{n}").object_bytes())
    image = read_image(link(objects).to_bytes())
    assert len(image.module.functions) == TOTAL
    assert len({s.value for s in image.symbols}) == TOTAL + 1 and all(0 < s.value < 1 << 32 for s in image.symbols)
    for engine in ("llvm", "numpy"):
        out = np.zeros(8, np.uint32)
        Program(image).launch("k", 8, 8, [out], engine=engine)
        assert (out == np.arange(8) + sum(path)).all()
