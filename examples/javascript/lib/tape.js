// Tapes: a session in a file (section 8).

import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { MAX_FRAMES } from "./limits.js";

const MAGIC = Buffer.from("ROSETTA TAPE 1\n\0", "latin1");
export const COORDINATOR = 0x43;
export const WORKER = 0x57;

export class TapeReader {
  constructor(path) {
    this.path = path;
    this.file = openSync(path, "r");
    this.left = fstatSync(this.file).size;
    if (this.left < MAGIC.length || !this.read(MAGIC.length).equals(MAGIC)) throw new Error(`${path} isn't a tape`);
  }

  /** The file's size is looked at first, so that no length makes this allocate more than there is. */
  read(count) {
    if (count > this.left) throw new Error(`${this.path} ends in the middle of a message`);
    const bytes = Buffer.alloc(count);
    for (let got = 0; got < count; ) {
      const more = readSync(this.file, bytes, got, count - got, null);
      if (more === 0) throw new Error(`${this.path} was cut while it was read`);
      got += more;
    }
    this.left -= count;
    return bytes;
  }

  /** The next message of either side, or null at the end. */
  next() {
    if (this.left === 0) return null;
    const sender = this.read(1)[0];
    if (sender !== COORDINATOR && sender !== WORKER) throw new Error(`${this.path} has a message of neither side`);
    const count = this.read(4).readUInt32LE();
    if (count < 1 || count > MAX_FRAMES) throw new Error(`${this.path} has a message of ${count} frames`);
    const frames = [];
    for (let i = 0; i < count; i++) frames.push(this.read(Number(this.read(8).readBigUInt64LE())));
    return { sender, frames };
  }
}

export class TapeWriter {
  constructor(path) {
    this.file = openSync(path, "w");
    this.write(MAGIC);
  }

  write(bytes) {
    for (let done = 0; done < bytes.length; ) done += writeSync(this.file, bytes, done);
  }

  add(sender, frames) {
    const count = Buffer.alloc(5);
    count.writeUInt8(sender);
    count.writeUInt32LE(frames.length, 1);
    this.write(count);
    for (const frame of frames) {
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(frame.length));
      this.write(length);
      this.write(frame);
    }
  }

  close() {
    closeSync(this.file);
  }
}

/**
 * Stands in for a socket: the coordinator's messages come from one tape, and both sides' go to another if asked for.
 * `comparison` sees all messages.
 */
export class TapeLink {
  constructor(path, recordPath, comparison) {
    this.tape = new TapeReader(path);
    this.record = recordPath === undefined ? null : new TapeWriter(recordPath);
    this.comparison = comparison;
  }

  async receive() {
    for (;;) {
      const message = this.tape.next();
      if (message === null) return null;
      if (message.sender === COORDINATOR) return this.ask(message.frames);
      this.comparison.addRecorded(message.frames);
    }
  }

  ask(frames) {
    this.record?.add(COORDINATOR, frames);
    this.comparison.addQuestion(frames);
    return frames;
  }

  async send(frames) {
    this.record?.add(WORKER, frames);
    this.comparison.addOwn(frames);
  }

  /** What is behind the last message that was played may still be answers. */
  close() {
    for (let message = this.tape.next(); message !== null; message = this.tape.next()) {
      if (message.sender === WORKER) this.comparison.addRecorded(message.frames);
    }
    this.record?.close();
  }
}
