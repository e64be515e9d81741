// What SETUP asks for: its task checked to the letter, and its parameters (section 11).

import { elements, sameShape, shape, toTyped } from "./arrays.js";
import { boolean, float, integer, list, map, optional, readFields, text } from "./fields.js";
import { Refusal } from "./limits.js";

export const TASKS = ["mlp"];

const size = integer(1n, 2n ** 31n);
const parameter = (value, name) => readFields(map(value, name), { name: text(), shape, trainable: optional(boolean, true) }, name);

const TASK = { classes: integer(0n, 2n ** 31n), layers: list(map), parameters: list(parameter), input: map };
const INPUT = { kind: text(), dtype: text(), shape, scale: optional(float(), 1) };
const LAYERS = {
  dense: { kind: text(), name: text(), units: size },
  relu: { kind: text(), name: text() },
};
const OPTIMISERS = {
  adam: { kind: text(), learning_rate: float(0), beta1: float(0, 1), beta2: float(0, 1), epsilon: float(0) },
};

function unsupported(sentence) {
  throw new Refusal("unsupported", sentence);
}

/** The plan of a network: sizes, rates and parameters, all from the message. */
export function readTask(task) {
  const { name } = readFields(task, { name: text() }, "task");
  if (!TASKS.includes(name)) throw new Refusal("unknown_task", "this worker knows the task mlp only");
  const fields = readFields(task, TASK, "task");
  if (task.get("loss") !== "softmax_cross_entropy") unsupported("the loss isn't softmax_cross_entropy");
  const input = readInput(fields.input);
  const layers = fields.layers.map((layer) => readKnown(layer, LAYERS, "layer"));
  const optimiser = readKnown(optional(map, new Map())(task.get("optimiser"), "optimiser"), OPTIMISERS, "optimiser");
  const plan = { classes: fields.classes, input, optimiser, layers: connect(layers, input.shape[0], fields.classes) };
  plan.parameters = declared(plan.layers, fields.parameters);
  return plan;
}

function readInput(entries) {
  const input = readFields(entries, INPUT, "input");
  if (input.kind !== "pixels" || input.dtype !== "uint8") unsupported("the inputs aren't pixels in uint8");
  if (input.shape.length !== 1 || input.shape[0] === 0) unsupported("the inputs aren't rows of features");
  return input;
}

/** A map with a `kind`. A key that nobody here knows would make it another network, and so isn't skipped. */
function readKnown(entries, kinds, what) {
  const kind = entries.get("kind");
  if (typeof kind !== "string" || !Object.hasOwn(kinds, kind)) unsupported(`this worker doesn't know the kind of a ${what}`);
  for (const key of entries.keys()) {
    if (!Object.hasOwn(kinds[kind], key)) unsupported(`this worker doesn't know a key of the ${what} ${kind}`);
  }
  return readFields(entries, kinds[kind], `the ${what} ${kind}`);
}

/** Gives each layer the number of its inputs. */
function connect(layers, features, classes) {
  let width = features;
  const connected = layers.map((layer) => {
    const inputs = width;
    width = layer.units ?? width;
    return { ...layer, inputs, outputs: width };
  });
  if (width !== classes) unsupported("the last layer hasn't as many units as there are classes");
  return connected;
}

/** The parameters that the layers have, which must be those that the task lists. */
function declared(layers, listed) {
  const wanted = layers.filter(({ kind }) => kind === "dense").flatMap(({ name, inputs, outputs }) => [
    { name: `${name}.weight`, shape: [outputs, inputs] },
    { name: `${name}.bias`, shape: [outputs] },
  ]);
  compare(wanted, listed);
  return wanted.map((one, i) => ({ ...one, trainable: listed[i].trainable }));
}

function compare(wanted, given) {
  const same = wanted.length === given.length &&
    wanted.every((one, i) => one.name === given[i].name && sameShape(one.shape, given[i].shape));
  if (!same) throw new Refusal("bad_shape", "the parameters aren't those of the layers");
}

/** Copies of the initial parameters, in the task's order. */
export function readParameters(plan, arrays) {
  compare(plan.parameters, [...arrays.values()]);
  for (const { name } of plan.parameters) need(arrays, name, "float32");
  return plan.parameters.map(({ name }) => toTyped(arrays.get(name)));
}

/** The inputs of a BATCH or PREDICT, still as bytes, and how many samples they are. */
export function readInputs(plan, arrays) {
  const inputs = need(arrays, "inputs", plan.input.dtype);
  const [samples, ...rest] = inputs.shape;
  if (samples === undefined || !sameShape(rest, plan.input.shape)) throw new Refusal("bad_shape", "inputs haven't the task's shape");
  if (samples === 0) throw new Refusal("bad_shape", "there are no samples");
  return { samples, pixels: inputs.bytes };
}

export function readLabels(plan, arrays, samples) {
  const array = need(arrays, "labels", "int32");
  if (!sameShape(array.shape, [samples])) throw new Refusal("bad_shape", "there isn't a label for each sample");
  const labels = toTyped(array);
  if (labels.some((label) => label < 0 || label >= plan.classes)) throw new Refusal("bad_value", "a label is no class");
  return labels;
}

function need(arrays, name, dtype) {
  const array = arrays.get(name);
  if (array === undefined) throw new Refusal("bad_frames", "an array is missing that the message needs");
  if (array.dtype !== dtype) throw new Refusal("bad_dtype", `an array isn't of ${dtype}`);
  return array;
}

export function countTrainable(parameters) {
  return parameters.filter(({ trainable }) => trainable).reduce((sum, one) => sum + elements(one.shape), 0);
}
