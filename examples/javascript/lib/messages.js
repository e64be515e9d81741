// Messages: frames to checked fields and arrays, and back (sections 3 to 6).

import { encode } from "@msgpack/msgpack";
import { description, dtypeOf, matchFrames, toFrame } from "./arrays.js";
import { boolean, float, integer, list, map, optional, readFields, text } from "./fields.js";
import { MAX_ANSWER_BYTES, MAX_FRAME_BYTES, MAX_FRAMES, MAX_HEADER_BYTES, MAX_TEXT, Refusal } from "./limits.js";
import { unpack } from "./unpack.js";

const descriptions = list(description, MAX_FRAMES - 1);
const present = (value) => value; // `arrays` is checked by readArrays
const sharedMemory = (value, name) =>
  readFields(map(value, name), { path: text(MAX_TEXT), size_bytes: integer() }, name);

/** What a coordinator sends. Any other type is ignored, so that later versions can add some. */
const FIELDS = {
  WELCOME: { re: integer(), protocol: text(), credit: integer(1n, 1024n), reconnect_ns: integer(), shm: optional(sharedMemory) },
  REFUSE: { re: integer(), code: text(), reason: text(MAX_TEXT) },
  SETUP: {
    task: map, batch_size: integer(1n), seed: integer(0n, 2n ** 31n - 1n), dropout: boolean, threads: integer(1n, 65536n),
    arrays: present,
  },
  BATCH: { step: integer(), learning_rate: optional(float(0, 1e6)), arrays: present },
  PREDICT: { arrays: present },
  PARAMETERS: {},
  END: {},
  BYE: { re: optional(integer()) },
  ERROR: { re: optional(integer()), code: text(), message: text(MAX_TEXT), fatal: boolean },
};

/** The message in `frames`, or null where it is of a type that must be ignored. */
export function readMessage(frames) {
  const header = readHeader(frames);
  const { type, id, entries } = header;
  if (!Object.hasOwn(FIELDS, type)) return null;
  try {
    const fields = readFields(entries, FIELDS[type], type);
    return { type, id, ...fields, arrays: readArrays(header, frames) };
  } catch (error) {
    error.re = id;
    throw error;
  }
}

/** What all headers have, of a message of any type. */
export function readHeader(frames) {
  const [bytes] = frames;
  if (bytes.length > MAX_HEADER_BYTES) throw new Refusal("bad_header", `the header is larger than ${MAX_HEADER_BYTES} bytes`);
  if (frames.length > MAX_FRAMES) throw new Refusal("bad_frames", `there are more than ${MAX_FRAMES} frames`);
  const { value, tooDeep } = unpack(bytes);
  const entries = map(value, "the header");
  const { id } = readFields(entries, { id: integer() }, "the header");
  try {
    if (tooDeep) throw new Refusal("bad_header", "the header is too deep");
    const { type } = readFields(entries, { type: text(Infinity) }, "the header");
    return { type, id, entries };
  } catch (error) {
    error.re = id;
    throw error;
  }
}

/** The arrays of a message of any type, by name. */
export function readArrays({ entries }, frames) {
  if (frames.some((frame) => frame.length > MAX_FRAME_BYTES)) throw new Refusal("bad_frames", "a frame is too large");
  const given = entries.get("arrays");
  return matchFrames(given === undefined ? [] : descriptions(given, "arrays"), frames.slice(1));
}

/** Integers beyond 32 bits as BigInt: the package writes them as floats otherwise, and a float is no integer (section 4). */
function wide(fields) {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => {
    const long = Number.isSafeInteger(value) && Math.abs(value) >= 2 ** 32;
    return [name, long ? BigInt(value) : value];
  }));
}

/** The frames of a message. `arrays` is a list of { name, shape, values }, with typed arrays as values. */
export function writeMessage(type, id, fields, arrays = []) {
  const header = wide({ type, id, ...fields });
  if (arrays.length > 0) {
    header.arrays = arrays.map(({ name, shape, values }) => ({ name, dtype: dtypeOf(values), shape }));
  }
  const frames = arrays.map(({ values }) => toFrame(values));
  if (frames.some((frame) => frame.length > MAX_ANSWER_BYTES)) {
    throw new Refusal("unsupported", `the answer would need a frame of more than ${MAX_ANSWER_BYTES} bytes`);
  }
  return [encode(header, { useBigInt64: true, ignoreUndefined: true }), ...frames];
}
