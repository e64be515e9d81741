"""A worker's side of a session: it answers each message, in order (protocol/SPEC.md, section 7)."""

import sys
import traceback
from typing import Any, Dict, Optional

import numpy as np

from rosetta_worker import backends, shared_memory
from rosetta_worker.clock import Parts, now_ns
from rosetta_worker.connection import CoordinatorError
from rosetta_worker.inbox import Inbox, Message
from rosetta_worker.outbox import Outbox
from rosetta_worker.tape import TapeError
from rosetta_worker.wire import Arrays, Header, WireError, is_number, text


class Session:
    """Greets, then answers until BYE. `channel` is a `Connection` or a `Tape`."""

    def __init__(self, channel: Any, backend: Any, device: str, threads: int) -> None:
        self.status = 0
        self._channel = channel
        self._backend = backend
        self._device = device
        self._threads = threads
        self._outbox = Outbox(channel)
        self._welcomed = False
        self._over = False
        self._tasks: Any = []
        self._forms: Dict[str, str] = {}
        self._setup: Optional[backends.Setup] = None
        self._network: Any = None
        self._parts = Parts()
        self._wait_ns = 0
        self._handlers: Dict[str, Any] = {
            "WELCOME": self._on_welcome,
            "REFUSE": self._on_refuse,
            "SETUP": self._on_setup,
            "BATCH": self._on_batch,
            "PREDICT": self._on_predict,
            "PARAMETERS": self._on_parameters,
            "END": self._on_end,
            "BYE": self._on_bye,
            "ERROR": self._on_error,
        }
        self._inbox = Inbox(channel, self._handlers)

    def run(self, hello: Header) -> int:
        """Greet with `hello`, serve until BYE or the end of the tape; returns the exit status."""
        self._tasks = hello["tasks"]
        self._forms = hello.get("forms", {})
        self._outbox.send("HELLO", {}, **hello)
        while not self._over:
            message = self._inbox.next(before_waiting=self._outbox.flush)
            if message is None:
                break
            self._take(message)
        return self.status

    def _take(self, message: Message) -> None:
        header, re = message.header, message.header.get("id")
        if header.get("type") != "BATCH":
            self._outbox.flush()  # what follows may take long
        self._wait_ns = message.wait_ns
        if message.error is not None:
            self._fail(message.error, re)
            return
        try:
            handler = self._handlers.get(header["type"])
            if handler is None:
                _log("ignored a message of unknown type %r" % header["type"])
                return
            handler(header, message.arrays)
        except (CoordinatorError, TapeError):  # there is nobody to answer
            raise
        except Exception as error:
            self._fail(error, re)

    def _fail(self, error: Exception, re: Any) -> None:
        """Answer with ERROR."""
        if isinstance(error, WireError):
            self._refuse(error.code, error.sentence, error.re if error.re is not None else re)
            return
        # The backend's own: whatever the framework raises.
        traceback.print_exception(type(error), error, error.__traceback__)
        self._forget()
        self._refuse("backend", "%s: %s" % (type(error).__name__, error), re)

    # --- the coordinator's messages, one method each ----------------------------------------------

    def _on_welcome(self, header: Header, arrays: Arrays) -> None:
        if header.get("shm") is not None:
            self._inbox.shared = shared_memory.attach(header["shm"], header["id"])
        self._welcomed = True  # not before: a WELCOME that is answered with ERROR changes nothing
        credit = header.get("credit")
        if isinstance(credit, int):
            self._outbox.credit = credit
        patience = header.get("reconnect_ns")
        if isinstance(patience, int):
            self._channel.reconnect_ns = patience

    def _on_refuse(self, header: Header, arrays: Arrays) -> None:
        _log("refused by the coordinator: %s" % header.get("reason"))
        self.status, self._over = 1, True

    def _on_setup(self, header: Header, arrays: Arrays) -> None:
        re = header["id"]
        self._require(self._welcomed, "SETUP before WELCOME", re)
        self._require(self._network is None, "SETUP before the END of the task under way", re)
        setup = self._read_setup(header, arrays)
        started = now_ns()
        network = self._backend.build(setup, {n: a.copy() for n, a in arrays.items()})
        setup_ns = now_ns() - started
        self._setup, self._network = setup, network
        self._parts = Parts()
        if getattr(network, "tells_parts", False):
            network.done = self._parts.done
        built = network.parameters()
        trainable = {p["name"] for p in setup.task["parameters"] if p.get("trainable", True)}
        self._answer(
            "READY",
            re,
            parameter_count=sum(int(a.size) for n, a in built.items() if n in trainable),
            parameters=[{"name": n, "shape": list(a.shape)} for n, a in built.items()],
            threads=self._threads,
            setup_ns=setup_ns,
        )

    def _on_batch(self, header: Header, arrays: Arrays) -> None:
        re, wait_ns = header["id"], self._wait_ns
        setup = self._present(re)
        sentence = "task %s is forward only" % setup.task["name"]
        self._require("optimiser" in setup.task, sentence, re)
        inputs = backends.check_inputs(setup.task, arrays, re)
        labels = backends.check_labels(setup.task, arrays, re)
        step = header.get("step")
        self._require(is_number(step), "BATCH lacks `step`", re, "bad_header")
        if header.get("learning_rate") is not None:
            self._network.set_learning_rate(backends.check_learning_rate(header, re))
        started = now_ns()
        batch = self._network.to_device(inputs, labels)
        copied = now_ns()
        loss = self._network.train_step(batch)
        finished = now_ns()
        self._outbox.hold(
            "RESULT",
            finished - started,
            re=re,
            step=step,
            loss=float(loss),
            wait_ns=wait_ns,
            copy_ns=copied - started,
            step_ns=finished - copied,
            **self._parts.take(copied),
        )

    def _on_predict(self, header: Header, arrays: Arrays) -> None:
        re, wait_ns = header["id"], self._wait_ns
        setup = self._present(re)
        inputs = backends.check_inputs(setup.task, arrays, re)
        started = now_ns()
        # A copy, and within the time: what a framework computes lazily is computed for it.
        logits = np.array(self._network.predict(inputs), np.float32)
        predict_ns = now_ns() - started
        arrays = {"logits": logits}
        self._answer("PREDICTIONS", re, arrays, wait_ns=wait_ns, copy_ns=0, predict_ns=predict_ns)

    def _on_parameters(self, header: Header, arrays: Arrays) -> None:
        self._present(header["id"])
        values = self._network.parameters().items()
        self._answer("VALUES", header["id"], {n: np.array(a, np.float32) for n, a in values})

    def _on_end(self, header: Header, arrays: Arrays) -> None:
        self._forget()
        self._answer("ENDED", header["id"])

    def _on_bye(self, header: Header, arrays: Arrays) -> None:
        self._forget()
        self._answer("BYE", header["id"])
        self._over = True

    def _on_error(self, header: Header, arrays: Arrays) -> None:
        _log("the coordinator says: %s" % header.get("message"))
        if header.get("fatal"):
            self.status, self._over = 1, True

    # --- helpers ----------------------------------------------------------------------------------

    def _read_setup(self, header: Header, arrays: Arrays) -> backends.Setup:
        re = header["id"]
        task = backends.check_setup(header, self._tasks, self._forms, re)
        if self._channel.live and header["threads"] != self._threads:
            sentence = "this process computes with %d threads; start it anew for %d"
            raise WireError("unsupported", sentence % (self._threads, header["threads"]), re)
        backends.check_parameters(task, arrays, re)
        return backends.Setup(
            task=task,
            batch_size=header["batch_size"],
            seed=header["seed"],
            dropout=header["dropout"],
            threads=header["threads"],
            device=self._device,
        )

    def _present(self, re: int) -> backends.Setup:
        if self._setup is None:
            raise WireError("bad_state", "no task is set up", re)
        return self._setup

    def _require(self, condition: bool, sentence: str, re: int, code: str = "bad_state") -> None:
        if not condition:
            raise WireError(code, sentence, re)

    def _forget(self) -> None:
        self._setup = self._network = None

    def _answer(self, kind: str, re: int, arrays: Optional[Arrays] = None, **fields: Any) -> None:
        self._outbox.send(kind, arrays or {}, re=re, **fields)

    def _refuse(self, code: str, sentence: str, re: Any) -> None:
        fields = {} if re is None else {"re": re}
        self._outbox.send("ERROR", {}, code=code, message=text(sentence), fatal=False, **fields)


def _log(sentence: str) -> None:
    shown = "".join(c if c.isprintable() else " " for c in sentence)  # the other side's words
    print("rosetta worker: " + shown, file=sys.stderr, flush=True)
