"""Bounds of the protocol (SPEC section 4). Whatever exceeds them is refused, never allocated."""

MAX_HEADER_BYTES = 256 * 1024
MAX_HEADER_DEPTH = 16
MAX_FRAMES = 4096
MAX_FRAME_BYTES = 2**31
MAX_ANSWER_BYTES = 2**26
MAX_DIMENSIONS = 8
MAX_TEXT = 4096
MAX_MAP = 256
MAX_WORD = 256
