// Every golden frame is decoded, or refused, as its description says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "@msgpack/msgpack";
import { toTyped } from "../lib/arrays.js";
import { readArrays, readHeader, readMessage } from "../lib/messages.js";
import { Extension } from "../lib/unpack.js";
import { expected, goldenMessages } from "./golden.js";

for (const { name, told, frames } of goldenMessages()) {
  test(name, () => CHECKS[name === "shared-memory" ? "shared" : told.outcome](told, frames()));
}

const CHECKS = {
  taken(told, frames) {
    const header = readHeader(frames);
    const arrays = readArrays(header, frames);
    if (told.header === undefined) checkSummary(told, header, arrays);
    else checkWhole(told, header, arrays);
  },

  refused(told, frames) {
    assert.throws(() => readAny(frames), (error) => error.code === told.code && Object.is(error.re ?? null, told.re));
  },

  ignored(told, frames) {
    assert.equal(readMessage(frames), null);
  },

  open(told, frames) {
    try {
      readAny(frames);
    } catch (error) {
      assert.equal(error.code, told.code);
      assert.equal(error.re, told.re);
    }
  },

  /** This worker has no shared memory. */
  shared(told, frames) {
    assert.throws(() => readMessage(frames), { code: "bad_frames", re: 2 });
  },
};

/** Also messages that only a worker sends: they are golden too, and a worker's own reader takes them for no message. */
function readAny(frames) {
  const header = readHeader(frames);
  try {
    readArrays(header, frames);
  } catch (error) {
    error.re = header.id;
    throw error;
  }
  readMessage(frames);
}

function checkSummary(told, header, arrays) {
  assert.equal(header.type, told.type);
  assert.equal(header.id, told.id);
  assert.equal(arrays.size, told.array_count);
}

function checkWhole(told, { entries }, arrays) {
  assert.deepEqual(plain(entries), expected(told.header));
  for (const { name, dtype, shape, values } of told.arrays) {
    const array = arrays.get(name);
    assert.deepEqual({ dtype: array.dtype, shape: array.shape }, { dtype, shape });
    assert.deepEqual([...toTyped(array)], numbers(values, dtype));
  }
}

/** Buffers compare as unequal to the same bytes in a Uint8Array. */
function plain(value) {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value instanceof Extension) return new Extension(value.type, Uint8Array.from(value.bytes));
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...value].map(([key, entry]) => [plain(key), plain(entry)]));
  return value;
}

function numbers(values, dtype) {
  const flat = [values].flat(Infinity);
  if (dtype === "int64") return flat.map(BigInt);
  return flat.map(Number).map(dtype === "float32" ? Math.fround : (number) => number);
}

test("a header far deeper than the stack", () => {
  const deep = Buffer.concat([encode({ type: "END", id: 5 }), Buffer.from([0xa1, 0x78]), Buffer.alloc(200000, 0x91), Buffer.from([0xc0])]);
  deep[0] = 0x83;
  assert.throws(() => readMessage([deep]), { code: "bad_header", re: 5 });
});
