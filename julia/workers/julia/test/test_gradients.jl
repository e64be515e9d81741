# The derivatives by hand against finite differences, in float64.

"The mean loss of a batch, without a derivative; draws the same dropout masks each time."
function loss_of(network, (inputs, labels))
    rewind!(network)
    logits = Backend.forward!(network, inputs, true)
    return Backend.softmax_cross_entropy!(similar(logits), logits, labels)
end

"The loss's derivative by `values[i]`, from its values to both sides."
function difference(network, batch, values, i; step = 1e-6)
    held = values[i]
    values[i] = held + step
    above = loss_of(network, batch)
    values[i] = held - step
    below = loss_of(network, batch)
    values[i] = held
    return (above - below) / 2step
end

@testset "gradients of $name" for name in ("mlp", "cnn", "gru")
    network = small_network(name; T = Float64, dropout = true)
    batch = small_batch(name)
    # A second time, so that nothing is left over from the first.
    for batch in (small_batch(name; seed = 3), batch)
        rewind!(network)
        @test Backend.differentiate!(network, batch) ≈ loss_of(network, batch)
    end
    for parameter in network.parameters
        found = copy(parameter.gradient)
        expected = [difference(network, batch, parameter.value, i) for i in eachindex(found)]
        @test norm(expected) > 1e-4  # it matters at all
        @test norm(vec(found) - expected) < 1e-6 * norm(expected)
    end
end

@testset "gradient of $name by its input" for (name, shape) in (
    "conv" => (5, 4, 2, 3), "max_pool" => (7, 6, 2, 3), "gru" => (5, 3, 6), "dense" => (7, 3),
)
    random = MersenneTwister(1)
    spec = Dict(
        "conv" => conv("l", 3), "max_pool" => layer("l", "max_pool"; size = 3, stride = 2),
        "gru" => layer("l", "gru"; units = 4, form = "cudnn", returns = "last"),
        "dense" => dense("l", 4),
    )[name]
    values = Dict{String,Array{Float32}}(
        "l.weight" => randn(random, Float32, name == "conv" ? (3, 3, 2, 3) : (7, 4)),
        "l.bias" => randn(random, Float32, name == "conv" ? 3 : 4),
        "l.weight_ih" => randn(random, Float32, 5, 12), "l.bias_ih" => randn(random, Float32, 12),
        "l.weight_hh" => randn(random, Float32, 4, 12), "l.bias_hh" => randn(random, Float32, 12),
    )
    sample_shape = name == "gru" ? (5, 6) : shape[1:end - 1]
    source = Backend.Source{Float64}(values, 1)
    subject = Backend.KINDS[name](spec, sample_shape, source)
    x = randn(random, shape)
    weights = randn(random, size(Backend.forward!(subject, x, true)))
    value() = dot(weights, Backend.forward!(subject, x, true))
    value()
    found = copy(Backend.backward!(subject, copy(weights)))
    expected = map(eachindex(x)) do i
        held, step = x[i], 1e-6
        x[i] = held + step
        above = value()
        x[i] = held - step
        below = value()
        x[i] = held
        (above - below) / 2step
    end
    @test norm(vec(found) - expected) < 1e-7 * norm(expected)
end
