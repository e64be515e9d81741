"""Trains a network in plain TensorFlow on batches from a file, and times the training loop.

    python train_tensorflow.py TRAINING.npz NETWORK THREADS SEED

TRAINING.npz holds `inputs` and `labels`, one batch a row, and the initial weights under the names
`weights.NAME`. For each line "START STOP" on standard input the steps START to STOP - 1 are done,
and a line says how many nanoseconds they took, all together, and what the losses were.
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def make_mlp():
    return tf.keras.Sequential(
        [
            layers.Input([784]),
            layers.Dense(128, activation="relu", name="fc1"),
            layers.Dense(10, name="fc2"),
        ]
    )


def make_cnn():
    return tf.keras.Sequential(
        [
            layers.Input([32, 32, 3]),
            layers.Conv2D(50, 3, padding="same", activation="relu", name="conv1"),
            layers.Conv2D(50, 3, padding="same", name="conv2"),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.Dropout(0.25),
            layers.Conv2D(100, 3, padding="same", activation="relu", name="conv3"),
            layers.Conv2D(100, 3, padding="same", name="conv4"),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(512, activation="relu", name="fc1"),
            layers.Dropout(0.5),
            layers.Dense(10, name="fc2"),
        ]
    )


def make_gru():
    return tf.keras.Sequential(
        [
            layers.Input([150], dtype="int32"),
            layers.Embedding(30000, 125, name="embedding"),
            layers.GRU(100, use_cudnn=False, name="gru"),
            layers.Dense(2, name="fc"),
        ]
    )


def make(name, training):
    """The network and its optimiser."""
    model = {"mlp": make_mlp, "cnn": make_cnn, "gru": make_gru}[name]()
    for layer in model.layers:
        stored = [key for key in training.files if key.startswith(f"weights.{layer.name}.")]
        if stored:
            layer.set_weights(to_keras(name, layer, [training[key] for key in stored]))
    if name == "cnn":
        return model, tf.keras.optimizers.SGD(0.01, momentum=0.9)
    return model, tf.keras.optimizers.Adam(1e-3, 0.9, float(np.float32(0.999)), epsilon=1e-8)


def to_keras(name, layer, arrays):
    """The file has PyTorch's layouts: OIHW, (out, in), gates in the order reset, update, new."""
    if isinstance(layer, layers.Embedding):
        return arrays
    if isinstance(layer, layers.GRU):
        reordered = []
        for array in arrays:
            reset, update, new = np.split(array, 3)
            reordered.append(np.concatenate([update, reset, new]))
        weight_ih, weight_hh, bias_ih, bias_hh = reordered
        return [weight_ih.T, weight_hh.T, np.stack([bias_ih, bias_hh])]
    weight, bias = arrays
    if isinstance(layer, layers.Conv2D):
        return [weight.transpose(2, 3, 1, 0), bias]
    if name == "cnn" and layer.name == "fc1":  # it comes after 8 x 8 x 100, channels last here
        weight = weight.reshape(512, 100, 8, 8).transpose(0, 2, 3, 1).reshape(512, -1)
    return [weight.T, bias]


def tensors(inputs, labels):
    """A batch as the network takes it; bytes are pixels."""
    x = tf.constant(inputs)
    if inputs.ndim == 4:
        x = tf.transpose(x, [0, 2, 3, 1])
    if inputs.dtype == np.uint8:
        x = tf.cast(x, tf.float32) / 255
    return x, tf.constant(labels)


def main():
    file, name, threads, seed = sys.argv[1:]
    tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.keras.utils.set_random_seed(int(seed))
    training = np.load(file)
    inputs, labels = training["inputs"], training["labels"]
    model, optimiser = make(name, training)
    optimiser.build(model.trainable_variables)

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        # Keras's Adam squares an embedding's sparse gradient before it adds up equal tokens.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        optimiser.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    print(json.dumps({"tensorflow": tf.__version__}), flush=True)
    for line in sys.stdin:
        first, last = map(int, line.split())
        losses = []
        started = time.perf_counter_ns()
        for step in range(first, last):
            losses.append(float(train(*tensors(inputs[step], labels[step]))))
        took_ns = time.perf_counter_ns() - started
        print(json.dumps({"ns": took_ns, "losses": losses}), flush=True)


main()
