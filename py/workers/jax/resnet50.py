"""ResNet-50 up to the global average pool, in Flax NNX: images NHWC, forward only."""

from flax import nnx


class Bottleneck(nnx.Module):
    def __init__(self, inputs, layer, rngs):
        width, stride, outputs = layer["width"], layer["stride"], 4 * layer["width"]
        self.conv1 = nnx.Conv(inputs, width, (1, 1), use_bias=False, rngs=rngs)
        self.bn1 = nnx.BatchNorm(width, rngs=rngs)  # epsilon is 1e-5
        self.conv2 = nnx.Conv(width, width, (3, 3), stride, padding=1, use_bias=False, rngs=rngs)
        self.bn2 = nnx.BatchNorm(width, rngs=rngs)
        self.conv3 = nnx.Conv(width, outputs, (1, 1), use_bias=False, rngs=rngs)
        self.bn3 = nnx.BatchNorm(outputs, rngs=rngs)
        self.downsample = nnx.List()
        if layer["projection"]:
            shortcut = nnx.Conv(inputs, outputs, (1, 1), stride, use_bias=False, rngs=rngs)
            self.downsample = nnx.List([shortcut, nnx.BatchNorm(outputs, rngs=rngs)])

    def __call__(self, x):
        y = nnx.relu(self.bn1(self.conv1(x)))
        y = nnx.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        for layer in self.downsample:
            x = layer(x)
        return nnx.relu(y + x)


class ResNet50(nnx.Module):
    """Its attributes are called as in torchvision, under whose names the parameters travel."""

    def __init__(self, task, rngs):
        layers = {layer["name"]: layer for layer in task["layers"]}
        images, channels = task["input"]["shape"][0], layers["conv1"]["filters"]
        # Not "SAME": with a stride of 2 that pads even sizes by one less at the beginning.
        self.conv1 = nnx.Conv(images, channels, (7, 7), 2, padding=3, use_bias=False, rngs=rngs)
        self.bn1 = nnx.BatchNorm(channels, rngs=rngs)
        for stage, blocks in (("layer1", 3), ("layer2", 4), ("layer3", 6), ("layer4", 3)):
            made = nnx.List()
            for block in range(blocks):
                layer = layers["%s.%d" % (stage, block)]
                made.append(Bottleneck(channels, layer, rngs))
                channels = 4 * layer["width"]
            setattr(self, stage, made)

    def __call__(self, x):
        x = nnx.relu(self.bn1(self.conv1(x)))
        x = nnx.max_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))  # of -inf
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            for block in stage:
                x = block(x)
        return x.mean((1, 2))
