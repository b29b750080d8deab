"""Raw messages to the gateway, and other forms that Intel's vector compiler writes and its manual does not have."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

import visakit
import vsim
from visakit import LaunchError

TEXT = (
    kernel_head("OUT=uq@qword A=uq@qword N=ud X=ud*16 P=P V=ud*1 H=ud*16", "OUT", SimdSize=16, NBarrierCnt=4, SLMSize=1)
    + """{lines}
ret (M1, 1)
{functions}
"""
)


def handed_over(send, engine, functions=""):
    """Thread 0 writes local memory and arrives as producer; thread 1 arrives as consumer, waits and reads."""
    header = ["mov (M1_NM, 16) H(0,0)<1> 0:ud"]
    lines = [
        "and (M1_NM, 1) N(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud",
        "mov (M1_NM, 16) X(0,0)<1> 0:ud",
        "mov (M1_NM, 1) V(0,0)<1> 77:ud",
        "cmp.ne (M1_NM, 1) P N(0,0)<0;1,0> 0:ud",
        "(P) jmp (M1, 1) consumer",
        "lsc_store.slm (M1_NM, 1) flat[X.0]:a32 V.0:d32",
        *header,
        "mov (M1_NM, 1) H(0,2)<1> 0x01014003:ud",
        send,
        "ret (M1, 1)",
        "consumer:",
        *header,
        "mov (M1_NM, 1) H(0,2)<1> 0x01018003:ud",
        send,
        "nbarrier.wait 0x3:b",
        "lsc_load.slm (M1_NM, 1) V:d32 flat[X.0]:a32",
        "mov (M1_NM, 16) X(0,0)<1> V(0,0)<0;1,0>",
        "svm_block_st (4) OUT(0,0)<0;1,0> X.0",
    ]
    out = np.zeros(16, "u4")
    image = build_text(TEXT.format(lines="\n".join(lines), functions=functions), "pvc")
    vsim.load(image).launch("k", 32, 32, [out], engine=engine)
    return out.tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "send",
    [
        "raw_sends.3.1.0.0 (M1_NM, 1) 0x3:ud 0x2000004:ud H.0 %null.0 %null.0",
        "raw_send (M1_NM, 1) 0x3 1 0 0x2000004:ud H.0 %null.0",
    ],
)
def test_a_message_to_the_gateway_arrives_at_a_named_barrier(send, engine):
    assert handed_over(send, engine) == [77] * 16


@pytest.mark.parametrize("engine", ENGINES)
def test_a_signal_without_a_wait(engine):
    lines = (
        "mov (M1_NM, 16) H(0,0)<1> 0x1010000:ud\nraw_sends.3.1.0.0 (M1_NM, 1) 0x3:ud 0x2000004:ud H.0 %null.0 %null.0"
    )
    vsim.load(build_text(TEXT.format(lines=lines, functions=""), "bmg")).launch(
        "k", 16, 16, [np.zeros(16)], engine=engine
    )


@pytest.mark.parametrize(
    ("platform", "line", "why"),
    [
        ("dg2", "raw_sends.3.1.0.0 (M1_NM, 1) 0x3:ud 0x2000004:ud H.0 %null.0 %null.0", "on pvc and newer"),
        ("pvc", "(P) raw_sends.3.1.0.0 (M1_NM, 1) 0x3:ud 0x2000004:ud H.0 %null.0 %null.0", "without a predicate"),
        (
            "pvc",
            "raw_sends.3.1.0.0 (M1_NM, 1) 0x3:ud 0x2000003:ud H.0 %null.0 %null.0",
            "messages to unit 3 \\(gateway\\), operation 3, are not",
        ),
    ],
)
def test_other_messages_to_the_gateway_are_refused(platform, line, why):
    with pytest.raises(LaunchError, match=why):
        vsim.load(build_text(TEXT.format(lines=line, functions=""), platform)).launch("k", 16, 16, [np.zeros(16)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [3, 7])
def test_the_last_message_ends_the_thread(unit, engine):
    """Spelled as older compilers do; nothing behind it runs."""
    lines = [
        "mov (M1_NM, 16) X(0,0)<1> 5:ud",
        "svm_block_st (4) OUT(0,0)<0;1,0> X.0",
        "mov (M1_NM, 16) X(0,0)<1> %r0(0,0)<1;1,0>",
        f"raw_sends.{unit}.eot.1.0.0 (M1, 1) 0x0:ud 0x2000010:ud X.0 %null.0 %null.0",
        "svm_block_st (4) OUT(0,0)<0;1,0> X.0",
    ]
    out = np.zeros(16, "u4")
    image = build_text(TEXT.format(lines="\n".join(lines), functions=""), "pvc")
    vsim.load(image).launch("k", 16, 16, [out], engine=engine)
    assert out.tolist() == [5] * 16


EOT = "raw_sends_eot.3.1.0.0 (M1, 16) 0x0:ud 0x2000010:ud X.0 %null.0 %null.0"


@pytest.mark.parametrize(
    ("lines", "functions"),
    [
        (f"call (M1, 16) s\nret (M1, 16)\ns:\n{EOT}", ""),
        (f"call (M1, 16) s\nret (M1, 16)\ns:\ncall (M1, 16) t\nret (M1, 16)\nt:\n{EOT}", ""),
        ("fcall (M1, 16) f 0 0", f'.global_function "f"\n.decl X v_type=G type=ud num_elts=16 align=GRF\n{EOT}'),
    ],
)
def test_a_thread_does_not_end_where_it_has_callers(lines, functions):
    """Behind the call the caller would go on."""
    image = build_text(TEXT.format(lines=lines, functions=functions), "pvc")
    with pytest.raises(
        LaunchError, match=r"raw_sends_eot .* cannot be executed: a last message ends the thread in the kernel"
    ):
        vsim.load(image).launch("k", 16, 16, [np.zeros(16, "u4")])


def test_a_thread_ends_behind_its_subroutines():
    store = "svm_block_st (4) OUT(0,0)<0;1,0> X.0"
    lines = [
        "mov (M1_NM, 16) X(0,0)<1> 5:ud",
        "call (M1, 16) s",
        "goto (M1, 16) last",
        "s:",
        store,
        "ret (M1, 16)",
        "last:",
        EOT,
        store,
    ]
    out = np.zeros(16, "u4")
    image = build_text(TEXT.format(lines="\n".join(lines), functions=""), "pvc")
    vsim.load(image).launch("k", 16, 16, [out], engine="numpy")
    assert out.tolist() == [5] * 16


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("raw_sends.3.eot.1.0.0", "raw_sends_eot.3.1.0.0"),
        ("raw_sends.eot.3.1.0.0", "raw_sends_eot.3.1.0.0"),
        ("raw_sendsc.eot.1.0.0", "raw_sendsc_eot.1.0.0"),
    ],
)
def test_the_end_of_a_thread_has_two_spellings(older, newer):
    rest = "(M1, 1) 0x0:ud 0x2000010:ud X.0 %null.0 %null.0"
    first, second = (
        visakit.assemble(TEXT.format(lines=f"{word} {rest}", functions=""), platform="dg2") for word in (older, newer)
    )
    assert first == second


@pytest.mark.parametrize("engine", ENGINES)
def test_instructions_of_the_vector_compiler(engine):
    """Predicates from any integer, products of words that saturate, and numbers that movs puts into registers."""
    lines = [
        "mov (M1_NM, 16) X(0,0)<1> 0:ud",
        "setp (M1_NM, 16) F 0x1234:q",
        "mov (M1_NM, 1) X(0,0)<1> F",
        "mov (M1_NM, 1) WORDS(0,0)<1> -300:w",
        "mul.sat (M1_NM, 1) WORDS(0,1)<1> WORDS(0,0)<0;1,0> WORDS(0,0)<0;1,0>",
        "mul.sat (M1_NM, 1) BYTES(0,0)<1> WORDS(0,0)<0;1,0> 2:w",
        "mul.sat (M1_NM, 1) X(0,1)<1> WORDS(0,1)<0;1,0> 0x40000:d",
        "mov (M1_NM, 1) X(0,2)<1> WORDS(0,1)<0;1,0>",
        "mov (M1_NM, 1) X(0,3)<1> BYTES(0,0)<0;1,0>",
        "movs (M1_NM, 1) X(0,4)<1> 0x77:ud",
        "svm_block_st (4) OUT(0,0)<0;1,0> X.0",
    ]
    more = (
        ".decl F v_type=P num_elts=16\n.decl WORDS v_type=G type=w num_elts=16 align=GRF\n"
        ".decl BYTES v_type=G type=b num_elts=32 align=GRF\n.input OUT"
    )
    out = np.zeros(16, "u4")
    text = TEXT.format(lines="\n".join(lines), functions="").replace(".input OUT", more)
    vsim.load(build_text(text, "pvc")).launch("k", 1, 1, [out], engine=engine)
    assert out[:5].tolist() == [0x1234, 0xFFFFFFFF, 32767, 2**32 - 128, 0x77]
