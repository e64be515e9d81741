"""Whether a worker's answers are those that a tape holds (protocol/SPEC.md, section 8).

The tolerances are the specification's, and the same that a proof has: right workers agree four
times as well and better, wrong ones don't. What no tolerance is known for is left out, and said.
"""

from typing import Any, Dict, List, Optional

import numpy as np

from rosetta_worker import wire

FIRST_LOSS = 1e-6
LATER_LOSS = 1e-6
LATER_LOSS_ROUGH = 2e-5
STEPS_OF_LOSSES = 10
STEPS_OF_LOSSES_ROUGH = 5
"""Networks with convolutions are rough: rounding flips choices of ReLU and of pooling."""

FIRST_LOGITS = 2e-6
LATER_LOGITS = 2e-5
FIRST_CHANGE = 6e-4
LATER_CHANGE = 5e-3
STEPS_OF_VALUES = 4

FORMS = {"adam": "torch", "momentum": "outside", "gru": "cudnn"}
"""What a worker computes that declares nothing."""


class Comparison:
    """The answers of one kind: how many were compared, and the worst of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.compared = 0
        self.left_out: Dict[str, int] = {}
        self._worst = -1.0
        self._sentence = ""

    def add(self, where: str, deviation: float, tolerance: float) -> None:
        """One more quantity, which is right when its deviation isn't above the tolerance."""
        share = np.inf if np.isnan(deviation) else 0.0
        if deviation > 0:
            share = deviation / tolerance if tolerance else np.inf
        if share > self._worst:
            self._worst = share
            self._sentence = ": %s deviates by %.2g of at most %g" % (where, deviation, tolerance)

    def differ(self, sentence: str) -> None:
        """An answer that is another one altogether."""
        if self._worst < np.inf:
            self._worst, self._sentence = np.inf, ": " + sentence

    @property
    def right(self) -> bool:
        """True when nothing that was compared lies above its tolerance."""
        return self._worst <= 1

    def lines(self) -> List[str]:
        """What came of it, in sentences."""
        said = []
        if self.compared:
            verdict = (
                "the %s are the recorded ones, %d compared"
                if self.right
                else ("the %s are not the recorded ones, %d compared")
            )
            said.append(verdict % (self.name, self.compared) + self._sentence)
        for reason, count in self.left_out.items():
            said.append("%s not compared, %d: %s" % (self.name, count, reason))
        return said


class Recorded:
    """Follows a session and compares each answer with the recorded one, where there is one."""

    def __init__(self) -> None:
        self._found = {kind: Comparison(name) for kind, name in _NAMES.items()}
        self._forms: List[Dict[str, str]] = []
        self._task: Dict[str, Any] = {}
        self._dropout = False
        self._initial: Dict[str, Any] = {}
        self._asked: Any = None
        self._steps = 0

    @property
    def right(self) -> bool:
        """True unless some answer isn't the recorded one."""
        return all(comparison.right for comparison in self._found.values())

    def lines(self, right: bool) -> List[str]:
        """Sentences about the kinds of answers that are right, or about those that aren't."""
        found = [each for each in self._found.values() if each.right == right]
        return [line for comparison in found for line in comparison.lines()]

    def greeted(self, recorded: wire.Header, own: wire.Header) -> None:
        """The HELLO on the tape and the worker's own: the forms that they declare."""
        declared = [hello.get("forms") for hello in (recorded, own)]
        self._forms = [dict(FORMS, **(f if isinstance(f, dict) else {})) for f in declared]

    def asked(self, header: wire.Header, arrays: wire.Arrays) -> None:
        """A SETUP came."""
        self._asked = header, arrays

    def answered(self, header: wire.Header) -> None:
        """The worker gave this answer, after it was compared."""
        if header["type"] == "READY" and self._asked:
            setup, self._initial = self._asked
            self._task, self._dropout, self._steps = setup["task"], bool(setup.get("dropout")), 0
        self._steps += header["type"] == "RESULT"

    def unreadable(self, sentence: str) -> None:
        """A recorded answer is none."""
        self._found["other"].compared += 1
        self._found["other"].differ(sentence)

    def compare(
        self,
        header: wire.Header,
        arrays: wire.Arrays,
        recorded: wire.Header,
        recorded_arrays: wire.Arrays,
    ) -> None:
        """An answer, and the one that the tape holds."""
        comparison = self._found.get(recorded["type"], self._found["other"])
        if header["type"] != recorded["type"] or header.get("code") != recorded.get("code"):
            comparison.compared += 1
            comparison.differ("%s where %s was recorded" % (_named(header), _named(recorded)))
        elif header["type"] in _NAMES:
            reason = self._reason_to_leave_out(header["type"])
            if reason:
                comparison.left_out[reason] = comparison.left_out.get(reason, 0) + 1
            else:
                comparison.compared += 1
                look = getattr(self, "_compare_" + header["type"].lower())
                look(comparison, header, arrays, recorded, recorded_arrays)

    # --- what is compared -------------------------------------------------------------------------

    def _compare_ready(self, to: Comparison, header: Any, _: Any, recorded: Any, __: Any) -> None:
        for key in ("parameter_count", "parameters"):
            if header.get(key) != recorded.get(key):
                to.differ("READY has another `%s`" % key)

    def _compare_result(self, to: Comparison, header: Any, _: Any, recorded: Any, __: Any) -> None:
        later = LATER_LOSS_ROUGH if self._is_rough() else LATER_LOSS
        where = "step %s with %.9g where %.9g was recorded" % (
            header["step"],
            header["loss"],
            recorded["loss"],
        )
        deviation = _relative(header["loss"] - recorded["loss"], recorded["loss"])
        if header["loss"] == recorded["loss"] or np.isnan([header["loss"], recorded["loss"]]).all():
            deviation = 0.0
        to.add(where, deviation, later if self._steps else FIRST_LOSS)

    def _compare_predictions(
        self, to: Comparison, header: Any, arrays: Any, recorded: Any, others: Any
    ) -> None:
        found, wanted = arrays["logits"], others.get("logits")
        if wanted is None or found.shape != wanted.shape:
            to.differ("logits of another shape")
            return
        deviation = _relative(np.abs(_minus(found, wanted)).max(), np.abs(wanted).max())
        tolerance = LATER_LOGITS if self._steps else FIRST_LOGITS
        to.add("a logit %s" % _steps(self._steps), deviation, tolerance)

    def _compare_values(
        self, to: Comparison, header: Any, arrays: Any, recorded: Any, others: Any
    ) -> None:
        if [(n, a.shape) for n, a in arrays.items()] != [(n, a.shape) for n, a in others.items()]:
            to.differ("other parameters")
            return
        tolerance = LATER_CHANGE if self._steps > 1 else FIRST_CHANGE if self._steps else 0.0
        for name, found in arrays.items():
            change = _minus(others[name], self._initial.get(name, 0))
            deviation = _relative(_norm(_minus(found, others[name])), _norm(change))
            to.add("the change of %s %s" % (name, _steps(self._steps)), deviation, tolerance)

    # --- what is left out -------------------------------------------------------------------------

    def _reason_to_leave_out(self, kind: str) -> Optional[str]:
        """Why answers of this kind can't be compared at this point; None when they can."""
        changed = self._steps > 0
        if kind == "READY":
            return None
        if self._dropout and self._has_dropout() and (changed or kind == "RESULT"):
            return "dropout is on, and each worker draws masks of its own"
        for form in self._relevant_forms():
            if changed and self._forms and self._forms[0][form] != self._forms[1][form]:
                return "recorded by a worker whose form of %s is %s" % (form, self._forms[0][form])
        limit = STEPS_OF_VALUES
        if kind == "RESULT":
            limit = (STEPS_OF_LOSSES_ROUGH if self._is_rough() else STEPS_OF_LOSSES) - 1
        if self._steps > limit:
            return "too many steps after SETUP, rounding has grown"
        return None

    def _layers(self) -> List[Dict[str, Any]]:
        return self._task.get("layers") or []

    def _is_rough(self) -> bool:
        return any(layer.get("kind") == "conv" for layer in self._layers())

    def _has_dropout(self) -> bool:
        return any(layer.get("kind") == "dropout" and layer.get("rate") for layer in self._layers())

    def _relevant_forms(self) -> List[str]:
        kind = self._task.get("optimiser", {}).get("kind")
        return ["adam"] * (kind == "adam") + ["momentum"] * (kind == "sgd")


_NAMES = {
    "READY": "names and shapes",
    "RESULT": "losses",
    "PREDICTIONS": "predictions",
    "VALUES": "parameters",
    "other": "answers",
}


def _named(header: wire.Header) -> str:
    return " ".join([header["type"]] + [str(header[k]) for k in ("code", "message") if k in header])


def _steps(count: int) -> str:
    return (
        "before any step"
        if not count
        else "after 1 step"
        if count == 1
        else ("after %d steps" % count)
    )


def _minus(a: Any, b: Any) -> Any:
    return np.subtract(a, b, dtype=np.float64)


def _norm(values: Any) -> float:
    return float(np.linalg.norm(values.ravel()))


def _relative(difference: Any, whole: Any) -> float:
    """The share of a difference in the whole: 0 when there is none, infinite in nothing."""
    if difference == 0:
        return 0.0
    return float(abs(difference) / abs(whole)) if whole else float("inf")
