# The same network on one thread and on two.

"Losses of four steps and the parameters after them."
function train(name, threads)
    Backend.use_threads(threads)
    network = small_network(name; dropout = true, batch_size = 33)
    losses = [Backend.train_step!(network, small_batch(name, 33; seed = i)) for i in 1:4]
    return losses, Backend.parameters(network)
end

@testset "$name on two threads" for name in TASKS
    one_losses, one = train(name, 1)
    two_losses, two = train(name, 2)
    @test one_losses ≈ two_losses rtol = 1e-6
    @test all(isapprox(one[key], two[key]; rtol = 1e-5) for key in keys(one))
    @test train(name, 2) == (two_losses, two)  # to the bit
    Backend.use_threads(1)
end

@testset "a step of $name on two threads allocates next to nothing" for name in TASKS
    Backend.use_threads(2)
    network = small_network(name; dropout = true)
    @test allocated(network, small_batch(name, 512)) < 65_536  # some of it for each start of a task
    Backend.use_threads(1)
end

@testset "features on two threads" begin
    images = randn(MersenneTwister(2), Float32, 29, 37, 3, 7)
    found = map((1, 2)) do threads
        Backend.use_threads(threads)
        Backend.predict(Backend.build(thin_resnet_setup(), thin_resnet_parameters()), images)
    end
    @test found[1] == found[2]
    Backend.use_threads(1)
end

@testset "the threads that Julia lacks are left to the BLAS" begin
    lacking = Threads.nthreads() + 1
    Backend.use_threads(lacking)
    @test Backend.WORKERS[] == 1
    @test Backend.disclosures()["julia_threads"] == "1 of $(Threads.nthreads())"
    network = small_network("gru")
    @test isfinite(Backend.train_step!(network, small_batch("gru")))
    Backend.use_threads(1)
end

@testset "parts are what is there, once, in order" begin
    for count in (0, 1, 2, 5, 64), workers in 1:4
        parts = [Backend.part(count, worker, workers) for worker in 1:workers]
        @test reduce(vcat, parts) == 1:count
        @test maximum(length, parts) - minimum(length, parts) <= 1
    end
end

@testset "products in parts" begin
    Backend.use_threads(2)
    random = MersenneTwister(1)
    a, b = randn(random, Float32, 300, 200), randn(random, Float32, 200, 301)
    c = zeros(Float32, 300, 301)
    @test Backend.multiply!(c, 'N', a, 'N', b) ≈ a * b
    @test Backend.multiply!(c, 'T', copy(a'), 'N', b) ≈ a * b
    @test Backend.multiply!(c, 'N', a, 'T', copy(b')) ≈ a * b
    Backend.use_threads(1)
end
