// Compares a worker's answers with those on a tape (section 8, "Recorded answers").
//
// What that section says of convolutions, dropout and momentum is left out here: this worker refuses such networks.

import { readArrays, readHeader } from "./messages.js";
import { toTyped } from "./arrays.js";

const LOSS = 1e-6;
const LOGITS = [2e-6, 2e-5]; // before any step, and after
const CHANGE = [0, 6e-4, 5e-3]; // before any step, after one, and after more
const LAST_LOSS = 9;
const LAST_OTHER = 4;

/** What went over the wire; both sides' messages may come in any order. */
export class Comparison {
  constructor() {
    this.recorded = new Map(); // answers on the tape by `re`
    this.own = [];
    this.forms = new Map();
    this.initial = null;
    this.asked = null;
    this.results = 0;
    this.counts = { losses: 0, predictions: 0, parameters: 0 };
    this.leftOut = new Map();
  }

  addQuestion(frames) {
    const message = read(frames);
    if (message?.type === "SETUP") this.asked = message.arrays;
  }

  addRecorded(frames) {
    const message = read(frames);
    if (message === null) return;
    const { type, re, entries } = message;
    if (type === "HELLO" && entries.get("forms") instanceof Map) this.forms = entries.get("forms");
    if (typeof re === "bigint" && !this.recorded.has(re)) this.recorded.set(re, message);
  }

  addOwn(frames) {
    const message = read(frames);
    if (message.type === "READY") Object.assign(this, { results: 0, initial: this.asked });
    this.own.push({ ...message, results: this.results, initial: this.initial });
    if (message.type === "RESULT") this.results++;
  }

  /** A sentence for each answer that isn't the recorded one. */
  differences() {
    return this.own.flatMap((answer) => {
      const wanted = this.recorded.get(answer.re);
      const different = wanted === undefined ? null : this.difference(answer, wanted);
      return different === null ? [] : [`the answer to message ${answer.re}: ${different}`];
    });
  }

  /** How many values were compared, and which weren't and why. */
  summary() {
    const counted = Object.entries(this.counts).map(([what, count]) => `${count} ${what}`).join(", ");
    const rest = [...this.leftOut].map(([why, count]) => `; left out: ${count}, ${why}`).join("");
    return `compared with the tape: ${counted}${rest}`;
  }

  difference(answer, wanted) {
    if (answer.type !== wanted.type) return `${answer.type} is not ${wanted.type}`;
    switch (answer.type) {
      case "ERROR": return same(answer, wanted, "code");
      case "READY": return same(answer, wanted, "parameter_count") ?? same(answer, wanted, "parameters");
      case "RESULT": return this.unlessLeftOut(answer, LAST_LOSS, () => this.loss(answer, wanted));
      case "PREDICTIONS": return this.unlessLeftOut(answer, LAST_OTHER, () => this.predictions(answer, wanted));
      case "VALUES": return this.unlessLeftOut(answer, LAST_OTHER, () => this.values(answer, wanted));
    }
    return null;
  }

  /** Right workers differ after many steps, since rounding grows, and with the other form of Adam. */
  unlessLeftOut({ results }, last, compare) {
    const otherForm = results > 0 && (this.forms.get("adam") ?? "torch") !== "torch";
    if (results <= last && !otherForm) return compare();
    const why = otherForm ? "for Adam was computed in another form" : "for rounding has grown";
    this.leftOut.set(why, (this.leftOut.get(why) ?? 0) + 1);
    return null;
  }

  loss(answer, wanted) {
    this.counts.losses++;
    const [given, right] = [answer, wanted].map(({ entries }) => Number(entries.get("loss")));
    if (Number.isNaN(given) && Number.isNaN(right)) return null;
    return tooLarge("the loss", ratio(Math.abs(given - right), Math.abs(right)), LOSS);
  }

  predictions(answer, wanted) {
    this.counts.predictions++;
    const [given, right] = [answer, wanted].map((message) => typed(message, "logits"));
    if (given?.length !== right?.length) return "the logits have another size";
    const differences = right.map((value, i) => Math.abs(given[i] - value));
    return tooLarge("the logits", ratio(largest(differences), largest(right.map(Math.abs))), LOGITS[Math.min(answer.results, 1)]);
  }

  values(answer, wanted) {
    for (const name of wanted.arrays.keys()) {
      this.counts.parameters++;
      const [given, right, start] = [answer.arrays, wanted.arrays, answer.initial].map((arrays) => typed({ arrays }, name));
      if (given?.length !== right.length || start?.length !== right.length) return `${name} has another size`;
      const deviation = ratio(distance(given, right), distance(right, start));
      const different = tooLarge(name, deviation, CHANGE[Math.min(answer.results, 2)]);
      if (different !== null) return different;
    }
    return null;
  }
}

/** A message of either side, or null where its header or its arrays can't be read. */
function read(frames) {
  try {
    const header = readHeader(frames);
    return { ...header, re: header.entries.get("re"), arrays: readArrays(header, frames) };
  } catch {
    return null;
  }
}

function same(answer, wanted, key) {
  const [given, right] = [answer, wanted].map(({ entries }) => JSON.stringify(plain(entries.get(key))));
  return given === right ? null : `another ${key}`;
}

/** Maps as sorted pairs and integers as texts, so that JSON can hold them. */
function plain(value) {
  if (value instanceof Map) return [...value].sort().map(plain);
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === "bigint" ? String(value) : value;
}

function typed({ arrays }, name) {
  return arrays?.has(name) ? toTyped(arrays.get(name)) : undefined;
}

/** Nothing of nothing is no difference; NaN stays NaN, and so is too large. */
function ratio(difference, scale) {
  return difference === 0 ? 0 : difference / scale;
}

function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function distance(one, other) {
  return Math.sqrt(one.reduce((sum, value, i) => sum + (value - other[i]) ** 2, 0));
}

function tooLarge(what, deviation, tolerance) {
  return deviation <= tolerance ? null : `${what} deviates by ${deviation.toExponential(1)}, not at most ${tolerance}`;
}
