"""Coverage-guided fuzzing of everything that reads a file: ``python tests/fuzz/inputs.py text|isa|object|archive|ze_info|launch CORPUS_DIR``.

Needs atheris, which is no dependency. Any exception that is not a diagnostic is a finding; keep it as a test in tests/test_fuzzed.py.
"""

import sys

import atheris

with atheris.instrument_imports(include=["visa", "vasm", "vlink", "vsim"]):
    from vasm.assembler import assemble_text
    from visa import VisaError
    from visa.cisa import read_module
    from visa.container import module_bytes
    from visa.image import parse_ze_info, read_image
    from visa.text.printer import print_module
    from vlink.linker import Linker, LinkOptions
    from vsim.launch import parse_launch


def text(data: bytes) -> None:
    assemble_text(data.decode("utf-8", "replace"), "x")


def isa(data: bytes) -> None:
    print_module(read_module(module_bytes(data, "x"), "x", keep_going=[]))


def object_file(data: bytes) -> None:
    linker = Linker(LinkOptions(allow_undefined=True))
    linker.add_bytes(data, "x")
    linker.run().image.to_bytes()


def image(data: bytes) -> None:
    read_image(data, "x").ze_info_tree()


def ze_info(data: bytes) -> None:
    parse_ze_info(data.decode("utf-8", "replace"), "x")


def launch(data: bytes) -> None:
    file = parse_launch(data.decode("utf-8", "replace"), "/nonexistent", "x")
    for n in range(min(len(file), 3)):
        file.launch(n)


TARGETS = {"text": text, "isa": isa, "object": object_file, "image": image, "ze_info": ze_info, "launch": launch}


def main() -> None:
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        try:
            target(data)
        except VisaError:
            pass

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
