"""The JAX worker: a real process, and what only a process in its environment can see."""

from __future__ import annotations

import json
import subprocess

import pytest

import joined
import joined_features
from rosetta import environments, workers
from rosetta.bench import conditions
from rosetta.conformance.small import small
from rosetta.workers import PY_FOLDER
from tested_workers import needed

TASKS = ["mlp", "cnn", "gru", "resnet50"]
WORKER = workers.get("jax")

pytestmark = pytest.mark.timeout(600)  # a program is compiled for every size of batch

PROBE = """\
import json, os, sys
import numpy as np
from rosetta_worker.backends import Setup, load

backend = load(sys.argv[1])
task = json.load(sys.stdin)
backend.start("cpu", 1)
import jax

compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
)
random = np.random.default_rng(0)


def aligned(values):
    '''A copy at an address where JAX takes NumPy's memory as it is.'''
    room = np.zeros(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def make_batch(size):
    inputs = random.integers(0, 250, (size, *task["input"]["shape"]))
    labels = random.integers(0, task["classes"], size)
    return inputs.astype(task["input"]["dtype"]), labels.astype(np.int32)


def build(parameters):
    setup = Setup(task, 5, 1, False, 1, "cpu")
    return backend.build(setup, parameters)


def step(network, batch):
    return network.train_step(network.to_device(*batch))


def read_only(array):
    array = array.view()
    array.flags.writeable = False
    return array


initial = {
    p["name"]: random.normal(0, 0.1, p["shape"]).astype(np.float32) for p in task["parameters"]
}
batches = [make_batch(5) for _ in range(4)]


def trained(overwrite):
    '''Losses and parameters; `overwrite`: all memory that was passed, as soon as it is allowed.'''
    given = {name: aligned(values) for name, values in initial.items()}
    network, losses = build(given), []
    if overwrite:
        for values in given.values():
            values[...] = np.nan
    for batch in batches:
        memory = [aligned(array) for array in batch]
        losses.append(step(network, map(read_only, memory)))
        network.predict(read_only(memory[0]))
        if overwrite:
            for array in memory:
                array[...] = 0
    return losses, {name: values.tolist() for name, values in network.parameters().items()}


def read_and_trained():
    '''Whether what `parameters` returned stays as it is when training goes on.'''
    network = build(initial)
    read = network.parameters()
    step(network, batches[0])
    return all((read[name] == initial[name]).all() for name in initial)


def compiled_again():
    '''Programs compiled after one step with each size of batch, and a changed learning rate.'''
    network = build(initial)
    for size in (5, 2):
        step(network, make_batch(size))
    network.set_learning_rate(0.1)
    del compiled[:]
    for size in (2, 5, 2):
        step(network, make_batch(size))
    return len(compiled), backend.train_step._cache_size()


def living():
    '''Arrays that there are when a network of one step has just been built.'''
    step(build(initial), batches[0])
    network = build(initial)
    return len(jax.live_arrays())


def pool():
    names = []
    for thread in os.listdir("/proc/self/task"):
        try:
            names.append(open("/proc/self/task/%s/comm" % thread).read().strip())
        except OSError:
            pass  # it has ended since
    return names.count("tf_XLAEigen")


print(json.dumps({
    "passed memory is left alone": trained(overwrite=True) == trained(overwrite=False),
    "read memory is left alone": read_and_trained(),
    "compiled again, programs": compiled_again(),
    "arrays": [living(), living()],
    "pool": pool(),
}))
"""


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Without JAX these tests say that they were skipped."""
    return needed(WORKER)


@pytest.fixture(scope="module")
def session(environment, tmp_path_factory):
    with joined.joined(WORKER, tmp_path_factory.mktemp("jax")) as session:
        yield session


class TestTasks(joined.RightTasks):
    """Parameters, predictions, training and proof."""


class TestFeatures(joined_features.RightFeatures):
    """Parameters, features and proof; what it refuses."""


class TestWorker(joined.RightWorker):
    """Dropout, sleep, what it refuses."""


def test_it_says_what_computes(session, environment):
    hello = session.hello
    assert (hello.language, hello.framework) == ("python", "JAX")
    assert hello.framework_version == hello.versions["jax"] == environment.framework_version
    assert {"python", "numpy", "jaxlib", "flax", "optax"} <= set(hello.versions)
    assert hello.tasks == TASKS
    assert hello.forms == {"adam": "torch", "gru": "cudnn"}
    assert hello.disclosures["precision"].startswith("float32")


def test_a_device_that_is_no_device_is_refused():
    joined.check_devices(WORKER)


@pytest.fixture(scope="module", params=["mlp", "gru"])
def probe(environment, request):
    """What the backend tells of itself, alone in a process, with the small network of a task."""
    variables = {**conditions.variables(1), "PYTHONPATH": str(PY_FOLDER)}
    done = subprocess.run(
        [environment.interpreter, "-c", PROBE, WORKER.folder],
        input=json.dumps(small(request.param).to_wire()),
        env=environments.clean_environment(variables),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_memory_is_not_shared_beyond_an_answer(probe):
    """JAX takes NumPy's memory as its own where it can, and gives its own away as NumPy's."""
    assert probe["passed memory is left alone"]
    assert probe["read memory is left alone"]


def test_one_program_is_compiled_for_each_size_of_batch(probe):
    assert probe["compiled again, programs"] == [0, 2]


def test_a_network_that_has_ended_is_freed(probe):
    assert probe["arrays"][0] == probe["arrays"][1]


def test_it_computes_with_one_thread_when_it_is_told_to(probe):
    assert probe["pool"] == 1
