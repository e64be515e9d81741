// The layers: each computes its outputs and, backward, the gradients of its parameters and of its inputs.
//
// Matrices are rows one after the other. Each inner loop runs along a row of both of its operands, so that memory is read
// in order. Sums are Numbers, which is float64; what is kept is rounded to float32.

/** A buffer of at least `length`, the old one where that is large enough: steps shouldn't wait for the garbage collector. */
function reserve(buffer, length) {
  return buffer.length >= length ? buffer : new Float32Array(length);
}

/** Sum of the products along two rows. Four sums at once, for each addition would wait for the one before it. */
function dot(a, startA, b, startB, length) {
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const whole = length - (length % 4);
  let i = 0;
  for (; i < whole; i += 4) {
    s0 += a[startA + i] * b[startB + i];
    s1 += a[startA + i + 1] * b[startB + i + 1];
    s2 += a[startA + i + 2] * b[startB + i + 2];
    s3 += a[startA + i + 3] * b[startB + i + 3];
  }
  for (; i < length; i++) s0 += a[startA + i] * b[startB + i];
  return s0 + s1 + (s2 + s3);
}

/** Adds `factor` times a row to `sums`. */
function addRow(sums, factor, row, start) {
  for (let i = 0; i < sums.length; i++) sums[i] += factor * row[start + i];
}

/** outputs = inputs · weightᵀ + bias, with the weight as (outputs, inputs). */
export class Dense {
  constructor({ inputs, outputs }, weight, bias, needsInputGradient) {
    Object.assign(this, { inputs, outputs, weight, bias, needsInputGradient });
    this.weightGradient = new Float32Array(weight.length);
    this.biasGradient = new Float32Array(bias.length);
    this.result = new Float32Array(0);
    this.inputGradient = new Float32Array(0);
    this.sums = new Float64Array(inputs);
  }

  forward(x, samples) {
    const { inputs, outputs, weight, bias } = this;
    this.x = x;
    this.result = reserve(this.result, samples * outputs);
    for (let n = 0; n < samples; n++) {
      for (let o = 0; o < outputs; o++) {
        this.result[n * outputs + o] = dot(x, n * inputs, weight, o * inputs, inputs) + bias[o];
      }
    }
    return this.result;
  }

  backward(gradient, samples) {
    this.parameterGradients(gradient, samples);
    if (!this.needsInputGradient) return null;
    const { inputs, outputs, weight, sums } = this;
    this.inputGradient = reserve(this.inputGradient, samples * inputs);
    for (let n = 0; n < samples; n++) {
      sums.fill(0);
      for (let o = 0; o < outputs; o++) addRow(sums, gradient[n * outputs + o], weight, o * inputs);
      this.inputGradient.set(sums, n * inputs);
    }
    return this.inputGradient;
  }

  parameterGradients(gradient, samples) {
    const { inputs, outputs, x, sums } = this;
    for (let o = 0; o < outputs; o++) {
      let biasSum = 0;
      sums.fill(0);
      for (let n = 0; n < samples; n++) {
        const g = gradient[n * outputs + o];
        biasSum += g;
        addRow(sums, g, x, n * inputs);
      }
      this.weightGradient.set(sums, o * inputs);
      this.biasGradient[o] = biasSum;
    }
  }
}

export class Relu {
  constructor({ inputs }) {
    this.width = inputs;
    this.result = new Float32Array(0);
    this.inputGradient = new Float32Array(0);
  }

  forward(x, samples) {
    const length = samples * this.width;
    this.result = reserve(this.result, length);
    for (let i = 0; i < length; i++) this.result[i] = x[i] < 0 ? 0 : x[i]; // NaN stays NaN
    return this.result;
  }

  backward(gradient, samples) {
    const length = samples * this.width;
    this.inputGradient = reserve(this.inputGradient, length);
    for (let i = 0; i < length; i++) this.inputGradient[i] = this.result[i] > 0 ? gradient[i] : 0;
    return this.inputGradient;
  }
}

/** Mean loss of softmax cross-entropy, and its gradient for the logits. */
export class SoftmaxCrossEntropy {
  constructor(classes) {
    this.classes = classes;
    this.gradient = new Float32Array(0);
  }

  forward(logits, labels) {
    const { classes } = this;
    this.gradient = reserve(this.gradient, labels.length * classes);
    let total = 0;
    for (let n = 0; n < labels.length; n++) total += this.row(logits, n * classes, labels[n], labels.length);
    return total / labels.length;
  }

  /** The largest logit is taken off first, so that no exponential overflows. */
  row(logits, start, label, samples) {
    const { classes, gradient } = this;
    let largest = -Infinity;
    for (let c = 0; c < classes; c++) largest = Math.max(largest, logits[start + c]);
    let sum = 0;
    for (let c = 0; c < classes; c++) sum += Math.exp(logits[start + c] - largest);
    for (let c = 0; c < classes; c++) {
      const probability = Math.exp(logits[start + c] - largest) / sum;
      gradient[start + c] = (probability - (c === label ? 1 : 0)) / samples;
    }
    return Math.log(sum) + largest - logits[start + label];
  }
}
