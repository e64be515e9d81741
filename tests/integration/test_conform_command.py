"""`rosetta conform`: what it prints and how it ends, for right workers, wrong ones and mistakes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import psutil
import pytest

from integration import observe
from rosetta import environments, workers
from rosetta.conformance import Report, names
from rosetta.protocol.schema import schema_of

WRONG = Path(__file__).parents[1] / "rosetta" / "conformance" / "wrong"
Rosetta = Callable[..., "subprocess.Popen[str]"]


def conform(rosetta: Rosetta, *arguments: object, **more: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error)."""
    process = rosetta("conform", *arguments, **more)
    output, errors = process.communicate(timeout=880)
    return process.returncode, output, errors


def lines(output: str, mark: str) -> list[str]:
    """The names of the checks whose lines begin with this."""
    found = [line.removeprefix(mark) for line in output.splitlines() if line.startswith(mark)]
    return [line.partition(":")[0].strip() for line in found]


def made(name: str) -> None:
    """Has its environment made; where there is no Julia, the test is skipped."""
    try:
        environments.ensure(workers.get(name))
    except environments.NotInstalled as error:
        pytest.skip(str(error))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["numpy", pytest.param("julia", marks=pytest.mark.exhaustive)])
@pytest.mark.alone
def test_a_right_worker_is_green(rosetta, name):
    made(name)
    status, output, errors = conform(rosetta, name, "--threads", 1)
    assert status == 0, output + errors
    assert lines(output, "NOT") == []
    full = [name for name in names() if name.endswith((".full_proof", ".long_wait"))]
    assert lines(output, "not asked") == full
    assert sorted(lines(output, "ok ") + full) == sorted(names())
    assert output.endswith("it conforms\n")


@pytest.mark.exhaustive
def test_the_harness_s_worker_is_asked_for_all_but_numbers_and_devices(rosetta):
    status, output, _ = conform(rosetta, "null", "--threads", 1)
    assert status == 0
    assert lines(output, "NOT") == []
    assert "numbers.mlp.proof" in lines(output, "not asked")
    assert "a worker of the harness computes nothing" in output
    assert {"numbers.times", "training.gru.again", "endings.sigterm"} <= set(lines(output, "ok "))


def test_a_wrong_worker_is_red_in_the_right_line_and_others_are_made_all_the_same(rosetta):
    command = [sys.executable, WRONG, "counts wrongly", "{connection_file}"]
    checks = "training.mlp,greeting.planes"
    status, output, errors = conform(rosetta, "--check", checks, "--", *command)
    assert status == 1, errors
    assert lines(output, "NOT") == ["training.mlp.ready"]
    (line,) = (line for line in output.splitlines() if line.startswith("NOT"))
    assert "expected: READY with the task's parameters" in line
    assert "came: parameter_count 827, not 826" in line
    assert line.endswith("(SPEC 6.5)")
    asked = {name for name in names() if name.startswith("training.mlp.")}
    assert set(lines(output, "ok ")) == asked - {"training.mlp.ready"} | {
        "greeting.hello",
        "greeting.planes",
    }
    assert output.endswith("it does not conform: training.mlp.ready\n")


def test_what_a_worker_does_not_have_is_not_asked(rosetta):
    command = [sys.executable, WRONG, "none"]  # the connection file's path is appended
    status, output, _ = conform(rosetta, "--check", "training.cnn,credit.two", "--", *command)
    assert status == 0
    assert lines(output, "not asked") == [n for n in names() if n.startswith("training.cnn.")]
    assert "it doesn't have the task cnn" in output


def test_a_recommendation_does_not_count(rosetta):
    command = [sys.executable, WRONG, "has no routing id"]
    status, output, _ = conform(rosetta, "--check", "greeting.routing_id", "--", *command)
    assert status == 0
    assert lines(output, "NOT") == ["greeting.routing_id"]
    assert "(recommended only)" in output


def test_json_is_the_report(rosetta):
    command = [sys.executable, WRONG, "answers twice"]
    status, output, _ = conform(rosetta, "--json", "--check", "credit", "--", *command)
    assert status == 1
    report = json.loads(output)
    jsonschema.validate(report, schema_of(Report))
    assert report["passed"] is False
    assert report["protocol"] == report["hello"]["protocol"] == "1.0"
    assert "key" not in report["hello"]
    assert report["command"] == [sys.executable, str(WRONG), "answers twice"]
    found = {check["name"]: check["status"] for check in report["checks"]}
    assert found["greeting.hello"] == "ok"
    assert found["credit.one"] == found["credit.many"] == "wrong"


def test_who_never_greets_is_asked_for_nothing_more(rosetta):
    program = "print('ImportError: no libmagic'); raise SystemExit(7)"
    status, output, _ = conform(rosetta, "--", sys.executable, "-c", program)
    assert status == 1
    assert lines(output, "NOT") == ["greeting.hello"]
    assert "came: exited with 7: ImportError: no libmagic" in output
    assert set(lines(output, "not asked")) == set(names()) - {"greeting.hello"}


def test_an_interrupted_suite_leaves_no_worker(rosetta):
    command = [sys.executable, WRONG, "hangs in a step"]
    process = rosetta("conform", "--check", "training.mlp.results", "--", *command)
    assert process.stdout.readline().startswith("ok        greeting.hello")
    assert observe.eventually(lambda: psutil.Process(process.pid).children())
    (worker,) = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "rosetta: interrupted\n"
    assert observe.eventually(lambda: not observe.alive(worker.pid))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name one worker, or write its command line behind --"),
        (["--"], "name one worker, or write its command line behind --"),
        (["numpy", "null"], "name one worker"),
        (["numpy", "--", "python"], "name one worker"),
        (["nunpy"], "unknown worker 'nunpy': did you mean numpy"),
        (["--", "./no-such-worker"], "no program './no-such-worker'"),
        (["null", "--check", "tomato"], "no check 'tomato': the chapters are greeting, "),
        (["null", "--threads", "0"], "--threads"),
    ],
)
def test_a_mistake_is_one_line(rosetta, arguments, complaint):
    status, output, errors = conform(rosetta, *arguments)
    assert (status, output) == (2, "")
    assert complaint in errors
    assert errors.count("\n") == 1
