# Knet as its users write it: callable structs of `Param`s, `@diff`, `grad`, `update!`.
#
# Everything is column-major, with the axes of the wire reversed: pixels W×H×C×N or features×N,
# tokens T×N, logits classes×N. Written for Knet 1.4; 1.2.3 has all of it for the CPU.

using Knet
using LinearAlgebra: BLAS

"""
    start(device, threads) -> Dict

Choose the device, set the threads of the matrix products, and tell what computes.
Throws `ArgumentError` for a device that isn't there.
"""
function start(device, threads)
    choose_device(device)
    BLAS.set_num_threads(threads)
    return Dict{String,Any}(
        "framework" => Dict("name" => "Knet", "version" => version_of(Knet)),
        "versions" => Dict(
            "julia" => string(VERSION),
            "Knet" => version_of(Knet),
            "AutoGrad" => version_of(AutoGrad),
        ),
        "tasks" => ["mlp", "cnn", "gru", "resnet50"],
        "forms" => Dict("adam" => "torch", "momentum" => "inside", "gru" => "cudnn"),
        "disclosures" => Dict(
            "precision" => "float32",
            "layout" => "WHCN, column-major",
            "mode" => "eager",
            "arrays" => string(Knet.atype()),
            "max_pool" => pool_is_exact() ? "pool" : "pool, with a gradient of the worker's own",
            "julia_threads" => string(Threads.nthreads()),
        ),
    )
end

"""
    choose_device(device)

Have Knet compute on `"cpu"`, on `"cuda"` (the first GPU) or on `"cuda:N"` (counted from 0).

Knet takes a GPU by itself when it is loaded where there is one. In 1.4 `Knet.atype()` says which
arrays it then makes, `KnetArray` or (1.4.10) `CuArray`, and CUDA.jl which GPU is meant. Older
versions reach GPUs in ways of their own, which are not offered.
"""
function choose_device(device)
    if device == "cpu"
        isdefined(Knet, :array_type) ? (Knet.array_type[] = Array{Float32}) : gpu(-1)
        return
    end
    asked = match(r"^cuda(?::([0-9]+))?$", device)
    number = asked === nothing ? nothing : tryparse(Int, something(asked[1], "0"))
    present = isdefined(Knet, :CUDA) && Knet.CUDA.functional() ? length(Knet.CUDA.devices()) : 0
    if number === nothing || number >= present
        reason = "Knet $(version_of(Knet)) finds $present GPUs through CUDA.jl"
        throw(ArgumentError("device \"$device\" is not available: $reason"))
    end
    ENV["NVIDIA_TF32_OVERRIDE"] = "0"  # float32 means float32; read when cuBLAS and cuDNN start
    Knet.CUDA.device!(number)
end

"Wait for all that the GPU has been given to do; the CPU has done it already."
synchronise() = Knet.atype() <: Array || Knet.CUDA.synchronize()

# --- layers, each with its canonical name ---------------------------------------------------------

"A parameter where Knet computes, from an array in the host's memory."
parameter(values) = Param(convert(Knet.atype(), values))

"The present values of a parameter, copied to the host's memory."
host(p::Param) = Array(value(p))

"Fully connected. Knet's weight multiplies from the left: it is out×in, the canonical one in×out."
struct Dense
    name
    w
    b
end

Dense(p::Dict, name) =
    Dense(name, parameter(permutedims(p["$name.weight"])), parameter(p["$name.bias"]))

(l::Dense)(x) = l.w * mat(x) .+ l.b

canonical(l::Dense) = ["$(l.name).weight" => permutedims(host(l.w)), "$(l.name).bias" => host(l.b)]

"""
Convolution 3×3 with zero padding that keeps the size. `conv4` has no bias, so it is added, as
1×1×O×1; and it flips the kernel unless `mode = 1` says that a cross-correlation is meant.
"""
struct Conv
    name
    w
    b
end

Conv(p::Dict, name) =
    Conv(name, parameter(p["$name.weight"]), parameter(reshape(p["$name.bias"], 1, 1, :, 1)))

(l::Conv)(x) = conv4(l.w, x; padding = 1, mode = 1) .+ l.b

canonical(l::Conv) = ["$(l.name).weight" => host(l.w), "$(l.name).bias" => vec(host(l.b))]

"Look-up of token numbers from 1, N×T, in a D×V matrix: D×N×T."
struct Embedding
    name
    w
end

Embedding(p::Dict, name) = Embedding(name, parameter(p["$name.weight"]))

(l::Embedding)(tokens) = l.w[:, tokens]

canonical(l::Embedding) = ["$(l.name).weight" => host(l.w)]

"""
The last output of Knet's `RNN`, which computes cuDNN's GRU: X×N×T in, H×N out.

Its one parameter `rnn.w` (1×1×n) holds everything: input and recurrent matrices, then input and
recurrent bias vectors, each for the gates reset, update, new. The canonical ones, X×3H, H×3H, 3H
and 3H, follow each other in this order without a permutation.
"""
struct Gru
    name
    rnn
end

const GRU_PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

function Gru(p::Dict, name)
    arrays = [p["$name.$part"] for part in GRU_PARAMETERS]
    rnn = RNN(size(arrays[1], 1), size(arrays[2], 1); rnnType = :gru)
    rnn.w = parameter(reshape(vcat(map(vec, arrays)...), 1, 1, :))
    return Gru(name, rnn)
end

(l::Gru)(x) = l.rnn(x)[:, :, end]

function canonical(l::Gru)
    packed, taken = vec(host(l.rnn.w)), 0
    input, hidden = Int(l.rnn.inputSize), Int(l.rnn.hiddenSize)
    shapes = ((input, 3hidden), (hidden, 3hidden), (3hidden,), (3hidden,))
    return map(GRU_PARAMETERS, shapes) do part, shape
        first, taken = taken + 1, taken + prod(shape)
        "$(l.name).$part" => reshape(packed[first:taken], shape)
    end
end

"A function without parameters, such as an activation."
canonical(::Any) = Pair{String,Any}[]

rectify(x) = relu.(x)

"Inverted dropout, as Knet's: active inside `@diff` only. Rate 0 makes it the identity there too."
struct Dropout
    rate
end

(l::Dropout)(x) = dropout(x, l.rate)

# --- max-pool -------------------------------------------------------------------------------------

"""
Whether the gradient of `pool` goes to the maximum. On the CPU, Knet 1.4 has it from NNlib, which
gives it to the first element that *nearly* equals the maximum (`≈`, a relative 3e-4), and so to a
wrong one now and then: conv1's change is 3 % off. cuDNN and Knet 1.2.3 are right.
"""
function pool_is_exact()
    p = parameter(reshape(Float32[1, 1.0001, 0, 0], 2, 2, 1, 1))
    return vec(Array(grad(@diff(sum(pool(p))), p))) == [0, 1, 0, 0]
end

"`pool` with a gradient that goes to the maximum, of equal ones to the first in memory."
exact_pool(x) = pool(x)

AutoGrad.@primitive exact_pool(x),dy,y  exact_pool_gradient(value(x), value(y), value(dy))

function exact_pool_gradient(x, y, dy)
    dx = zero(x)
    for at in CartesianIndices(y)
        column, row, channel, sample = Tuple(at)
        for h in 2row-1:2row, w in 2column-1:2column
            if x[w, h, channel, sample] == y[at]
                dx[w, h, channel, sample] = dy[at]
                break
            end
        end
    end
    return dx
end

# --- networks -------------------------------------------------------------------------------------

"Layers one after the other; with labels (from 1), their mean softmax cross-entropy."
struct Chain
    layers
end

Chain(layers...) = Chain(layers)

(c::Chain)(x) = foldl((x, layer) -> layer(x), c.layers; init = x)
(c::Chain)(x, labels) = nll(c(x), labels)

mlp(p, rate) = Chain(Dense(p, "fc1"), rectify, Dense(p, "fc2"))

function cnn(p, rate)
    max_pool = pool_is_exact() ? pool : exact_pool
    return Chain(
        Conv(p, "conv1"), rectify,
        Conv(p, "conv2"), max_pool, rectify, Dropout(rate("dropout1")),
        Conv(p, "conv3"), rectify,
        Conv(p, "conv4"), max_pool, rectify, Dropout(rate("dropout2")),
        Dense(p, "fc1"), rectify, Dropout(rate("dropout3")),
        Dense(p, "fc2"),
    )
end

gru(p, rate) = Chain(Embedding(p, "embedding"), Gru(p, "gru"), Dense(p, "fc"))

include("resnet50.jl")

const NETWORKS = Dict("mlp" => mlp, "cnn" => cnn, "gru" => gru, "resnet50" => resnet50)

# --- what the runtime calls -----------------------------------------------------------------------

"A chain in training, or one that goes forward only."
struct Network
    chain
    params
    scale
end

"""
    build(setup, parameters) -> Network

`parameters`: canonical name => `Array{Float32}` with reversed axes. The sizes are theirs.
"""
function build(setup, parameters)
    Knet.seed!(setup.seed)  # of the dropout masks
    rates = Dict(l["name"] => l["rate"] for l in setup.task["layers"] if l["kind"] == "dropout")
    rate(name) = setup.dropout ? Float64(rates[name]) : 0.0
    chain = NETWORKS[setup.task["name"]](parameters, rate)
    if haskey(setup.task, "optimiser")
        foreach(p -> p.opt = make_optimiser(setup.task["optimiser"]), params(chain))
    end
    return Network(chain, params(chain), Float32(get(setup.task["input"], "scale", 1)))
end

to_device(net, inputs, labels) = (prepare(net, inputs), labels .+ 1)

prepare(net, pixels::AbstractArray{UInt8}) = convert(Knet.atype(), net.scale .* pixels)
prepare(net, pixels::AbstractArray{Float32}) = convert(Knet.atype(), pixels)
prepare(net, tokens::AbstractMatrix{Int32}) = permutedims(tokens) .+ 1

"One step on a batch of `to_device`; returns the loss before the update."
function train_step!(net, batch)
    loss = @diff net.chain(batch...)
    for p in net.params
        update!(p, grad(loss, p))
    end
    synchronise()
    return value(loss)
end

function set_learning_rate!(net, rate)
    for p in net.params
        p.opt.lr = rate
    end
end

"Logits, classes×N, or features×N. Outside `@diff` nothing is dropped."
predict(net, inputs) = Array(net.chain(prepare(net, inputs)))

"Canonical name => `Array{Float32}` with reversed axes."
parameters(net) = Dict{String,Array{Float32}}(Iterators.flatten(map(canonical, net.chain.layers)))

"Knet's optimiser as the task describes it. Each `Param` has one of its own, with its state."
function make_optimiser(described)
    number(key) = Float64(described[key])
    described["kind"] == "sgd" &&
        return Momentum(lr = number("learning_rate"), gamma = number("momentum"))
    return Adam(lr = number("learning_rate"), beta1 = number("beta1"), beta2 = number("beta2"),
                eps = number("epsilon"))
end

"The version that a package's Project.toml gives: Julia tells it since 1.9 only."
function version_of(package)
    file = joinpath(dirname(dirname(pathof(package))), "Project.toml")
    found = match(r"^version\s*=\s*\"(.+)\""m, read(file, String))
    return found === nothing ? "unknown" : String(found[1])
end
