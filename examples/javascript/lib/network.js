// A network of dense and relu layers, trained with Adam in the form "torch" (sections 9 and 11).

import { Dense, Relu, SoftmaxCrossEntropy } from "./layers.js";

export class Network {
  /** `values` are the initial parameters, in the order of `plan.parameters`; the network owns them from now on. */
  constructor(plan, values) {
    this.scale = plan.input.scale;
    this.classes = plan.classes;
    this.pixels = new Float32Array(0);
    this.layers = [];
    this.parameters = [];
    const queue = plan.parameters.map((parameter, i) => ({ ...parameter, values: values[i] }));
    for (const layer of plan.layers) this.add(layer, queue);
    this.loss = new SoftmaxCrossEntropy(plan.classes);
    this.adam = new Adam(plan.optimiser, this.parameters.filter(({ trainable }) => trainable));
  }

  add(layer, queue) {
    if (layer.kind === "relu") {
      this.layers.push(new Relu(layer));
      return;
    }
    const [weight, bias] = queue.splice(0, 2);
    const dense = new Dense(layer, weight.values, bias.values, this.layers.length > 0);
    this.layers.push(dense);
    this.parameters.push({ ...weight, shape: [dense.outputs, dense.inputs], gradient: dense.weightGradient });
    this.parameters.push({ ...bias, shape: [dense.outputs], gradient: dense.biasGradient });
  }

  setLearningRate(rate) {
    this.adam.learningRate = rate;
  }

  /** Pixels as float32, scaled: what a framework would call the copy to its device. */
  convert(pixels) {
    if (this.pixels.length < pixels.length) this.pixels = new Float32Array(pixels.length);
    for (let i = 0; i < pixels.length; i++) this.pixels[i] = pixels[i] * this.scale;
    return this.pixels;
  }

  forward(x, samples) {
    return this.layers.reduce((values, layer) => layer.forward(values, samples), x);
  }

  /** One step of training: the loss before the update. */
  step(x, labels) {
    const loss = this.loss.forward(this.forward(x, labels.length), labels);
    let gradient = this.loss.gradient;
    for (const layer of this.layers.toReversed()) gradient = layer.backward(gradient, labels.length);
    this.adam.update();
    return loss;
  }

  /** The logits, as a copy: the layers use their buffers again. */
  predict(x, samples) {
    return this.forward(x, samples).slice(0, samples * this.classes);
  }
}

class Adam {
  constructor({ learning_rate, beta1, beta2, epsilon }, parameters) {
    Object.assign(this, { learningRate: learning_rate, beta1, beta2, epsilon });
    this.steps = 0;
    this.states = parameters.map(({ values, gradient }) => ({
      values, gradient, m: new Float32Array(values.length), v: new Float32Array(values.length),
    }));
  }

  update() {
    this.steps++;
    const c1 = 1 - this.beta1 ** this.steps;
    const c2 = 1 - this.beta2 ** this.steps;
    for (const state of this.states) this.updateOne(state, c1, c2);
  }

  updateOne({ values, gradient, m, v }, c1, c2) {
    const { learningRate, beta1, beta2, epsilon } = this;
    for (let i = 0; i < values.length; i++) {
      const g = gradient[i];
      const mean = beta1 * m[i] + (1 - beta1) * g;
      const square = beta2 * v[i] + (1 - beta2) * g * g;
      m[i] = mean;
      v[i] = square;
      values[i] -= learningRate * (mean / c1) / (Math.sqrt(square / c2) + epsilon);
    }
  }
}
