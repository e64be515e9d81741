"""A worker that misbehaves: `python rogue.py BEHAVIOUR CONNECTION_FILE`.

Speaks the protocol with bare pyzmq and msgpack, correctly up to the point that its behaviour names.
"""

import json
import os
import signal
import sys
import time

import msgpack
import zmq

behaviour, path = sys.argv[1:]
with open(path) as file:  # noqa: PTH123
    where = json.load(file)
numbers = iter(range(10**9))


def send(kind: str, *frames: bytes, **fields: object) -> None:
    header = {"type": kind, "id": next(numbers), **fields}
    peer.send_multipart([msgpack.packb(header), *frames])


def result(request: dict, **changes: object) -> None:
    times = {"wait_ns": 1, "copy_ns": 1, "step_ns": 1}
    fields = {"re": request["id"], "step": request["step"], "loss": 1.0, **times, **changes}
    send("RESULT", **fields)


if behaviour == "exits at start":
    print("ImportError: libmagic.so.1: cannot open shared object file", flush=True)
    sys.exit(7)
if behaviour == "has no such device":
    print("device 'cuda' is not available: no driver", flush=True)
    sys.exit(3)
if behaviour == "changes its processors":
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
if behaviour == "starts anew with other variables" and os.environ["OMP_NUM_THREADS"] != "8":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OMP_NUM_THREADS": "8"})
if behaviour == "never greets":
    print("still importing", flush=True)
    time.sleep(600)

peer = zmq.Context.instance().socket(zmq.DEALER)
peer.connect(where["endpoint"])

if behaviour == "greets with garbage":
    peer.send_multipart([b"\xc1\xff\x00garbage"])
    time.sleep(600)

hello = {
    "protocol": "9.0" if behaviour == "speaks protocol 9" else "1.0",
    "run": where["run"],
    "key": "0" * 32 if behaviour == "has another key" else where["key"],
    "worker": "somebody" if behaviour == "uses another name" else where["worker"],
    "pid": os.getpid(),
    "language": "rogue",
    "language_version": "1",
    "framework": "rogue",
    "framework_version": "1",
    "device": "cpu",
    "threads": 1,
    "tasks": ["mlp"],
    "dtypes": ["float32"],
    "planes": ["inline"],
}
if behaviour == "sees other conditions":
    hello["disclosures"] = {"processors": "40-41", "thread variables": "OMP_NUM_THREADS=3"}
send("HELLO", **hello)

while True:
    frames = peer.recv_multipart()
    request = msgpack.unpackb(frames[0])
    kind, re = request["type"], request["id"]
    if kind == "REFUSE":
        print("refused:", request["reason"], flush=True)
        sys.exit(1)
    if kind == "SETUP":
        if behaviour == "answers SETUP with ERROR":
            send("ERROR", re=re, code="backend", message="no such kernel", fatal=False)
            continue
        parameters = [{"name": a["name"], "shape": a["shape"]} for a in request["arrays"]]
        if behaviour == "forgets a parameter":
            parameters.pop()
        ready = {"threads": 4 if behaviour == "reports other threads" else 1, "setup_ns": 1}
        send("READY", re=re, parameter_count=101770, parameters=parameters, **ready)
    if kind == "BATCH" and request["step"] < 3:
        result(request)
    elif kind == "BATCH":
        if behaviour == "answers and dies":
            result(request)
            print("out of memory: killed", flush=True)
            peer.close(linger=1000)
            zmq.Context.instance().term()
            os._exit(9)
        if behaviour == "dies in a step":
            os.kill(os.getpid(), signal.SIGKILL)
        if behaviour == "hangs in a step":
            time.sleep(600)
        if behaviour == "floods":
            for _ in range(1000):
                result(request)
        if behaviour == "sends garbage":
            peer.send_multipart([b"\x85garbage", b"x" * 1000])
        elif behaviour == "claims a huge array":
            huge = [{"name": "logits", "dtype": "float32", "shape": [2**31, 2**31]}]
            send("PREDICTIONS", b"", re=re, arrays=huge, wait_ns=1, copy_ns=1, predict_ns=1)
        elif behaviour == "answers another batch":
            result(request, re=re + 1000)
        elif behaviour == "answers another step":
            result(request, step=request["step"] + 1)
        else:
            result(request, loss=float("nan") if behaviour == "diverges" else 1.0)
        if behaviour == "answers twice":
            result(request)
    if kind == "PREDICT":
        samples = request["arrays"][0]["shape"][0]
        classes = 3 if behaviour == "predicts other classes" else 10
        logits = [{"name": "logits", "dtype": "float32", "shape": [samples, classes]}]
        data = b"\x00\x00\xc0\x7f" * (samples * classes)  # NaN
        send("PREDICTIONS", data, re=re, arrays=logits, wait_ns=1, copy_ns=1, predict_ns=1)
    if kind == "END":
        send("ENDED", re=re)
    if kind == "BYE":
        send("BYE", re=re)
        if behaviour == "stays after BYE":
            time.sleep(600)
        sys.exit(0)
