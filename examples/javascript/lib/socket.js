// The ZeroMQ side of a live session: socket options, and who watches the connection (sections 3, 7 and 12).

import { randomBytes } from "node:crypto";
import { capability, Dealer, version } from "zeromq";
import { MAX_FRAME_BYTES } from "./limits.js";

export { version };

const FIRST_PATIENCE_NS = 30e9; // before WELCOME says another
const LONGEST_TIMER_MS = 2 ** 31 - 1; // Node fires longer ones at once

/** A connected socket. `leave(sentence)` is called when the coordinator is gone for good. */
export class SocketLink {
  constructor({ endpoint, curve }, leave) {
    if (curve && !capability.curve) throw new Error("this ZeroMQ can't encrypt, and the connection file has keys");
    this.socket = new Dealer(options(endpoint, curve));
    this.watch = new Watch(leave);
    this.watch.follow(this.socket.events);
    this.socket.connect(endpoint);
  }

  receive() {
    return this.socket.receive();
  }

  send(frames) {
    return this.socket.send(frames);
  }

  setPatience(nanoseconds) {
    this.watch.setPatience(nanoseconds);
  }

  close() {
    this.watch.stop();
    this.socket.close();
  }
}

function options(endpoint, curve) {
  const chosen = {
    linger: 2000,
    maxMessageSize: MAX_FRAME_BYTES,
    routingId: randomBytes(16).toString("hex"), // hexadecimal, since the package takes a text
  };
  if (endpoint.startsWith("tcp://")) Object.assign(chosen, { heartbeatInterval: 5000, heartbeatTimeout: 20000 });
  if (curve) {
    chosen.curveServerKey = curve.server_key;
    chosen.curvePublicKey = curve.public_key;
    chosen.curveSecretKey = curve.secret_key;
  }
  return chosen;
}

/** Knows since when there is no connection. The timer runs beside the loop that receives, and so also when that waits. */
class Watch {
  constructor(leave) {
    this.leave = leave;
    this.patience = FIRST_PATIENCE_NS;
    this.brokenSince = performance.now();
    this.arm();
  }

  async follow(events) {
    for await (const { type } of events) {
      if (type === "handshake") this.connected();
      if (type === "disconnect") this.broken();
      if (type === "handshake:error:auth") this.leave("the coordinator doesn't take this worker's keys");
    }
  }

  connected() {
    this.brokenSince = null;
    clearTimeout(this.timer);
  }

  /** A second break before the connection is back doesn't count anew. */
  broken() {
    this.brokenSince ??= performance.now();
    this.arm();
  }

  setPatience(nanoseconds) {
    this.patience = Number(nanoseconds);
    if (this.brokenSince !== null) this.arm();
  }

  arm() {
    clearTimeout(this.timer);
    const left = this.patience / 1e6 - (performance.now() - this.brokenSince);
    this.timer = setTimeout(() => this.leave("the coordinator is gone"), Math.min(Math.max(left, 0), LONGEST_TIMER_MS));
  }

  stop() {
    clearTimeout(this.timer);
    this.leave = () => {};
  }
}
