// Reads the golden frames: what a frame's JSON says that the bytes are.

import { readdirSync, readFileSync } from "node:fs";
import { Extension } from "../lib/unpack.js";
import { TapeReader } from "../lib/tape.js";

const folder = new URL("../../../protocol/golden/1.0/", import.meta.url);
export const tape = (name) => new URL(`tapes/${name}.tape`, folder).pathname;

/** Every golden message: its name, its description, and its frames from a tape of one message or from pieces. */
export function goldenMessages() {
  const names = readdirSync(new URL("frames/", folder)).filter((file) => file.endsWith(".json"));
  return names.map((file) => {
    const name = file.slice(0, -".json".length);
    const told = JSON.parse(readFileSync(new URL(`frames/${file}`, folder), "utf8"));
    const path = new URL(`frames/${name}.bin`, folder).pathname;
    return { name, told, frames: () => (told.frames ? build(told.frames) : new TapeReader(path).next().frames) };
  });
}

function build(parts) {
  return parts.flatMap((part) => {
    if (Array.isArray(part)) return [Buffer.from(pieces(part, 0), "hex")];
    return Array.from({ length: part.times }, () => build(part.repeat)).flat();
  });
}

/** Hexadecimal text of a list of pieces: texts, repetitions, and the number of the repetition in decimal digits. */
function pieces(parts, index) {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.digits) return Buffer.from(String(index).padStart(part.digits, "0")).toString("hex");
    if (part.repeat.every((piece) => typeof piece === "string")) return part.repeat.join("").repeat(part.times);
    return Array.from({ length: part.times }, (_, i) => pieces(part.repeat, i)).join("");
  }).join("");
}

/** A value of the JSON as `unpack` gives it. */
export function expected(value) {
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value.map(expected);
  if (value === null || typeof value !== "object") return value;
  const [[key, content] = []] = Object.entries(value);
  switch (key) {
    case "$integer": return BigInt(content);
    case "$float32": return Math.fround(Number(content));
    case "$float64": return Number(content);
    case "$bin": return new Uint8Array(Buffer.from(content, "hex"));
    case "$ext": return new Extension(content[0], new Uint8Array(Buffer.from(content[1], "hex")));
    case "$map": return new Map(content.map((pair) => pair.map(expected)));
  }
  return new Map(Object.entries(value).map(([name, entry]) => [name, expected(entry)]));
}
