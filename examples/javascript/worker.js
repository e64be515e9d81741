#!/usr/bin/env node
// A worker of the Rosetta protocol: it trains the task mlp in plain JavaScript.
//
//     node worker.js CONNECTION_FILE
//     node worker.js --tape FILE [--record FILE] [--device cpu] [--threads N]

import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { DTYPES } from "./lib/arrays.js";
import { Comparison } from "./lib/compare.js";
import { checkDevice, checkThreads, Exit, PROTOCOL, readConnection } from "./lib/connection.js";
import { Refusal } from "./lib/limits.js";
import { writeMessage } from "./lib/messages.js";
import { failure, Session } from "./lib/session.js";
import { TapeLink } from "./lib/tape.js";
import { TASKS } from "./lib/task.js";

const now = process.hrtime.bigint;

/** One line on standard error, without the control characters that a text of the other side may have. */
function log(sentence) {
  process.stderr.write(`${sentence.replace(/\p{Cc}/gu, " ")}\n`);
}

function hello({ run, key, worker }, versions) {
  return {
    protocol: PROTOCOL, run, key, worker,
    pid: process.pid, host: hostname(),
    language: "javascript", language_version: process.versions.node,
    framework: "JavaScript", framework_version: process.versions.node, versions: { v8: process.versions.v8, ...versions },
    device: "cpu", threads: 1,
    tasks: TASKS, dtypes: DTYPES, planes: ["inline"], forms: { adam: "torch" },
    disclosures: { precision: "float32 kept, sums in float64", kernels: "loops over typed arrays, one thread" },
  };
}

/** An answer that can't be sent as it is becomes an ERROR: each question has an answer. */
function encodeReply(reply, id) {
  try {
    return writeMessage(reply.type, id, reply.fields, reply.arrays);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { type, fields } = failure(error.code, error.message, reply.fields.re);
    return writeMessage(type, id, fields);
  }
}

/** Says hello, then answers until the session is over. The result is the exit status. */
async function converse(link, greeting, session) {
  let id = 0;
  await link.send(writeMessage("HELLO", id++, greeting));
  let idleSince = now();
  for (;;) {
    const frames = await link.receive();
    if (frames === null) return 0; // the end of a tape
    const reply = session.handle(frames, Number(now() - idleSince));
    if (reply.type !== undefined) {
      await link.send(encodeReply(reply, id++));
      idleSince = now();
    }
    if (reply.leave !== undefined) return reply.leave;
  }
}

async function runTape({ tape, record, device, threads }) {
  checkDevice(device ?? "cpu");
  checkThreads(Number(threads ?? 1));
  const comparison = new Comparison();
  const link = new TapeLink(tape, record, comparison);
  const session = new Session({ threads: null, log, setPatience() {} });
  const status = await converse(link, hello({ run: "tape", key: "", worker: "javascript" }), session);
  link.close();
  const differences = comparison.differences();
  process.stdout.write(`${comparison.summary()}\n`);
  if (differences.length > 0) throw new Exit(1, differences.join("; "));
  return status;
}

/** ZeroMQ is loaded here and not above, so that a tape needs none. */
async function runLive(path) {
  const connection = readConnection(path);
  const { SocketLink, version } = await import("./lib/socket.js");
  const link = new SocketLink(connection, (sentence) => {
    log(sentence);
    process.exit(1); // at once, whatever is being waited for
  });
  const session = new Session({ threads: connection.threads, log, setPatience: (ns) => link.setPatience(ns) });
  const status = await converse(link, hello(connection, { zeromq: version }), session);
  link.close();
  return status;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { tape: { type: "string" }, record: { type: "string" }, device: { type: "string" }, threads: { type: "string" } },
  });
  if (values.tape !== undefined) return runTape(values);
  if (positionals.length !== 1) throw new Exit(1, "usage: worker.js CONNECTION_FILE | worker.js --tape FILE");
  return runLive(positionals[0]);
}

try {
  process.exit(await main());
} catch (error) {
  log(error.message);
  process.exit(error.status ?? 1);
}
