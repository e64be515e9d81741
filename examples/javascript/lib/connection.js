// The connection file (section 2).

import { readFileSync } from "node:fs";

export const PROTOCOL = "1.0";
const NEEDED = ["protocol", "endpoint", "run", "key", "worker"];
const CURVE_KEYS = ["server_key", "public_key", "secret_key"];

/** Ends the process with a status and one sentence, as section 7 has it. */
export class Exit extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export function readConnection(path) {
  const file = parse(path);
  for (const name of NEEDED) {
    if (typeof file[name] !== "string") throw new Exit(1, `the connection file has no text ${name}`);
  }
  if (!/^1\.\d{1,4}$/.test(file.protocol)) throw new Exit(1, "the coordinator speaks another protocol than 1");
  if (!/^(ipc|tcp):\/\/./.test(file.endpoint)) throw new Exit(1, "the endpoint is neither ipc:// nor tcp://");
  checkCurve(file.curve);
  const device = checkDevice(file.device ?? "cpu");
  const threads = checkThreads(file.threads ?? 1);
  // A comparison is one of equal threads: better no row than one that computes with others.
  if (threads !== 1) throw new Exit(3, `this worker computes with one thread, not with ${threads}`);
  return { ...file, device, threads };
}

function parse(path) {
  let file;
  try {
    file = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Exit(1, `the connection file can't be read: ${error.message}`);
  }
  if (file === null || typeof file !== "object" || Array.isArray(file)) throw new Exit(1, "the connection file is no object");
  return file;
}

/** Keys that can't be used mustn't lead to a connection in the clear. */
function checkCurve(curve) {
  if (curve === undefined) return;
  const good = CURVE_KEYS.every((name) => typeof curve?.[name] === "string" && curve[name].length === 40);
  if (!good) throw new Exit(1, "the keys of the connection file can't be used");
}

export function checkDevice(device) {
  if (device !== "cpu") throw new Exit(3, "this worker computes on the device cpu only");
  return device;
}

export function checkThreads(threads) {
  if (!Number.isInteger(threads) || threads < 1) throw new Exit(1, "threads must be an integer of at least 1");
  return threads;
}
