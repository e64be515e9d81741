"""How deep a msgpack value nests, found without decoding it."""

Buffer = bytes | memoryview

# Bytes that follow a head byte: of fixed size, of an extension (with its type byte), or the width
# of a length field. Containers: what counts as one element, and the width of the count.
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_EXT = {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_SIZED_EXT = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_HEADS = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""Head bytes of containers."""
_CONTAINERS = {0xDC: (-1, 2), 0xDD: (-1, 4), 0xDE: (-2, 2), 0xDF: (-2, 4)}


def depth_exceeds(header: Buffer, limit: int) -> bool:
    """True when the msgpack value in `header` nests containers deeper than `limit`.

    Walks the bytes with an explicit stack and allocates nothing in proportion to what a length
    field claims. A header that ends early isn't deep: the decoder will say what is wrong with it.
    """
    data = bytes(header)
    # Every level takes a head byte: where there are this few, those inside of texts and numbers
    # counted too, nothing can be deep. Nearly all headers are through here.
    if len(data) - len(data.translate(None, _HEADS)) <= limit:
        return False
    open_items: list[int] = []
    position = 0
    while position < len(data):
        head = data[position]
        position += 1
        children, skip, width = _shape_of(head)
        if width:
            length = int.from_bytes(data[position : position + width], "big")
            position += width
            if children < 0:
                children = -children * length
            else:
                skip += length
        position += skip
        if open_items:
            open_items[-1] -= 1
        if children or _is_container(head):
            open_items.append(children)
            if len(open_items) > limit:
                return True
        while open_items and open_items[-1] <= 0:
            open_items.pop()
        if not open_items:
            return False
    return False


def _is_container(head: int) -> bool:
    """An empty container is a level too."""
    return 0x80 <= head <= 0x9F or head in _CONTAINERS


def _shape_of(head: int) -> tuple[int, int, int]:
    """(children, bytes to skip, width of the length field) that follow a msgpack head byte.

    Negative children: that many per counted element (1 in an array, 2 in a map).
    """
    if 0x80 <= head <= 0x8F:
        return 2 * (head & 0x0F), 0, 0
    if 0x90 <= head <= 0x9F:
        return head & 0x0F, 0, 0
    if 0xA0 <= head <= 0xBF:
        return 0, head & 0x1F, 0
    if head in _CONTAINERS:
        children, width = _CONTAINERS[head]
        return children, 0, width
    if head in _SIZED_EXT:
        return 0, 1, _SIZED_EXT[head]
    return 0, _FIXED.get(head, _EXT.get(head, 0)), _SIZED.get(head, 0)
