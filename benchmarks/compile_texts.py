"""Makes the vISA texts of benchmark kernels from their OpenCL C, with Intel's offline compiler.

    compile_texts.py FOLDER DEVICE [OCLOC...]

FOLDER/NAME/kernel.cl becomes FOLDER/NAME/DEVICE/*.visaasm with the ze_info beside it, and with the program's binary
where it has data, or where one is there already, for its SPIR-V. OCLOC is the compiler's command, ``ocloc`` without
it: that of Debian 12 (intel-opencl-icd) knows tgllp and pvc, that of Debian sid (intel-ocloc) bmg.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from elftools.elf.elffile import ELFFile


def compile_text(source: Path, device: str, command: list[str]) -> None:
    """Compile one source; the texts that count are those of the width that the compiler chose."""
    with tempfile.TemporaryDirectory() as scratch:
        dump, out = Path(scratch) / "dump", Path(scratch) / "out"
        arguments = ["compile", "-file", str(source), "-device", device, "-out_dir", str(out)]
        if command == ["ocloc"]:
            arguments += ["--format", "zebin"]
        variables = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(dump)}
        subprocess.run([*command, *arguments], env=os.environ | variables, check=True)
        with next(out.glob("*.bin")).open("rb") as file:
            sections = {s.name: s.data() for s in ELFFile(file).iter_sections()}
        info = sections[".ze_info"].decode()
        widths = {k["name"]: k["execution_env"]["simd_size"] for k in yaml.safe_load(info)["kernels"]}
        folder = source.parent / device
        folder.mkdir(exist_ok=True)
        (folder / "ze_info.yaml").write_text(info)
        binary = folder / "kernel.zebin"
        if binary.exists() or any(name.startswith(".data") for name in sections):
            binary.write_bytes(next(out.glob("*.bin")).read_bytes())
        for path in sorted(dump.glob("*.visaasm"), key=lambda p: p.stat().st_mtime):
            text = path.read_text().replace(f"{dump}/", "")
            name, width = re.search(r'^\.kernel "?([^"\n]+?)"?$', text, re.M), re.search(r"_simd(\d+)_", path.name)
            if name and width and widths.get(name[1]) == int(width[1]):
                (folder / f"{name[1]}.visaasm").write_text(text)


def main() -> None:
    folder, device, *command = sys.argv[1:]
    for source in sorted(Path(folder).glob("*/kernel.cl")):
        compile_text(source, device, command or ["ocloc"])


if __name__ == "__main__":
    main()
