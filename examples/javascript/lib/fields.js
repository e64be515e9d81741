// Checks of decoded values. A check takes a value and gives it back as the worker uses it, or throws.

import { MAX_INTEGER, MAX_WORD, Refusal } from "./limits.js";

function wrong(name, what) {
  throw new Refusal("bad_header", `${name} must be ${what}`);
}

/** An integer, as Number where that is exact and as BigInt beyond: an `id` may be any up to 2^63 - 1. */
export function integer(low = 0, high = MAX_INTEGER) {
  return (value, name) => {
    if (typeof value !== "bigint" || value < low || value > high) wrong(name, `an integer from ${low} to ${high}`);
    return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  };
}

/** A float; an integer is as good (section 4). NaN is in no range. */
export function float(low = -Infinity, high = Infinity) {
  return (value, name) => {
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number !== "number" || !(number >= low && number <= high)) wrong(name, `a number from ${low} to ${high}`);
    return number;
  };
}

export function text(limit = MAX_WORD) {
  return (value, name) => {
    if (typeof value !== "string" || characters(value, limit) > limit) wrong(name, `a text${atMost(limit, "characters")}`);
    return value;
  };
}

function atMost(limit, what) {
  return limit === Infinity ? "" : ` of at most ${limit} ${what}`;
}

function characters(value, limit) {
  return value.length <= limit ? value.length : Array.from(value).length;
}

export function boolean(value, name) {
  return typeof value === "boolean" ? value : wrong(name, "true or false");
}

export function map(value, name) {
  return value instanceof Map ? value : wrong(name, "a map");
}

export function list(check, limit = Infinity) {
  return (value, name) => {
    if (!Array.isArray(value) || value.length > limit) wrong(name, `a list${atMost(limit, "entries")}`);
    return value.map((entry) => check(entry, `an entry of ${name}`));
  };
}

export function optional(check, absent = undefined) {
  const relaxed = (value, name) => (value === undefined || value === null ? absent : check(value, name));
  relaxed.optional = true;
  return relaxed;
}

/** The fields that `checks` names, as an object. Other keys of the map aren't looked at. */
export function readFields(entries, checks, where) {
  const fields = {};
  for (const [name, check] of Object.entries(checks)) {
    const value = entries.get(name);
    if (value === undefined && !check.optional) throw new Refusal("bad_header", `${where} has no ${name}`);
    fields[name] = check(value, `${name} of ${where}`);
  }
  return fields;
}
