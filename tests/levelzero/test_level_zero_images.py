"""Images and samplers of Level Zero without kernels: views, regions, properties."""

import numpy as np
import pytest
from support.levelzero_host import Session, made
from support.opencl_host import only_device

from visakit.levelzero import ze

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
TEXELS = np.arange(128, dtype="u1").reshape(4, 8, 4)


@pytest.fixture
def session():
    return Session(None)


def filled(session):
    """An image of 8 by 4 texels."""
    image = session.image(8, 4)
    session.host.zeCommandListAppendImageCopyFromMemory(session.list, image, TEXELS, None, None, 0, None)
    return image


def read(session, image, region=None):
    """The bytes of an image, or of a part."""
    seen = np.zeros(128, "u1")
    session.host.zeCommandListAppendImageCopyToMemory(session.list, seen, image, region, None, 0, None)
    session.finish()
    return seen


@pytest.mark.parametrize("name", ["zeImageViewCreateExt", "zeImageViewCreateExp"])
def test_a_view_has_the_texels_of_its_image_and_outlives_it(session, name):
    host, image = session.host, filled(session)
    desc = session.image_desc(8, 4, layout=ze.ZE_IMAGE_FORMAT_LAYOUT_32)
    view = host.made(name, session.context, session.device, desc, image)
    assert (read(session, view) == TEXELS.ravel()).all()
    other = 255 - TEXELS
    host.zeCommandListAppendImageCopyFromMemory(session.list, view, other, None, None, 0, None)
    assert (read(session, image) == other.ravel()).all()
    host.zeImageDestroy(image)
    assert (read(session, view) == other.ravel()).all()


@pytest.mark.parametrize("sizes, layout", [((8, 4), ze.ZE_IMAGE_FORMAT_LAYOUT_8), ((8, 5), None), ((4, 8), None)])
def test_views_with_texels_of_other_sizes_are_refused(session, sizes, layout):
    desc = session.image_desc(*sizes, layout=ze.ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 if layout is None else layout)
    view = "zeImageViewCreateExt", session.context, session.device, desc, session.image(8, 4), np.zeros(1, "u8")
    assert session.host.result(*view) == ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE


@pytest.mark.parametrize("kind, rows", [(ze.ZE_IMAGE_TYPE_1D, 1), (ze.ZE_IMAGE_TYPE_2D, 2)])
def test_regions_ignore_the_axes_that_an_image_does_not_have(session, kind, rows):
    image = session.image(8, 4, kind=kind)
    session.host.zeCommandListAppendImageCopyFromMemory(session.list, image, TEXELS, None, None, 0, None)
    part = made("ze_image_region_t", originX=1, originY=1, originZ=3, width=2, height=2, depth=7)
    wanted = TEXELS[1:3, 1:3] if rows == 2 else TEXELS[:1, 1:3]
    assert (read(session, image, part)[: wanted.size] == wanted.ravel()).all()


def test_images_tell_their_memory(session):
    memory = made("ze_image_memory_properties_exp_t", ze.ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES)
    first, second = session.image(8, 4), session.image(8, 4)
    session.host.zeImageGetMemoryPropertiesExp(first, memory)
    assert (memory.size, memory.rowPitch, memory.slicePitch) == (128, 32, 128)
    numbers = made("ze_image_allocation_ext_properties_t"), made("ze_image_allocation_ext_properties_t")
    for image, number in zip((first, second), numbers, strict=True):
        session.host.zeImageGetAllocPropertiesExt(session.context, image, number)
    assert numbers[0].id != numbers[1].id


def test_limits_are_given_to_callers_that_confuse_the_numbers_of_two_structures(session):
    wanted = made("ze_device_image_properties_t", ze.ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES)
    session.host.zeDeviceGetImageProperties(session.device, wanted)
    assert wanted.maxImageDims2D == 16384


def test_samplers_of_texels_repeat(session):
    mode = ze.ZE_SAMPLER_ADDRESS_MODE_REPEAT
    desc = made("ze_sampler_desc_t", ze.ZE_STRUCTURE_TYPE_SAMPLER_DESC, addressMode=mode, isNormalized=0)
    session.host.made("zeSamplerCreate", session.context, session.device, desc)
