# Run with `julia runtests.jl`, and with JULIA_NUM_THREADS=2 for the tests of threads.

using LinearAlgebra, Random, Test

module Backend
include("../backend.jl")
end

include("small.jl")

@testset "plain Julia" begin
    include("test_layers.jl")
    include("test_gradients.jl")
    include("test_optimisers.jl")
    include("test_network.jl")
    include("test_forward_only.jl")
    include("test_threads.jl")
end
