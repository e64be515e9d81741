"""The gated recurrent unit in the two forms that frameworks have."""

from typing import Any, Tuple

import numpy as np

from .layer import Layer


class _Gru(Layer):
    """What the two forms share.

    x (N, T, D) to the last state (N, H). The gates stand in the order reset, update, new, and so do
    the rows of weight_ih (3H, D) and weight_hh (3H, H). All the arrays inside have time as their
    first axis, so that one step's part of them is contiguous.

    Only the recurrent products must be done one step after the other. The products with the inputs,
    and all products that give gradients of weights, are done for all steps at once.
    """

    def __init__(self, name: str, shape: Tuple[int, ...], units: int, dtype: Any) -> None:
        Layer.__init__(self, name, (units,), dtype)
        steps, features = shape
        self._steps, self._features, self._units = steps, features, units
        self._add_parameter("weight_ih", (3 * units, features))
        self._add_parameter("weight_hh", (3 * units, units))

    def _over_time(self, name: str, batch: int, width: int, steps: int = 0) -> np.ndarray:
        return self._workspace.array(name, (steps or self._steps, batch, width))

    def _input_products(self, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Return x · weight_ihᵀ + bias for every step: (T, N, 3H)."""
        inputs = self._over_time("inputs", len(x), self._features)
        np.copyto(inputs, x.transpose(1, 0, 2))
        products = self._over_time("input_products", len(x), 3 * self._units)
        np.dot(_rows(inputs), self._parameter("weight_ih").T, out=_rows(products))
        products += bias
        return products

    def _input_gradient(self, dproducts: np.ndarray) -> np.ndarray:
        """Set weight_ih's gradient and return the one by x, from the one by the input products."""
        batch = dproducts.shape[1]
        inputs = self._over_time("inputs", batch, self._features)
        np.dot(_rows(dproducts).T, _rows(inputs), out=self._gradient("weight_ih"))
        dinputs = self._over_time("dinputs", batch, self._features)
        np.dot(_rows(dproducts), self._parameter("weight_ih"), out=_rows(dinputs))
        return dinputs.transpose(1, 0, 2)


class CudnnGru(_Gru):
    """The form of cuDNN and of torch.nn.GRU: the reset gate acts after the recurrent product.

        r = σ(W_r x + b_ih,r + U_r h + b_hh,r)
        z = σ(W_z x + b_ih,z + U_z h + b_hh,z)
        n = tanh(W_n x + b_ih,n + r ⊙ (U_n h + b_hh,n))
        h' = (1 - z) ⊙ n + z ⊙ h                              h₀ = 0

    as the documentation of torch.nn.GRU and of cuDNN's CUDNN_GRU give it; it is version 1 of Cho et
    al. (arXiv:1406.1078v1). Two biases, bias_ih and bias_hh (3H): in the gate n they are not
    interchangeable, for r scales one of them only.
    """

    def __init__(self, name: str, shape: Tuple[int, ...], units: int, dtype: Any) -> None:
        _Gru.__init__(self, name, shape, units, dtype)
        self._add_parameter("bias_ih", (3 * units,))
        self._add_parameter("bias_hh", (3 * units,))

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        batch, units = len(x), self._units
        from_input = self._input_products(x, self._parameter("bias_ih"))
        from_state = self._over_time("state_products", batch, 3 * units)
        gates = self._over_time("gates", batch, 3 * units)
        states = self._over_time("states", batch, units, self._steps + 1)
        states[0] = 0
        weight, bias = self._parameter("weight_hh").T, self._parameter("bias_hh")
        for t in range(self._steps):
            np.dot(states[t], weight, out=from_state[t])
            from_state[t] += bias
            rz, n = gates[t, :, : 2 * units], gates[t, :, 2 * units :]
            np.add(from_input[t, :, : 2 * units], from_state[t, :, : 2 * units], out=rz)
            _sigmoid_in_place(rz)
            np.multiply(rz[:, :units], from_state[t, :, 2 * units :], out=n)
            n += from_input[t, :, 2 * units :]
            np.tanh(n, out=n)
            _next_state(states[t], rz[:, units:], n, states[t + 1])
        last: np.ndarray = states[-1]
        return last

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Back-propagation through time.

        With da the gradient by a gate's sum (what σ or tanh is applied to) and dh the one by h':

            da_n = dh ⊙ (1 - z) ⊙ (1 - n²)
            da_z = dh ⊙ (h - n) ⊙ z ⊙ (1 - z)
            da_r = da_n ⊙ (U_n h + b_hh,n) ⊙ r ⊙ (1 - r)
            dh_before = dh ⊙ z + U_rᵀ da_r + U_zᵀ da_z + U_nᵀ (da_n ⊙ r)
        """
        batch, units = len(dy), self._units
        gates = self._over_time("gates", batch, 3 * units)
        states = self._over_time("states", batch, units, self._steps + 1)
        from_state = self._over_time("state_products", batch, 3 * units)
        r, z, n = _thirds(gates)
        by_n, by_z = _factors(states, z, n)
        by_r = _thirds(from_state)[2] * r * (1 - r)
        dinput = self._over_time("dinput_products", batch, 3 * units)
        dstate = self._over_time("dstate_products", batch, 3 * units)
        da_r, da_z, da_n = _thirds(dinput)
        dproduct_n = _thirds(dstate)[2]
        weight = self._parameter("weight_hh")
        dh, through = dy.copy(), np.empty_like(dy)
        for t in reversed(range(self._steps)):
            np.multiply(dh, by_n[t], out=da_n[t])
            np.multiply(dh, by_z[t], out=da_z[t])
            np.multiply(da_n[t], by_r[t], out=da_r[t])
            np.copyto(dstate[t, :, : 2 * units], dinput[t, :, : 2 * units])
            np.multiply(da_n[t], r[t], out=dproduct_n[t])
            dh *= z[t]
            dh += np.dot(dstate[t], weight, out=through)
        np.dot(_rows(dstate).T, _rows(states[:-1]), out=self._gradient("weight_hh"))
        np.sum(_rows(dinput), axis=0, out=self._gradient("bias_ih"))
        np.sum(_rows(dstate), axis=0, out=self._gradient("bias_hh"))
        return self._input_gradient(dinput)


class ClassicGru(_Gru):
    """The form of Cho et al. 2014 (arXiv:1406.1078v3): the reset gate acts on the state.

        r = σ(W_r x + b_r + U_r h)
        z = σ(W_z x + b_z + U_z h)
        n = tanh(W_n x + b_n + U_n (r ⊙ h))
        h' = (1 - z) ⊙ n + z ⊙ h                              h₀ = 0

    with the one bias (3H) that frameworks add to it and the paper omits.
    """

    def __init__(self, name: str, shape: Tuple[int, ...], units: int, dtype: Any) -> None:
        _Gru.__init__(self, name, shape, units, dtype)
        self._add_parameter("bias", (3 * units,))

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        batch, units = len(x), self._units
        from_input = self._input_products(x, self._parameter("bias"))
        gates = self._over_time("gates", batch, 3 * units)
        states = self._over_time("states", batch, units, self._steps + 1)
        reset_states = self._over_time("reset_states", batch, units)
        states[0] = 0
        weight = self._parameter("weight_hh")
        weight_rz, weight_n = weight[: 2 * units].T, weight[2 * units :].T
        product_rz = self._workspace.array("product_rz", (batch, 2 * units))
        product_n = self._workspace.array("product_n", (batch, units))
        for t in range(self._steps):
            rz, n = gates[t, :, : 2 * units], gates[t, :, 2 * units :]
            np.dot(states[t], weight_rz, out=product_rz)
            np.add(from_input[t, :, : 2 * units], product_rz, out=rz)
            _sigmoid_in_place(rz)
            np.multiply(rz[:, :units], states[t], out=reset_states[t])
            np.dot(reset_states[t], weight_n, out=product_n)
            np.add(from_input[t, :, 2 * units :], product_n, out=n)
            np.tanh(n, out=n)
            _next_state(states[t], rz[:, units:], n, states[t + 1])
        last: np.ndarray = states[-1]
        return last

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Back-propagation through time; in the words of `CudnnGru.backward`:

        da_n = dh ⊙ (1 - z) ⊙ (1 - n²)
        da_z = dh ⊙ (h - n) ⊙ z ⊙ (1 - z)
        da_r = (U_nᵀ da_n) ⊙ h ⊙ r ⊙ (1 - r)
        dh_before = dh ⊙ z + (U_nᵀ da_n) ⊙ r + U_rᵀ da_r + U_zᵀ da_z
        """
        batch, units = len(dy), self._units
        gates = self._over_time("gates", batch, 3 * units)
        states = self._over_time("states", batch, units, self._steps + 1)
        reset_states = self._over_time("reset_states", batch, units)
        r, z, n = _thirds(gates)
        by_n, by_z = _factors(states, z, n)
        by_r = states[:-1] * r * (1 - r)
        dinput = self._over_time("dinput_products", batch, 3 * units)
        da_r, da_z, da_n = _thirds(dinput)
        weight = self._parameter("weight_hh")
        weight_rz, weight_n = weight[: 2 * units], weight[2 * units :]
        dh, through = dy.copy(), np.empty_like(dy)
        for t in reversed(range(self._steps)):
            np.multiply(dh, by_n[t], out=da_n[t])
            np.multiply(dh, by_z[t], out=da_z[t])
            np.dot(da_n[t], weight_n, out=through)
            np.multiply(through, by_r[t], out=da_r[t])
            dh *= z[t]
            through *= r[t]
            dh += through
            dh += np.dot(dinput[t, :, : 2 * units], weight_rz, out=through)
        sums = _rows(dinput)
        dweight = self._gradient("weight_hh")
        np.dot(sums[:, : 2 * units].T, _rows(states[:-1]), out=dweight[: 2 * units])
        np.dot(sums[:, 2 * units :].T, _rows(reset_states), out=dweight[2 * units :])
        np.sum(sums, axis=0, out=self._gradient("bias"))
        return self._input_gradient(dinput)


def _rows(over_time: np.ndarray) -> np.ndarray:
    """View (T, N, width) as (T·N, width)."""
    return over_time.reshape(-1, over_time.shape[2])


def _thirds(gates: np.ndarray) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of the reset, update and new gate in (T, N, 3H)."""
    units = gates.shape[2] // 3
    return gates[:, :, :units], gates[:, :, units : 2 * units], gates[:, :, 2 * units :]


def _factors(states: np.ndarray, z: np.ndarray, n: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """What dh is multiplied by to give da_n and da_z, for all steps: two of (T, N, H)."""
    keep = 1 - z
    return keep * (1 - n * n), (states[:-1] - n) * z * keep


def _next_state(h: np.ndarray, z: np.ndarray, n: np.ndarray, out: np.ndarray) -> None:
    """Put (1 - z) ⊙ n + z ⊙ h, written as n + z ⊙ (h - n), into `out`."""
    np.subtract(h, n, out=out)
    out *= z
    out += n


def _sigmoid_in_place(x: np.ndarray) -> None:
    """σ(x) = 1 / (1 + exp(-x)) as (1 + tanh(x / 2)) / 2, which cannot overflow."""
    x *= 0.5
    np.tanh(x, out=x)
    x += 1
    x *= 0.5
