// Arrays: their descriptions in a header, their frames, and typed arrays (section 5).

import { endianness } from "node:os";
import { MAX_DIMENSIONS, MAX_FRAME_BYTES, Refusal } from "./limits.js";
import { integer, list, map, optional, readFields, text } from "./fields.js";

const TYPES = {
  uint8: Uint8Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
};

export const DTYPES = Object.keys(TYPES);
export const shape = list(integer(0n, BigInt(MAX_FRAME_BYTES)), MAX_DIMENSIONS);

const DESCRIPTION = {
  name: text(),
  dtype(value, name) {
    if (!DTYPES.includes(value)) throw new Refusal("bad_header", `${name} is none of ${DTYPES.join(", ")}`);
    return value;
  },
  shape,
  offset_bytes: optional(integer()),
};

/** Checks one entry of `arrays`. */
export function description(value, name) {
  return readFields(map(value, name), DESCRIPTION, name);
}

/** The arrays of a message by name: their descriptions, each with its bytes. */
export function matchFrames(descriptions, frames) {
  const arrays = new Map();
  let next = 0;
  for (const array of descriptions) {
    if (arrays.has(array.name)) throw new Refusal("bad_frames", "two arrays have the same name");
    if (array.offset_bytes !== undefined) throw new Refusal("bad_frames", "this session has no shared memory");
    if (next === frames.length) throw new Refusal("bad_frames", "there are more arrays than frames");
    const bytes = frames[next++];
    if (bytes.length !== sizeInBytes(array)) throw new Refusal("bad_frames", "a frame hasn't the length of its array");
    arrays.set(array.name, { ...array, bytes });
  }
  if (next < frames.length) throw new Refusal("bad_frames", "there are more frames than arrays");
  return arrays;
}

/** Exact up to 2^53, and larger than any frame beyond: good enough to be compared with a frame's length. */
function sizeInBytes({ dtype, shape: axes }) {
  return elements(axes) * TYPES[dtype].BYTES_PER_ELEMENT;
}

export function elements(axes) {
  return axes.reduce((product, axis) => product * axis, 1);
}

export function sameShape(one, other) {
  return one.length === other.length && one.every((axis, i) => axis === other[i]);
}

/** A typed array with a copy of the bytes, since a frame may lie at any address and is little-endian everywhere. */
export function toTyped({ dtype, bytes }) {
  const copy = Uint8Array.from(bytes);
  swapOnBigEndian(copy, TYPES[dtype].BYTES_PER_ELEMENT);
  return new TYPES[dtype](copy.buffer);
}

/** The frame of a typed array: its own memory, where the machine is little-endian. */
export function toFrame(typed) {
  const bytes = new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength);
  if (endianness() === "LE") return bytes;
  const copy = Uint8Array.from(bytes);
  swapOnBigEndian(copy, typed.BYTES_PER_ELEMENT);
  return copy;
}

function swapOnBigEndian(bytes, size) {
  if (endianness() === "LE" || size === 1) return;
  for (let start = 0; start < bytes.length; start += size) bytes.subarray(start, start + size).reverse();
}

export function dtypeOf(typed) {
  return DTYPES.find((name) => typed instanceof TYPES[name]);
}
