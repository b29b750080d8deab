"""Texels of images on numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vsim.memory import SurfaceImage

Array = npt.NDArray[Any]


def pixels(image: SurfaceImage) -> Array:
    """The image as depth, height, width, channels."""
    array = image.array
    if array.ndim == 2:
        array = array[..., None]
    return array if array.ndim == 4 else array[None]


def size(image: SurfaceImage) -> list[int]:
    """Width, height, and depth if there is one."""
    depth, height, width, _ = pixels(image).shape
    return [width, height] + ([depth] if image.array.ndim == 4 else [])


def _is_float(image: SurfaceImage) -> bool:
    return image.format.split("_")[1] in ("f32", "f16", "unorm8", "unorm16", "snorm8")


def _scale(image: SurfaceImage) -> float:
    return {"unorm8": 255.0, "unorm16": 65535.0, "snorm8": 127.0}.get(image.format.split("_")[1], 1.0)


def _index(image: SurfaceImage, place: list[Array], mask: Any) -> tuple[Array, tuple[int, ...], tuple[Array, ...]]:
    """Mask and clamped indices (depth, row, column) in one shape."""
    mask_array = np.ones((1, 1), bool) if mask is True else mask
    shape = np.broadcast_shapes(mask_array.shape, *(p.shape for p in place))
    depth, height, width, _ = pixels(image).shape
    full = [np.broadcast_to(p, shape).astype(np.int64) for p in place]
    x, y = np.clip(full[0], 0, width - 1), np.clip(full[1] if len(full) > 1 else np.zeros(shape, np.int64), 0, height - 1)
    z = np.clip(full[2], 0, depth - 1) if len(full) > 2 else np.zeros(shape, np.int64)
    return np.broadcast_to(mask_array, shape), shape, (z, y, x)


def fetch(image: SurfaceImage, place: list[Array], mask: Any) -> list[Array]:
    """Four channels of each texel: missing colours are 0, a missing alpha is 1; outside the mask all that the image has are 0."""
    inside, shape, index = _index(image, place, mask)
    data = pixels(image)
    real = _is_float(image)
    found: list[Array] = []
    for c in range(4):
        if c < data.shape[3]:
            texel = data[(*index, c)]
            texel = texel.astype(np.float32) / np.float32(_scale(image)) if real else texel.astype(np.int64).astype(np.uint32)
            found.append(np.where(inside, texel, texel.dtype.type(0)))
        else:
            found.append(np.full(shape, 1 if c == 3 else 0, np.float32 if real else np.uint32))
    return found


def store(image: SurfaceImage, place: list[Array], values: dict[int, Array], mask: Any) -> None:
    """Write channels given as 32 bits; normalised formats clamp and round, integers clamp."""
    inside, shape, index = _index(image, place, mask)
    data = pixels(image)
    where = tuple(i[inside] for i in index)
    for c, bits in values.items():
        if c >= data.shape[3]:
            continue
        value = np.ascontiguousarray(np.broadcast_to(bits, shape))[inside]
        if _is_float(image):
            texel = value.view(np.float32)
            if _scale(image) != 1.0:
                low = -1.0 if "snorm" in image.format else 0.0
                texel = np.rint(np.clip(np.nan_to_num(texel), low, 1.0) * np.float32(_scale(image)))
        else:
            info = np.iinfo(data.dtype)
            texel = np.clip((value.view(np.int32) if info.min < 0 else value).astype(np.int64), info.min, info.max)
        data[where[0], where[1], where[2], c] = texel.astype(data.dtype)


def texels(image: SurfaceImage) -> Array:
    """All bytes of the image."""
    flat: Array = image.array.reshape(-1).view(np.uint8)
    return flat


def texel_size(image: SurfaceImage) -> int:
    """Bytes of an element with all its channels."""
    return int(pixels(image).shape[3] * image.array.itemsize)


def places(image: SurfaceImage, place: list[Array]) -> Array:
    """Number of each element in the image, row by row."""
    _, height, width, _ = pixels(image).shape
    x, y, z = (p.astype(np.int64) for p in (*place, *[np.zeros((1, 1), np.int64)] * 2)[:3])
    numbers: Array = ((z * height + y) * width + x).astype(np.uint64)
    return numbers


def _rows(image: SurfaceImage) -> Array:
    data = pixels(image)
    rows: Array = data[0].reshape(data.shape[1], -1).view(np.uint8)
    return rows


def fetch_bytes(image: SurfaceImage, x: Array, y: Array) -> Array:
    """Bytes of rows, the rim repeated."""
    rows = _rows(image)
    values: Array = rows[np.clip(y, 0, rows.shape[0] - 1), np.clip(x, 0, rows.shape[1] - 1)]
    return values


def store_bytes(image: SurfaceImage, x: Array, y: Array, value: Array, mask: Any) -> None:
    """Write bytes of rows; those outside are dropped."""
    rows = _rows(image)
    shape = np.broadcast_shapes(x.shape, y.shape, value.shape)
    x, y, value = (np.broadcast_to(v, shape) for v in (x, y, value))
    inside = (x >= 0) & (x < rows.shape[1]) & (y >= 0) & (y < rows.shape[0]) & np.broadcast_to(True if mask is True else mask, shape)
    rows[y[inside], x[inside]] = value[inside]
