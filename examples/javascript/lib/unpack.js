// Decodes one msgpack value, with the limits of section 4.
//
// The package @msgpack/msgpack isn't used for this direction: it gives the same JavaScript number for the integer 3 and
// the float 3.0, lets texts through that aren't UTF-8, and has no limit of depth. Here integers become BigInt and floats
// become Number, so that later checks can tell them apart; maps become Map, since a key may be anything but a container.

import { MAX_HEADER_DEPTH, Refusal } from "./limits.js";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }); // ignoreBOM: keep a U+FEFF in front

export class Extension {
  constructor(type, bytes) {
    this.type = type;
    this.bytes = bytes;
  }
}

/** The value in `bytes`, and whether it was too deep: what lies deeper is skipped, so that the `id` is known even then. */
export function unpack(bytes) {
  const reader = new Reader(bytes);
  const value = reader.value(1);
  if (reader.left() > 0) reader.fail("something stands behind the header");
  return { value, tooDeep: reader.tooDeep };
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.tooDeep = false;
  }

  fail(sentence) {
    throw new Refusal("bad_header", `the header isn't valid msgpack: ${sentence}`);
  }

  left() {
    return this.bytes.length - this.at;
  }

  /** Moves on by `count` bytes, and says where they begin. */
  take(count) {
    if (count > this.left()) this.fail("it ends in the middle of a value");
    this.at += count;
    return this.at - count;
  }

  slice(count) {
    const start = this.take(count);
    return this.bytes.subarray(start, start + count);
  }

  /** An unsigned integer of 1, 2 or 4 bytes: a length. */
  length(size) {
    const start = this.take(size);
    if (size === 1) return this.view.getUint8(start);
    return size === 2 ? this.view.getUint16(start) : this.view.getUint32(start);
  }

  /** The first bytes of a value: its kind, and the value itself or its length. */
  head() {
    const byte = this.length(1);
    if (byte < 0x80) return scalar(BigInt(byte));
    if (byte < 0x90) return container("map", byte & 0x0f);
    if (byte < 0xa0) return container("array", byte & 0x0f);
    if (byte < 0xc0) return { kind: "text", length: byte & 0x1f };
    if (byte >= 0xe0) return scalar(BigInt(byte - 256));
    if (byte >= 0xca && byte <= 0xd3) return scalar(this.number(byte));
    return this.longHead(byte);
  }

  longHead(byte) {
    switch (byte) {
      case 0xc0: return scalar(null);
      case 0xc2: return scalar(false);
      case 0xc3: return scalar(true);
      case 0xc4: case 0xc5: case 0xc6: return { kind: "binary", length: this.length(1 << (byte - 0xc4)) };
      case 0xc7: case 0xc8: case 0xc9: return this.extension(this.length(1 << (byte - 0xc7)));
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return this.extension(1 << (byte - 0xd4));
      case 0xd9: case 0xda: case 0xdb: return { kind: "text", length: this.length(1 << (byte - 0xd9)) };
      case 0xdc: case 0xdd: return container("array", this.length(2 << (byte - 0xdc)));
      case 0xde: case 0xdf: return container("map", this.length(2 << (byte - 0xde)));
      default: return this.fail("0xc1 is no type");
    }
  }

  extension(length) {
    return { kind: "extension", type: this.view.getInt8(this.take(1)), length };
  }

  number(byte) {
    const { view } = this;
    switch (byte) {
      case 0xca: return view.getFloat32(this.take(4));
      case 0xcb: return view.getFloat64(this.take(8));
      case 0xcc: return BigInt(view.getUint8(this.take(1)));
      case 0xcd: return BigInt(view.getUint16(this.take(2)));
      case 0xce: return BigInt(view.getUint32(this.take(4)));
      case 0xcf: return view.getBigUint64(this.take(8));
      case 0xd0: return BigInt(view.getInt8(this.take(1)));
      case 0xd1: return BigInt(view.getInt16(this.take(2)));
      case 0xd2: return BigInt(view.getInt32(this.take(4)));
      default: return view.getBigInt64(this.take(8));
    }
  }

  /** One value; `depth` is what it would have if it were a map or an array. */
  value(depth) {
    const head = this.head();
    switch (head.kind) {
      case "scalar": return head.value;
      case "text": return this.text(head.length);
      case "binary": return this.slice(head.length);
      case "extension": return new Extension(head.type, this.slice(head.length));
    }
    if (head.values > this.left()) this.fail("a length is larger than the header");
    if (depth > MAX_HEADER_DEPTH) return this.skip(head.values);
    return head.kind === "array" ? this.array(head.length, depth) : this.map(head.length, depth);
  }

  text(length) {
    try {
      return utf8.decode(this.slice(length));
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return this.fail("a text isn't UTF-8");
    }
  }

  array(length, depth) {
    const values = [];
    for (let i = 0; i < length; i++) values.push(this.value(depth + 1));
    return values;
  }

  map(length, depth) {
    const entries = new Map();
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      if (Array.isArray(key) || key instanceof Map || key === undefined) this.fail("a key is a map or an array");
      entries.set(key, this.value(depth + 1));
    }
    return entries;
  }

  /** Passes over values without recursion: a header can be deeper than the stack. */
  skip(values) {
    this.tooDeep = true;
    for (let pending = values; pending > 0; pending--) {
      const head = this.head();
      if (head.values !== undefined) pending += head.values;
      else if (head.length !== undefined) this.take(head.length);
    }
    return undefined;
  }
}

function scalar(value) {
  return { kind: "scalar", value };
}

/** `values` is how many msgpack values the container holds: each takes a byte at least. */
function container(kind, length) {
  return { kind, length, values: kind === "map" ? 2 * length : length };
}
