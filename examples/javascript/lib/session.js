// The worker's side of a session: one message in, at most one answer out (section 7).

import { MAX_TEXT, Refusal, shorten } from "./limits.js";
import { readMessage } from "./messages.js";
import { Network } from "./network.js";
import { countTrainable, readInputs, readLabels, readParameters, readTask } from "./task.js";

const now = process.hrtime.bigint;
const between = (start, stop) => Number(stop - start);

export class Session {
  /**
   * `threads` is what the process was started for, or null on a tape, where SETUP's number is advisory.
   * `log` gets a sentence, `setPatience` the nanoseconds that WELCOME says.
   */
  constructor({ threads, log, setPatience }) {
    Object.assign(this, { threads, log, setPatience });
    this.welcomed = false;
    this.plan = null;
    this.network = null;
  }

  /** An answer { type, fields, arrays, leave }, each part of which may be absent. `leave` is the exit status. */
  handle(frames, waitNs) {
    let message;
    try {
      message = readMessage(frames);
      if (message === null) return {};
      return this[message.type](message, waitNs);
    } catch (error) {
      const re = message?.id ?? error.re;
      if (error instanceof Refusal) return failure(error.code, error.message, re);
      this.forget();
      return failure("backend", `${error.name}: ${error.message}`, re);
    }
  }

  /** Frees the network, as far as a language with a garbage collector can. */
  forget() {
    this.plan = null;
    this.network = null;
  }

  require(condition, sentence) {
    if (!condition) throw new Refusal("bad_state", sentence);
  }

  WELCOME({ reconnect_ns, shm }) {
    if (this.welcomed) return {};
    if (shm) throw new Refusal("unsupported", "this worker has no shared memory and announced none");
    this.welcomed = true;
    this.setPatience(reconnect_ns);
    return {};
  }

  REFUSE({ code, reason }) {
    this.log(`refused (${code}): ${reason}`);
    return { leave: 1 };
  }

  ERROR({ code, message, fatal }) {
    this.log(`error of the coordinator (${code}): ${message}`);
    return fatal ? { leave: 1 } : {};
  }

  BYE({ id }) {
    return { type: "BYE", fields: { re: id }, leave: 0 };
  }

  END({ id }) {
    this.forget();
    return { type: "ENDED", fields: { re: id } };
  }

  SETUP({ id, task, threads, arrays }) {
    this.require(this.welcomed, "SETUP came before WELCOME");
    this.require(this.network === null, "SETUP came while a network stands");
    if (this.threads !== null && threads !== this.threads) {
      throw new Refusal("unsupported", `this process was started for another number of threads, ${this.threads}`);
    }
    const plan = readTask(task);
    const values = readParameters(plan, arrays);
    const start = now();
    const network = new Network(plan, values);
    const setup_ns = between(start, now());
    Object.assign(this, { plan, network });
    const parameters = network.parameters.map(({ name, shape }) => ({ name, shape }));
    const fields = { re: id, parameter_count: countTrainable(network.parameters), parameters, threads: 1, setup_ns };
    return { type: "READY", fields };
  }

  BATCH({ id, step, learning_rate, arrays }, wait_ns) {
    this.require(this.network !== null, "BATCH came without a network");
    const { network } = this;
    const { samples, pixels } = readInputs(this.plan, arrays);
    const labels = readLabels(this.plan, arrays, samples);
    if (learning_rate !== undefined) network.setLearningRate(learning_rate);
    const start = now();
    const x = network.convert(pixels);
    const copied = now();
    const loss = network.step(x, labels);
    const stepped = now();
    const times = { wait_ns, copy_ns: between(start, copied), step_ns: between(copied, stepped) };
    return { type: "RESULT", fields: { re: id, step, loss, ...times } };
  }

  PREDICT({ id, arrays }, wait_ns) {
    this.require(this.network !== null, "PREDICT came without a network");
    const { network } = this;
    const { samples, pixels } = readInputs(this.plan, arrays);
    const start = now();
    const x = network.convert(pixels);
    const copied = now();
    const logits = network.predict(x, samples);
    const predicted = now();
    const fields = { re: id, wait_ns, copy_ns: between(start, copied), predict_ns: between(copied, predicted) };
    return { type: "PREDICTIONS", fields, arrays: [{ name: "logits", shape: [samples, network.classes], values: logits }] };
  }

  PARAMETERS({ id }) {
    this.require(this.network !== null, "PARAMETERS came without a network");
    // Copies, since the socket may still read a frame while the next step changes the parameters.
    const arrays = this.network.parameters.map(({ name, shape, values }) => ({ name, shape, values: values.slice() }));
    return { type: "VALUES", fields: { re: id }, arrays };
  }
}

/** `fatal` is false: after any of these the worker goes on. */
export function failure(code, sentence, re) {
  return { type: "ERROR", fields: { re, code, message: shorten(sentence, MAX_TEXT), fatal: false } };
}
