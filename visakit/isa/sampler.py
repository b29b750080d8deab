"""Sampler, render-target and URB messages."""

from visakit.isa.enums import SAMPLE_FORMATS, TARGET_BITS
from visakit.isa.record import Access, InstructionDesc, MemoryKind, form
from visakit.isa.suffixes import CHANNELS, Choice, Flag, TargetFlags
from visakit.language.platforms import ALL, since

_CATEGORY = "sampler"
_MASK = Choice("channel_mask", CHANNELS)
_ONE = Choice("channel_mask", {c: i for i, c in enumerate("RGBA")})
_OPTIONS = (Flag("pixel_null_mask", "pixel_null_mask"), Flag("cps", "cps"), Flag("", "divS"))
_HEAD = "H:subop.8+pixel_null_mask.1+cps.1+non_uniform.1+in_registers.1 ec pr B:channel_mask s:offsets"
_TAIL = "w:dst n:params r*:params"


def _state(kind: str, name: str) -> str:
    """A sampler variable, or since Xe3P a register with the handle of the first of several states, and a number."""
    return f"{kind}?in_registers!1:{name} s?in_registers&1:{name}_handle I?in_registers&1:{name}_index"


def _sample(opcode: int, name: str, subop: int, summary: str, platforms: frozenset[str] = ALL) -> InstructionDesc:
    channels = _MASK if opcode != 0x6F else _ONE
    sampler = "" if opcode == 0x6E else _state("S", "sampler")
    text = "(exec) offsets " + ("@sampler " if sampler else "") + "@surface dst params*"
    return form(opcode, name, f"{_HEAD} {sampler} {_state('T', 'surface')} {_TAIL}", summary, category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.LOAD, text=text,
                suffixes=(*_OPTIONS, channels), fixed={"subop": subop}, operands="offsets:uw dst:hf,f,w,uw,d,ud", sizes=(8, 16, 32), limits={"params": (1, 15)}, platforms=platforms)


_INFO = f"B:subop.7+in_registers.1 ec B:channel_mask {_state('T', 'surface')}"
_XE2 = since("bmg")
_PACKED = "with offsets of each pixel in one parameter"


FORMS = (
    form(0x40, "sample", "B:channel_mask.4+simd16.1 S:sampler T:surface r:u r:v r:r w:dst", "Sample an image (media form).", category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.LOAD,
         suffixes=(_MASK,), text="(simd) sampler surface u v r dst"),
    form(0x41, "sample_unorm", "B:channel_mask.4+format.4 S:sampler T:surface s:u s:v s:du s:dv w:dst", "Sample a block of pixels as normalised words.",
         category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.LOAD, suffixes=(_MASK, Choice("format", SAMPLE_FORMATS)),
         operands="u:f v:f du:f dv:f dst:uw", beyond="dst:ud"),
    form(0x42, "load", "B:channel_mask.4+simd16.1 T:surface r:u r:v r:r w:dst", "Read image elements (media form).", category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.LOAD,
         suffixes=(_MASK,), text="(simd) surface u v r dst"),
    form(0x43, "avs", "B:channel_mask S:sampler T:surface s:u s:v s:du s:dv s:u2d s:group_id s:vertical_block B:format s:v2d B:mode s:ief w:dst",
         "Adaptive video scaling.", category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.LOAD, suffixes=(_MASK,),
         text="surface sampler u v du dv u2d group_id vertical_block =format v2d =mode ief dst",
         operands="u:f v:f du:f dv:f u2d:f group_id:ud vertical_block:ud v2d:f ief:ub", platforms=ALL - since("tgllp")),
    form(0x44, "va", "", "Video analytics (no public encoding).", category=_CATEGORY),
    form(0x4D, "va_skl_plus", "", "Video analytics since Gen9 (no public encoding).", category=_CATEGORY),
    _sample(0x6D, "sample_3d", 0, "Sample an image."),
    _sample(0x6D, "sample_b", 1, "Sample with a bias of the level of detail."),
    _sample(0x6D, "sample_l", 2, "Sample at a given level of detail."),
    _sample(0x6D, "sample_c", 3, "Sample with comparison."),
    _sample(0x6D, "sample_d", 4, "Sample with given gradients."),
    _sample(0x6D, "sample_b_c", 5, "Sample with bias and comparison."),
    _sample(0x6D, "sample_l_c", 6, "Sample at a level of detail with comparison."),
    _sample(0x6D, "sample_d_c", 20, "Sample with gradients and comparison."),
    _sample(0x6D, "lod", 9, "The level of detail that a sample would read."),
    _sample(0x6D, "sample_d_c_mlod", 17, "Sample with gradients and comparison, not below a level of detail.", _XE2),
    _sample(0x6D, "sample_mlod", 18, "Sample, not below a level of detail.", _XE2),
    _sample(0x6D, "sample_c_mlod", 19, "Sample with comparison, not below a level of detail.", _XE2),
    _sample(0x6D, "sample_lz", 24, "Sample at level zero."),
    _sample(0x6D, "sample_c_lz", 25, "Sample at level zero with comparison."),
    _sample(0x6D, "sample_po", 32, f"Sample {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_b", 33, f"Sample with bias, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_l", 34, f"Sample at a level of detail, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_c", 35, f"Sample with comparison, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_d", 36, f"Sample with gradients, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_l_c", 38, f"Sample at a level of detail with comparison, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_lz", 56, f"Sample at level zero, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_c_lz", 57, f"Sample at level zero with comparison, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_b_c", 58, f"Sample with bias and comparison, {_PACKED}.", _XE2),
    _sample(0x6D, "sample_po_d_c", 59, f"Sample with gradients and comparison, {_PACKED}.", _XE2),
    _sample(0x6E, "load_3d", 7, "Read image elements at integer coordinates."),
    _sample(0x6E, "load_lz", 26, "Read image elements of level zero at integer coordinates."),
    _sample(0x6E, "load_l", 27, "Read image elements at integer coordinates, the level of detail behind them.", _XE2),
    _sample(0x6E, "load_2dms_w", 28, "Read one sample of a multisampled image."),
    _sample(0x6E, "load_mcs", 29, "Read the multisample control surface."),
    _sample(0x6F, "sample4", 8, "Gather one channel of the four texels that a linear filter reads."),
    _sample(0x6F, "sample4_l", 13, "Gather at a given level of detail."),
    _sample(0x6F, "sample4_b", 14, "Gather with a bias of the level of detail."),
    _sample(0x6F, "sample4_i", 15, "Gather at the level of detail that a sample would read."),
    _sample(0x6F, "sample4_c", 16, "Gather with comparison."),
    _sample(0x6F, "sample4_po", 17, "Gather with offsets for each pixel.", ALL - _XE2),
    _sample(0x6F, "sample4_po_c", 18, "Gather with offsets for each pixel and comparison.", ALL - _XE2),
    _sample(0x6F, "sample4_i_c", 21, "Gather with comparison at the level of detail that a sample would read."),
    _sample(0x6F, "sample4_l_c", 23, "Gather with comparison at a given level of detail."),
    _sample(0x6F, "sample4_po_l", 45, f"Gather at a given level of detail, {_PACKED}.", _XE2),
    _sample(0x6F, "sample4_po_b", 46, f"Gather with a bias of the level of detail, {_PACKED}.", _XE2),
    _sample(0x6F, "sample4_po_i", 47, f"Gather at the level of detail that a sample would read, {_PACKED}.", _XE2),
    _sample(0x6F, "sample4_po_i_c", 53, f"Gather with comparison at the level that a sample would read, {_PACKED}.", _XE2),
    _sample(0x6F, "sample4_po_l_c", 55, f"Gather with comparison at a given level of detail, {_PACKED}.", _XE2),
    form(0x70, "resinfo", f"{_INFO} r:lod w:dst", "Size of an image.", category=_CATEGORY, memory=MemoryKind.IMAGE, suffixes=(_MASK,), fixed={"subop": 10}, text="(exec) @surface lod dst",
         operands="lod:ud dst:ud", beyond="lod:f", sizes=(8, 16, 32)),
    form(0x70, "sampleinfo", f"{_INFO} w:dst", "Sample count of an image.", category=_CATEGORY, memory=MemoryKind.IMAGE, suffixes=(_MASK,), fixed={"subop": 11}, text="(exec) @surface dst",
         operands="dst:ud", sizes=(8, 16, 32)),
    form(0x71, "rt_write_3d", "ec pr H:mode T:surface r:header s?mode&2048:sample_index s?mode&256:cps_counter s?mode&4:target_index r!:outputs",
         "Write pixels to a render target.", category=_CATEGORY, memory=MemoryKind.IMAGE, access=Access.STORE, suffixes=(TargetFlags(TARGET_BITS),),
         text="(exec) surface header sample_index? cps_counter? target_index? outputs*",
         operands="target_index:ub", sizes=(8, 16), limits={"target_index": (0, 7)}),
    form(0x72, "urb_write_3d", "ec pr B:num_out r:channel_mask H:global_offset r:handle r:per_slot_offset r:data", "Write vertex data to the URB.",
         category=_CATEGORY, memory=MemoryKind.URB, access=Access.STORE, text="(exec) num_out global_offset channel_mask handle per_slot_offset data",
         operands="channel_mask:ud handle:ud per_slot_offset:ud data:ud,d,f", sizes=(8,), limits={"num_out": (1, 8), "global_offset": (0, 2047)}),
)  # fmt: skip
