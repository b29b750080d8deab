"""Benchmark kernels as programs of vsim."""

from pathlib import Path

from kernels import CORPUS

from vasm.assembler import assemble_text
from visakit.objects.image import read_image
from vlink import link
from vsim.program import Program


def image_of(folder: Path) -> bytes:
    """The image of a folder of texts, which is named after the device: assembled and linked."""
    texts = [p for p in sorted(folder.glob("*.visaasm")) if ".inline." not in p.name]
    objects = [assemble_text(p.read_text(), p.name, folder.name).object_bytes() for p in texts]
    zebin = folder / "kernel.zebin"
    return link(objects, zebin if zebin.exists() else folder / "ze_info.yaml").to_bytes()


def program_of(folder: Path) -> Program:
    """The program of such a folder; with the compiler's binary, where that is kept, whose SPIR-V tells of barriers."""
    image, zebin = read_image(image_of(folder)), folder / "kernel.zebin"
    if zebin.exists():
        image.zebin = zebin.read_bytes
    return Program(image)


def load(name: str, device: str) -> Program:
    """A benchmark kernel, assembled and linked."""
    return program_of(CORPUS / name / device)
