# What the runtime asks of a network.

const TASKS = ("mlp", "cnn", "gru")

@testset "start tells what computes, and refuses another device" begin
    told = Backend.start("cpu", 1)
    @test told["framework"] == Dict("name" => "Julia", "version" => string(VERSION))
    @test all(value isa String && !isempty(value) for value in values(told["disclosures"]))
    @test haskey(told["disclosures"], "blas")
    @test_throws ArgumentError Backend.start("cuda:0", 1)
end

@testset "parameters of $name come back as they were sent" for name in TASKS
    sent = small_parameters(name)
    network = Backend.build(small_setup(name), deepcopy(sent))
    @test Backend.parameters(network) == sent
    Backend.train_step!(network, Backend.to_device(network, small_batch(name)...))
    @test Backend.parameters(network) != sent
end

@testset "the parts of a step of $name are told, in their order" for name in TASKS
    network, told = small_network(name), []
    batch = Backend.to_device(network, small_batch(name)...)
    before = Backend.parameters(network)
    note(part) = push!(told, part => Backend.parameters(network) == before)
    Backend.train_step!(network, batch, note)
    @test told == [:forward => true, :backward => true]  # the update comes after both
    @test Backend.parameters(network) != before
end

@testset "parameters that don't fit $name are refused" for name in TASKS
    whole = small_parameters(name)
    for key in keys(whole)
        lacking = delete!(copy(whole), key)
        @test_throws ArgumentError Backend.build(small_setup(name), lacking)
        wrong = merge(whole, Dict(key => zeros(Float32, size(whole[key]) .+ 1)))
        @test_throws ArgumentError Backend.build(small_setup(name), wrong)
    end
    more = merge(whole, Dict("fc9.weight" => zeros(Float32, 2, 2)))
    @test_throws ArgumentError Backend.build(small_setup(name), more)
end

@testset "prediction of $name changes nothing, whatever its size" for name in TASKS
    plain, watched = small_network(name; dropout = true), small_network(name; dropout = true)
    batch = small_batch(name)
    many, _ = small_batch(name, 11)  # two whole slices and a part of one
    for step in 1:3
        logits = Backend.predict(watched, many)
        @test size(logits) == (small_task(name)["classes"], 11)
        @test eltype(logits) == Float32
        @test Backend.predict(watched, many) == logits
        one, nine = selectdim(many, ndims(many), 9:9), 9:9
        @test Backend.predict(watched, one) ≈ logits[:, nine]
        @test Backend.train_step!(plain, batch) == Backend.train_step!(watched, batch)
    end
    @test Backend.parameters(plain) == Backend.parameters(watched)
end

@testset "batches of $name of other sizes" for name in TASKS
    # The mean over a batch is the mean over its parts, weighted with their sizes.
    network = small_network(name; T = Float64)
    inputs, labels = small_batch(name, 7)
    cut(range) = (copy(selectdim(inputs, ndims(inputs), range)), labels[range])
    gradients(batch) =
        (Backend.differentiate!(network, batch); [copy(p.gradient) for p in network.parameters])
    small, large, whole = gradients(cut(1:2)), gradients(cut(3:7)), gradients(cut(1:7))
    @test all(whole .≈ (2 .* small .+ 5 .* large) ./ 7)
    @test gradients(cut(1:2)) == small
end

@testset "the seed decides the masks" begin
    loss(; settings...) =
        Backend.train_step!(small_network("cnn"; settings...), small_batch("cnn"))
    @test loss(dropout = true, seed = 1) == loss(dropout = true, seed = 1)
    @test loss(dropout = true, seed = 1) != loss(dropout = true, seed = 2)
    @test loss(dropout = false, seed = 1) == loss(dropout = false, seed = 2)
end

@testset "a learning rate of 0 changes nothing" begin
    network = small_network("cnn")
    Backend.train_step!(network, small_batch("cnn"))
    Backend.set_learning_rate!(network, 0.0)
    held = Backend.parameters(network)
    Backend.train_step!(network, small_batch("cnn"))
    @test Backend.parameters(network) == held
end

@testset "the loss of $name falls" for name in TASKS
    network, batch = small_network(name), small_batch(name)
    Backend.set_learning_rate!(network, 0.02)
    losses = [Backend.train_step!(network, batch) for _ in 1:100]
    @test losses[end] < losses[1] / 2
end

"What a step allocates once it is warm, in bytes."
function allocated(network, batch)
    foreach(_ -> Backend.train_step!(network, batch), 1:3)
    return @allocated Backend.train_step!(network, batch)
end

@testset "a step of $name allocates next to nothing" for name in TASKS
    network = small_network(name; dropout = true)
    @test allocated(network, small_batch(name, 4)) < 32_768
    # A single array of the batch, of one float a pixel, would be larger.
    @test allocated(network, small_batch(name, 1024)) < 32_768
    @test allocated(network, small_batch(name, 512)) < 32_768
end

@testset "a smaller batch is served from the memory of the larger" begin
    buffer = Backend.Buffer{Float32,2}()
    large = Backend.sized!(buffer, 3, 100)
    @test Backend.sized!(buffer, 3, 100) === large
    small = Backend.sized!(buffer, 2, 7)
    @test size(small) == (2, 7) && pointer(small) == pointer(large)
end
