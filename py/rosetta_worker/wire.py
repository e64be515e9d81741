"""Headers and arrays to and from frames (protocol/SPEC.md, sections 3 to 5)."""

from typing import Any, Container, Dict, List, Optional, Tuple

import msgpack
import numpy as np

MAX_HEADER_BYTES = 256 * 1024
ALIGNMENT_BYTES = 64
MAX_HEADER_DEPTH = 16
MAX_FRAMES = 4096
MAX_FRAME_BYTES = 2**31
MAX_DIMENSIONS = 8
MAX_TEXT = 4096
MAX_WORD = 256
MAX_MAP = 256

DTYPES: Dict[str, Any] = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("uint8", "int32", "int64", "float32", "float64")
}

NAMES: Dict[Any, str] = {dtype: name for name, dtype in DTYPES.items()}
"""Of the arrays that `decode` makes: NumPy takes microseconds to spell a dtype's name."""

_packer = msgpack.Packer(use_bin_type=True)

_CONTAINERS = bytes(list(range(0x80, 0xA0)) + list(range(0xDC, 0xE0)))
"""Head bytes of msgpack's maps and arrays."""

Header = Dict[str, Any]
Arrays = Dict[str, Any]


class WireError(Exception):
    """A message that can't be used. `code` is one of the spec's; `re` the message, when known."""

    def __init__(self, code: str, sentence: str, re: Any = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.re = re


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """`value` as text that fits a header: within `limit` characters, and encodable."""
    return str(value).encode("utf-8", "replace").decode("utf-8")[:limit]


def texts(values: Dict[Any, Any]) -> Dict[str, str]:
    """A map of texts that fits a header, whatever a backend put into it."""
    return {text(k, MAX_WORD): text(v) for k, v in list(values.items())[:MAX_MAP]}


def encode(header: Header, arrays: Arrays) -> List[Any]:
    """Frames of a message; `arrays` adds its description to the header under `arrays`."""
    if arrays:
        described = [
            {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
            for name, array in arrays.items()
        ]
        header = dict(header, arrays=described)
    frames = [_packer.pack(header)]
    frames.extend(np.ascontiguousarray(a, DTYPES[a.dtype.name]) for a in arrays.values())
    return frames


def decode(
    frames: List[Any], known: Optional[Container[str]] = None, shared: Any = None
) -> Tuple[Header, Arrays]:
    """Header and arrays (read-only views of the frames, or of `shared`). Raises `WireError`.

    With `known`, the frames of a message of any other type aren't looked at: it will be ignored,
    and a later version's may follow rules that aren't ours.
    """
    if not 1 <= len(frames) <= MAX_FRAMES:
        raise WireError(
            "bad_frames", "%d frames: a message has 1 to %d" % (len(frames), MAX_FRAMES)
        )
    header = decode_header(frames[0])
    if known is not None and header["type"] not in known:
        return header, {}
    return header, _arrays(header, frames[1:], shared)


def decode_header(frame: Any) -> Header:
    """The header that is a message's first frame. Raises `WireError`."""
    data = bytes(frame)
    if len(data) > MAX_HEADER_BYTES:
        raise WireError(
            "bad_header", "header of %d bytes: at most %d" % (len(data), MAX_HEADER_BYTES)
        )
    size = len(data)
    try:
        # A later version's maps may have keys that aren't text.
        header = msgpack.unpackb(data, raw=False, strict_map_key=False, **_limits(size))
    except Exception as error:  # msgpack raises its own, ValueError, TypeError, UnicodeDecodeError
        raise WireError("bad_header", "header is not msgpack: %s" % (error or type(error).__name__))
    if not isinstance(header, dict):
        raise WireError("bad_header", "header is %s, not a map" % type(header).__name__)
    number = header.get("id")
    re = number if is_number(number) else None
    if not isinstance(header.get("type"), str) or re is None:
        raise WireError("bad_header", "header lacks `type` (text) or `id` (integer)", re)
    # Every level takes a head byte: where there are this few, those inside of texts and numbers
    # counted too, nothing can be deep. Nearly all headers are through here.
    heads = size - len(data.translate(None, _CONTAINERS))
    if heads > MAX_HEADER_DEPTH and _deeper_than(header, MAX_HEADER_DEPTH):
        raise WireError("bad_header", "header is nested deeper than %d" % MAX_HEADER_DEPTH, re)
    return header


def _limits(size: int) -> Dict[str, int]:
    """No text, list or map may claim to be longer than its header; since 1.0 msgpack sees to it."""
    if msgpack.version >= (1, 0, 0):
        return {}
    return {"max_%s_len" % kind: size for kind in ("str", "bin", "array", "map", "ext")}


def _arrays(header: Header, frames: List[Any], shared: Any) -> Arrays:
    re = header["id"]
    described = header.get("arrays", [])
    if not isinstance(described, list):
        raise WireError("bad_header", "`arrays` is not a list", re)
    expected = sum(not _is_elsewhere(description) for description in described)
    if expected != len(frames):
        sentence = "%s describes %d arrays and has %d"
        raise WireError("bad_frames", sentence % (header["type"], expected, len(frames)), re)
    arrays = {}
    left = iter(frames)
    for description in described:
        frame = None if _is_elsewhere(description) else next(left)
        name, array = _array(description, frame, shared, re)
        if name in arrays:
            raise WireError("bad_frames", "array %r comes twice" % name, re)
        arrays[name] = array
    return arrays


def _array(description: Any, frame: Any, shared: Any, re: int) -> Tuple[str, Any]:
    if not isinstance(description, dict) or not isinstance(description.get("name"), str):
        raise WireError("bad_header", "an array's description lacks `name`", re)
    name, dtype, shape = description["name"], description.get("dtype"), description.get("shape")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise WireError("bad_header", "array %r has dtype %r" % (name, dtype), re)
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_DIMENSIONS
        or not all(map(_is_length, shape))
    ):
        raise WireError("bad_header", "array %r has shape %r" % (name, shape), re)
    size = 1
    for length in shape:
        size *= length
    expected = size * DTYPES[dtype].itemsize
    start = 0
    if frame is None:
        frame, start = shared, description["offset_bytes"]
        _check_part(shared, start, expected, name, re)
    else:
        found = memoryview(frame).nbytes
        if expected != found:
            sentence = "array %r (%s %s) takes %d bytes, its frame has %d"
            raise WireError("bad_frames", sentence % (name, dtype, shape, expected, found), re)
    try:
        array = np.ndarray(shape, DTYPES[dtype], frame, start)
    except ValueError as error:  # [2**31, 2**31, 2**31, 0] is empty, and yet too big for NumPy
        raise WireError("bad_frames", "array %r: %s" % (name, error), re)
    array.setflags(write=False)
    return name, array


def _is_elsewhere(description: Any) -> bool:
    """True for an array that is no frame, but lies in shared memory."""
    return isinstance(description, dict) and description.get("offset_bytes") is not None


def _check_part(shared: Any, offset: Any, size: int, name: str, re: int) -> None:
    if not is_number(offset) or offset % ALIGNMENT_BYTES:
        raise WireError("bad_header", "array %r has offset_bytes %r" % (name, offset), re)
    if shared is None:
        sentence = "array %r is in shared memory, and this session has none"
        raise WireError("bad_frames", sentence % name, re)
    if offset + size > len(shared):
        sentence = "array %r ends at byte %d of a shared memory of %d"
        raise WireError("bad_frames", sentence % (name, offset + size, len(shared)), re)


def is_number(value: Any) -> bool:
    """True for what can be an `id` or a `step`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_length(value: Any) -> bool:
    return is_number(value) and value <= MAX_FRAME_BYTES


def _deeper_than(value: Any, limit: int) -> bool:
    """True when containers nest deeper than `limit`; a walk without recursion."""
    level = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return any(isinstance(item, (dict, list)) for item in level)


def _children(item: Any) -> List[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []
