# Plain Julia: the tasks' networks with nothing but the standard library.
#
# Read `network.jl` first, then `layers/layer.jl`, then the layers in any order.

using Libdl, LinearAlgebra, Random

include("parallel.jl")
include("buffers.jl")
include("layers/layer.jl")
include("layers/elementwise.jl")
include("layers/dropout.jl")
include("layers/dense.jl")
include("layers/windows.jl")
include("layers/convolution.jl")
include("layers/pooling.jl")
include("layers/strided_convolution.jl")
include("layers/batch_norm.jl")
include("layers/bottleneck.jl")
include("layers/embedding.jl")
include("layers/activations.jl")
include("layers/recurrent.jl")
include("loss.jl")
include("optimisers.jl")
include("network.jl")
include("disclosures.jl")

"The CPU has done what a call returns from."
const tells_parts = true

"""
    start(device, threads) -> Dict

Set the number of threads; tell what computes. `ArgumentError` for a device other than "cpu".
"""
function start(device::String, threads::Int)
    device == "cpu" || throw(ArgumentError(
        "device \"$device\" is not available: plain Julia computes on the CPU only",
    ))
    use_threads(threads)
    return Dict{String,Any}(
        "framework" => Dict("name" => "Julia", "version" => string(VERSION)),
        "versions" => Dict("julia" => string(VERSION), "llvm" => string(Base.libllvm_version)),
        "tasks" => ["mlp", "cnn", "gru", "resnet50"],
        "forms" => Dict("adam" => "torch", "momentum" => "outside", "gru" => "cudnn"),
        "disclosures" => disclosures(),
    )
end

"""
    build(setup, parameters) -> Network

The network of `setup.task` in float32, holding `parameters` (canonical names, reversed axes).
"""
build(setup, parameters) = Network{Float32}(setup, parameters)
