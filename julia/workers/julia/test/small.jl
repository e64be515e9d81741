# The tasks' networks with a few channels and units, and batches for them.

layer(name, kind; settings...) =
    Dict{String,Any}("name" => name, "kind" => kind, (string(k) => v for (k, v) in settings)...)
conv(name, filters) =
    layer(name, "conv"; filters = filters, kernel = 3, stride = 1, padding = "same")
pool(name) = layer(name, "max_pool"; size = 2, stride = 2)
dense(name, units) = layer(name, "dense"; units = units)

const PIXELS = Dict{String,Any}("kind" => "pixels", "dtype" => "uint8", "scale" => 1 / 255)
const TOKENS = Dict{String,Any}("kind" => "tokens", "dtype" => "int32", "vocabulary" => 20)
const ADAM = Dict{String,Any}(
    "kind" => "adam", "learning_rate" => 1e-3, "beta1" => 0.9, "beta2" => 0.999, "epsilon" => 1e-8,
)
const SGD = Dict{String,Any}("kind" => "sgd", "learning_rate" => 0.01, "momentum" => 0.9)

"A task with layers of a few units; nothing about its sizes is symmetric."
function small_task(name::String)
    name == "mlp" && return Dict{String,Any}(
        "name" => name, "classes" => 3, "optimiser" => ADAM,
        "input" => merge(PIXELS, Dict("shape" => [11])),
        "layers" => [dense("fc1", 7), layer("relu1", "relu"), dense("fc2", 3)],
    )
    name == "gru" && return Dict{String,Any}(
        "name" => name, "classes" => 2, "optimiser" => ADAM,
        "input" => merge(TOKENS, Dict("shape" => [6])),
        "layers" => [
            layer("embedding", "embedding"; vocabulary = 20, dimension = 5),
            layer("gru", "gru"; units = 4, form = "cudnn", returns = "last"),
            dense("fc", 2),
        ],
    )
    return Dict{String,Any}(
        "name" => name, "classes" => 3, "optimiser" => SGD,
        "input" => merge(PIXELS, Dict("shape" => [3, 12, 8])),
        "layers" => [
            conv("conv1", 4), layer("relu1", "relu"), conv("conv2", 3), pool("pool1"),
            layer("relu2", "relu"), layer("dropout1", "dropout"; rate = 0.25),
            conv("conv3", 5), layer("relu3", "relu"), conv("conv4", 2), pool("pool2"),
            layer("relu4", "relu"), layer("dropout2", "dropout"; rate = 0.25),
            layer("flatten", "flatten"), dense("fc1", 6), layer("relu5", "relu"),
            layer("dropout3", "dropout"; rate = 0.5), dense("fc2", 3),
        ],
    )
end

"Sizes of the parameters of `small_task(name)`, axes reversed."
small_sizes(name::String) = Dict(
    "mlp" => Dict("fc1" => ((11, 7), (7,)), "fc2" => ((7, 3), (3,))),
    "cnn" => Dict(
        "conv1" => ((3, 3, 3, 4), (4,)), "conv2" => ((3, 3, 4, 3), (3,)),
        "conv3" => ((3, 3, 3, 5), (5,)), "conv4" => ((3, 3, 5, 2), (2,)),
        "fc1" => ((12, 6), (6,)), "fc2" => ((6, 3), (3,)),
    ),
    "gru" => Dict("fc" => ((4, 2), (2,))),
)[name]

"Random values for all parameters of `small_task(name)`, large enough for all of them to matter."
function small_parameters(name::String)
    random = MersenneTwister(1)
    values = Dict{String,Array{Float32}}()
    for (layer, (weight, bias)) in small_sizes(name)
        values["$layer.weight"] = randn(random, Float32, weight) ./ 2
        values["$layer.bias"] = randn(random, Float32, bias) ./ 10
    end
    if name == "gru"
        values["embedding.weight"] = randn(random, Float32, 5, 20)
        values["gru.weight_ih"] = randn(random, Float32, 5, 12) ./ 2
        values["gru.weight_hh"] = randn(random, Float32, 4, 12) ./ 2
        values["gru.bias_ih"] = randn(random, Float32, 12) ./ 10
        values["gru.bias_hh"] = randn(random, Float32, 12) ./ 10
    end
    return values
end

small_setup(name::String; dropout = false, seed = 1, batch_size = 4) = (
    task = small_task(name), batch_size = batch_size, seed = seed, dropout = dropout,
    threads = 1, device = "cpu",
)

small_network(name::String; T = Float32, settings...) =
    Backend.Network{T}(small_setup(name; settings...), small_parameters(name))

function small_batch(name::String, samples::Int = 4; seed = 2)
    random, task = MersenneTwister(seed), small_task(name)
    shape = (reverse(task["input"]["shape"])..., samples)
    inputs = name == "gru" ? rand(random, Int32(0):Int32(19), shape) : rand(random, UInt8, shape)
    return inputs, rand(random, Int32(0):Int32(task["classes"] - 1), samples)
end

"Let the same dropout masks come again."
function rewind!(network)
    for layer in network.layers
        layer isa Backend.Dropout && Random.seed!(layer.random, 1)
    end
end

# --- a thin ResNet: forward only ------------------------------------------------------------------

bottleneck(name, width, stride, projection) =
    layer(name, "bottleneck"; width = width, stride = stride, projection = projection)

const NORM_PARTS = ("weight", "bias", "running_mean", "running_var")

"Random parameters of a batch norm; variances are positive."
function norm_parameters(name, channels, random)
    values = [randn(random, Float32, channels) for _ in NORM_PARTS]
    values[4] .= values[4] .^ 2 .+ 0.5f0
    return ["$name.$part" => value for (part, value) in zip(NORM_PARTS, values)]
end

conv_parameters(name, kernel, channels, filters, random) =
    ["$name.weight" => randn(random, Float32, kernel, kernel, channels, filters) ./ (3kernel)]

function block_parameters(name, channels, width, projection, random = MersenneTwister(3))
    found = Pair{String,Array{Float32}}[]
    convs = [("conv1", "bn1", 1, channels, width), ("conv2", "bn2", 3, width, width),
             ("conv3", "bn3", 1, width, 4width)]
    projection && push!(convs, ("downsample.0", "downsample.1", 1, channels, 4width))
    for (conv, norm, kernel, from, to) in convs
        append!(found, conv_parameters("$name.$conv", kernel, from, to, random))
        append!(found, norm_parameters("$name.$norm", to, random))
    end
    return found
end

"A ResNet of three blocks for images of 3 × 37 × 29; 20 features."
thin_resnet_setup() = (
    task = Dict{String,Any}(
        "name" => "resnet50", "classes" => 0, "features" => 20,
        "input" => Dict{String,Any}(
            "kind" => "pixels", "dtype" => "float32", "shape" => [3, 37, 29],
        ),
        "layers" => [
            merge(conv("conv1", 4), Dict("kernel" => 7, "stride" => 2, "bias" => false)),
            layer("bn1", "batch_norm"; epsilon = 1e-5), layer("relu1", "relu"),
            layer("pool1", "max_pool"; size = 3, stride = 2, padding = 1),
            bottleneck("layer1.0", 3, 1, true), bottleneck("layer1.1", 3, 1, false),
            bottleneck("layer2.0", 5, 2, true), layer("pool", "global_average_pool"),
        ],
    ),
    batch_size = 32, seed = 1, dropout = false, threads = 1, device = "cpu",
)

function thin_resnet_parameters()
    random = MersenneTwister(1)
    return Dict{String,Array{Float32}}([
        conv_parameters("conv1", 7, 3, 4, random); norm_parameters("bn1", 4, random)
        block_parameters("layer1.0", 4, 3, true, random)
        block_parameters("layer1.1", 12, 3, false, random)
        block_parameters("layer2.0", 12, 5, true, random)
    ])
end
