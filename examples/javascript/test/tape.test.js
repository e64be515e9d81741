// The golden session of the task mlp is replayed, and the worker finds the recorded answers.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readHeader } from "../lib/messages.js";
import { TapeReader, TapeWriter, WORKER } from "../lib/tape.js";
import { tape } from "./golden.js";

const worker = new URL("../worker.js", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "tape-"));
after(() => rmSync(folder, { recursive: true }));

function run(path) {
  return spawnSync(process.execPath, [worker, "--tape", path], { encoding: "utf8" });
}

/** Copies the golden tape, with each message as `change` gives it back; null drops it. */
function rewrite(path, change) {
  const reader = new TapeReader(tape("mlp"));
  const writer = new TapeWriter(path);
  for (let message = reader.next(); message !== null; message = reader.next()) {
    const changed = change(message);
    if (changed !== null) writer.add(changed.sender, changed.frames);
  }
  writer.close();
}

test("the recorded session of mlp", () => {
  const said = execFileSync(process.execPath, [worker, "--tape", tape("mlp")], { encoding: "utf8" });
  assert.match(said, /^compared with the tape: 10 losses, \d+ predictions, \d+ parameters/);
});

test("other answers than the recorded ones", () => {
  const path = join(folder, "other.tape");
  rewrite(path, (message) => {
    // The last byte of a message's last frame: an exponent of the logits or of a parameter.
    if (message.sender === WORKER && message.frames.length > 1) message.frames.at(-1)[3] ^= 1;
    return message;
  });
  const ended = run(path);
  assert.equal(ended.status, 1);
  assert.match(ended.stderr, /deviates/);
});

test("a session that ends without BYE", () => {
  const path = join(folder, "bye.tape");
  rewrite(path, (message) => (readHeader(message.frames).type === "BYE" ? null : message));
  assert.equal(run(path).status, 0);
});

test("files that are no tapes end with one sentence", () => {
  const whole = readFileSync(tape("mlp"));
  const huge = Buffer.concat([whole.subarray(0, 16), Buffer.from("4301000000ffffffffffffff7f", "hex")]);
  for (const [name, bytes] of Object.entries({ cut: whole.subarray(0, 1000), none: Buffer.from("no tape"), huge })) {
    const path = join(folder, `${name}.tape`);
    writeFileSync(path, bytes);
    const ended = run(path);
    assert.equal(ended.status, 1, name);
    assert.equal(ended.stderr.trim().split("\n").length, 1, ended.stderr);
  }
});

test("what is recorded is a tape of the same session", () => {
  const path = join(folder, "recorded.tape");
  execFileSync(process.execPath, [worker, "--tape", tape("mlp"), "--record", path]);
  assert.equal(run(path).status, 0);
});
