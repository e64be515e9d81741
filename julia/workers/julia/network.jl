# A task's whole network: layers, loss and optimiser, and what the runtime asks of them.

# Two kinds have a layer that is trained, and a more general one that goes forward only.

convolution(spec, shape, source) =
    (get(spec, "bias", true) ? Convolution : StridedConvolution)(spec, shape, source)

max_pool(spec, shape, source) =
    (get(spec, "padding", 0) == 0 ? MaxPool : PaddedMaxPool)(spec, shape, source)

"The layers of a task file, by their kind."
const KINDS = Dict{String,Any}(
    "batch_norm" => BatchNorm,
    "bottleneck" => Bottleneck,
    "conv" => convolution,
    "dense" => Dense,
    "dropout" => Dropout,
    "embedding" => Embedding,
    "flatten" => Flatten,
    "global_average_pool" => GlobalAveragePool,
    "gru" => Gru,
    "max_pool" => max_pool,
    "relu" => Relu,
)

"""
    Network{T}(setup, parameters)

The network of `setup.task`, computed in the float type `T`, with `parameters` as its initial values
(by canonical name, axes reversed; `T = Float32` computes on these arrays themselves). Without
`setup.dropout` the dropout layers are left out. `ArgumentError` for a layer or an optimiser that is
unknown, and for parameters that don't fit. A task without an optimiser goes forward only.
"""
struct Network{T}
    layers::Vector{Layer{T}}
    parameters::Vector{Parameter{T}}
    optimiser::Union{Optimiser{T},Nothing}
    dlogits::Buffer{T,2}
    slice::Int  # samples that `predict` takes at a time
end

"Images that go forward together at least."
const FEW_IMAGES = 4

function Network{T}(setup, parameters) where {T}
    layers = make_layers(T, setup, parameters)
    ours = Parameter{T}[p for layer in layers for p in trainables(layer)]
    unused = setdiff(keys(parameters), [p.name for p in ours])
    isempty(unused) ||
        throw(ArgumentError("no layer has the parameters $(join(sort!(collect(unused)), ", "))"))
    described = get(setup.task, "optimiser", nothing)
    if described === nothing
        # As many images as workers, or a few more: those of a ResNet-50 take 45 MB each.
        slice = WORKERS[] * cld(FEW_IMAGES, WORKERS[])
        return Network{T}(layers, ours, nothing, Buffer{T,2}(), slice)
    end
    optimiser = Optimiser{T}(described, ours)
    return Network{T}(layers, ours, optimiser, Buffer{T,2}(), setup.batch_size)
end

function make_layers(::Type{T}, setup, parameters) where {T}
    task, source = setup.task, Source{T}(parameters, setup.seed)
    shape = Tuple(Int.(reverse(task["input"]["shape"])))
    layers = Layer{T}[]
    if task["input"]["kind"] == "pixels"
        push!(layers, Scale{T,length(shape) + 1}(get(task["input"], "scale", 1)))
    end
    for spec in task["layers"]
        kind = spec["kind"]
        haskey(KINDS, kind) || throw(ArgumentError(
            "layer $(spec["name"]): kind '$kind' is unknown; known are " *
            join(sort!(collect(keys(KINDS))), ", "),
        ))
        kind == "dropout" && !setup.dropout && continue
        layer = KINDS[kind](spec, shape, source)
        push!(layers, layer)
        shape = output_shape(layer, shape)
    end
    return layers
end

"The arrays as they are: the host's memory is the device's."
to_device(::Network, inputs, labels) = (inputs, labels)

"""
    train_step!(network, batch, done = part -> nothing) -> loss

Forward, loss, backward, update; the mean loss is the one before the update. Calls `done(:forward)`
when the loss is known, and `done(:backward)` when the gradients are.
"""
function train_step!(network::Network, batch, done = part -> nothing)
    loss = differentiate!(network, batch, done)
    update!(network.optimiser)
    return loss
end

"The mean loss of a batch; the parameters' gradients become its gradient."
function differentiate!(network::Network, (inputs, labels), done = part -> nothing)
    logits = forward!(network, inputs, true)
    dy = sized!(network.dlogits, size(logits)...)
    loss = softmax_cross_entropy!(dy, logits, labels)
    done(:forward)
    # Nobody asks for the gradient by the network's input, nor can tokens have one.
    lowest = findfirst(layer -> !isempty(trainables(layer)), network.layers)
    for position in length(network.layers):-1:lowest + 1
        dy = backward!(network.layers[position], dy)
    end
    parameter_gradient!(network.layers[lowest], dy)
    done(:backward)
    return loss
end

function forward!(network::Network, x, training::Bool)
    for layer in network.layers
        x = forward!(layer, x, training)
    end
    return x
end

"Use another learning rate from the next step on; the optimiser keeps its state."
function set_learning_rate!(network::Network, rate::Float64)
    network.optimiser.learning_rate = rate
    return nothing
end

"""
    predict(network, inputs) -> Matrix{Float32}

The logits, class × sample, with dropout off; the features of a network that goes forward only. One
training batch at a time, so that the arrays between the layers needn't be larger than in training.
"""
function predict(network::Network, inputs)
    last_axis = ndims(inputs)
    slices = Iterators.partition(axes(inputs, last_axis), network.slice)
    logits = [
        Float32.(forward!(network, selectdim(inputs, last_axis, slice), false)) for slice in slices
    ]
    return reduce(hcat, logits)
end

"Copies of the parameters in float32, by canonical name, axes reversed."
parameters(network::Network) =
    Dict{String,Array{Float32}}(p.name => Float32.(p.value) for p in network.parameters)
