"""The networks in Caffe's own words: `NetSpec`, which writes the prototxt."""

from caffe import NetSpec
from caffe import layers as L  # noqa: N812 - what every user of Caffe calls them
from caffe import params as P  # noqa: N812


def describe(task, batch_size, dropout, loss=False):
    """The net of `task` as a `NetParameter`; `label` is an input too where there is a `loss`.

    Without `dropout` there are no such layers. Parameters are zeros until they are given.
    """
    net = NetSpec()
    add_inputs(net, task, batch_size)
    rates = {layer["name"]: layer["rate"] for layer in task["layers"] if layer["kind"] == "dropout"}
    logits = NETWORKS[task["name"]](net, task, rates if dropout else {})
    if loss:
        net.label = L.Input(shape={"dim": [batch_size]})
        net.loss = L.SoftmaxWithLoss(logits, net.label)
    return net.to_proto()


def add_inputs(net, task, batch_size):
    """`data`, and for a recurrent network, which is time first, the initial `state`."""
    shape = task["input"]["shape"]
    if task["input"]["kind"] != "tokens":
        net.data = L.Input(shape={"dim": [batch_size, *shape]})
        return
    net.data = L.Input(shape={"dim": [*shape, batch_size]})
    net.state = L.Input(shape={"dim": [1, batch_size, by_name(task)["gru"]["units"]]})


def mlp(net, task, rates):
    layers = by_name(task)
    net.fc1 = L.InnerProduct(net.data, num_output=layers["fc1"]["units"])
    net.relu1 = L.ReLU(net.fc1, in_place=True)
    net.fc2 = L.InnerProduct(net.relu1, num_output=layers["fc2"]["units"])
    return net.fc2


def cnn(net, task, rates):
    layers = by_name(task)

    def conv(x, name):
        return L.Convolution(x, num_output=layers[name]["filters"], kernel_size=3, pad=1)

    def pool(x):
        return L.Pooling(x, pool=P.Pooling.MAX, kernel_size=2, stride=2)

    def drop(x, name):
        if name in rates:
            net[name] = x = L.Dropout(x, dropout_ratio=rates[name], in_place=True)
        return x

    net.conv1 = conv(net.data, "conv1")
    net.relu1 = L.ReLU(net.conv1, in_place=True)
    net.conv2 = conv(net.relu1, "conv2")
    net.pool1 = pool(net.conv2)
    net.relu2 = L.ReLU(net.pool1, in_place=True)
    net.conv3 = conv(drop(net.relu2, "dropout1"), "conv3")
    net.relu3 = L.ReLU(net.conv3, in_place=True)
    net.conv4 = conv(net.relu3, "conv4")
    net.pool2 = pool(net.conv4)
    net.relu4 = L.ReLU(net.pool2, in_place=True)
    net.fc1 = L.InnerProduct(drop(net.relu4, "dropout2"), num_output=layers["fc1"]["units"])
    net.relu5 = L.ReLU(net.fc1, in_place=True)
    net.fc2 = L.InnerProduct(drop(net.relu5, "dropout3"), num_output=layers["fc2"]["units"])
    return net.fc2


def gru(net, task, rates):
    """Caffe has layers for a plain recurrence and an LSTM: this one is written out, step by step.

    All steps' layers name their parameters alike, and so share them.
    """
    (steps,), layers = task["input"]["shape"], by_name(task)
    units = layers["gru"]["units"]
    embedding = layers["embedding"]
    net.embedding = L.Embed(
        net.data,
        input_dim=embedding["vocabulary"],
        num_output=embedding["dimension"],
        bias_term=False,
    )
    # The products with the inputs of all steps at once: (time, batch, 2H) and (time, batch, H).
    net["gru/input_gates"] = dense(net.embedding, 2 * units)
    net["gru/input_new"] = dense(net.embedding, units)
    input_gates = split(net, "gru/input_gates", steps)
    input_new = split(net, "gru/input_new", steps)
    state = net.state
    for step in range(steps):
        state = gru_step(net, str(step), input_gates[step], input_new[step], state, units)
    net["gru/last"] = L.Reshape(state, shape={"dim": [-1, units]})
    net.fc = L.InnerProduct(net["gru/last"], num_output=layers["fc"]["units"])
    return net.fc


def gru_step(net, step, input_gates, input_new, state, units):
    """The state (1, batch, H) after this one: h' = n + z (h - n), as in cuDNN."""

    def name(top, layer):
        net["gru/" + top + step] = layer
        return layer

    gates = name("gates", dense(state, 2 * units, shared="gru/gates"))
    gates = name("open", L.Sigmoid(name("sum", add(input_gates, gates))))
    reset, update = L.Slice(gates, axis=2, slice_point=[units], ntop=2)
    name("reset", reset)
    name("update", update)
    new = name("new", dense(state, units, shared="gru/new"))
    new = name("candidate", add(input_new, name("kept", multiply(reset, new))))
    new = name("tanh", L.TanH(new))
    change = name("change", multiply(update, name("difference", add(state, new, coeff=[1, -1]))))
    return name("state", add(new, change))


def dense(x, units, shared=None):
    """`units` outputs of (time, batch, inputs), for each time and sample."""
    names = {} if shared is None else {"param": [{"name": shared + "_w"}, {"name": shared + "_b"}]}
    return L.InnerProduct(x, num_output=units, axis=2, **names)


def split(net, name, steps):
    """The parts of a layer (time, ...) for each time."""
    parts = L.Slice(net[name], axis=0, ntop=steps)
    for step, part in enumerate(parts):
        net[name + str(step)] = part
    return parts


def add(*terms, **options):
    return L.Eltwise(*terms, operation=P.Eltwise.SUM, **options)


def multiply(*factors):
    return L.Eltwise(*factors, operation=P.Eltwise.PROD)


def resnet50(net, task, rates):
    layers = by_name(task)
    first = layers["conv1"]
    x = conv_and_norm(net, net.data, "conv1", "bn1", first["filters"], 7, first["stride"])
    net.relu1 = L.ReLU(x, in_place=True)
    # Caffe rounds the number of windows up unless told otherwise.
    net.pool1 = L.Pooling(
        net.relu1, pool=P.Pooling.MAX, kernel_size=3, stride=2, pad=1, round_mode=P.Pooling.FLOOR
    )
    x = net.pool1
    for layer in task["layers"]:
        if layer["kind"] == "bottleneck":
            x = bottleneck(net, x, layer)
    net.pool = L.Pooling(x, pool=P.Pooling.AVE, global_pooling=True)
    return net.pool


def bottleneck(net, x, layer):
    name, width = layer["name"] + ".", layer["width"]

    def relu(x, number):
        net[name + "relu" + number] = x = L.ReLU(x, in_place=True)
        return x

    def block(x, number, filters, kernel, stride=1):
        names = name + "conv" + number, name + "bn" + number
        return conv_and_norm(net, x, *names, filters, kernel, stride)

    y = relu(block(x, "1", width, 1), "1")
    y = relu(block(y, "2", width, 3, layer["stride"]), "2")
    y = block(y, "3", 4 * width, 1)
    if layer["projection"]:
        names = name + "downsample.0", name + "downsample.1"
        x = conv_and_norm(net, x, *names, 4 * width, 1, layer["stride"])
    net[name + "sum"] = add(y, x)
    return relu(net[name + "sum"], "3")


def conv_and_norm(net, x, conv, norm, filters, kernel, stride):
    """Two layers make a batch norm in Caffe: one normalises, one scales and shifts."""
    net[conv] = L.Convolution(
        x, num_output=filters, kernel_size=kernel, stride=stride, pad=kernel // 2, bias_term=False
    )
    net[norm] = L.BatchNorm(net[conv], use_global_stats=True, eps=1e-5, in_place=True)
    net[norm + "/scale"] = L.Scale(net[norm], bias_term=True, in_place=True)
    return net[norm + "/scale"]


NETWORKS = {"mlp": mlp, "cnn": cnn, "gru": gru, "resnet50": resnet50}


def by_name(task):
    """The task's layers by their names."""
    return {layer["name"]: layer for layer in task["layers"]}
