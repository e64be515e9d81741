using RosettaWorker: call, load_backend, start_backend

const REST = """
build(setup, parameters) = nothing
to_device(network, inputs, labels) = nothing
train_step!(network, batch) = 0.0
set_learning_rate!(network, rate) = nothing
predict(network, inputs) = nothing
parameters(network) = Dict()
"""

function folder_with(content, more...)
    folder = mktempdir()
    write(joinpath(folder, "backend.jl"), content)
    foreach(((name, text),) -> write(joinpath(folder, name), text), more)
    return folder
end

"What `load_backend` throws, and not what it writes to the log."
failure(folder) = redirect_stderr(() -> thrown(() -> load_backend(folder)), open("/dev/null", "w"))

@testset "a backend is the file backend.jl and what it includes" begin
    folder = folder_with("include(\"more.jl\")\n" * REST, "more.jl" => """
        start(device, threads) = (framework = (name = device, version = "\$threads"), tasks = ["x"])
        """)
    backend = load_backend(folder)
    description = start_backend(backend, "cpu", 2)
    @test description["framework"] == (name = "cpu", version = "2")
    @test call(backend.train_step!, nothing, nothing) == 0.0
end

@testset "a backend says whether it tells the parts of a step" begin
    start = "start(device, threads) = nothing\n"
    @test !load_backend(folder_with(start * REST)).tells_parts
    @test load_backend(folder_with(start * REST * "const tells_parts = true\n")).tells_parts
end

@testset "two backends don't see each other" begin
    one, two = (folder_with("start(device, threads) = $n\n" * REST) for n in 1:2)
    loaded = load_backend(one), load_backend(two)
    @test [call(backend.start, "cpu", 1) for backend in loaded] == [1, 2]
end

@testset "a folder without a usable backend is refused in one sentence" begin
    empty = mktempdir()
    @test failure(empty).sentence == "no backend.jl in $empty"
    @test endswith(failure(folder_with("build = 5\n")).sentence, "start, build, to_device, " *
        "train_step!, set_learning_rate!, predict and parameters")
    @test endswith(failure(folder_with(REST)).sentence, "backend.jl lacks start")
    @test endswith(failure(folder_with("using NoSuchPackage")).sentence, "Run `import Pkg; " *
        "Pkg.add(\"NoSuchPackage\")` to install the NoSuchPackage package.") ||
        occursin("NoSuchPackage not found", failure(folder_with("using NoSuchPackage")).sentence)
    @test occursin("backend.jl: no luck", failure(folder_with("error(\"no luck\")")).sentence)
end

@testset "a device that isn't there has a status of its own" begin
    lacking = folder_with("start(device, threads) = throw(ArgumentError(\"no \$device\"))\n" * REST)
    error = thrown(() -> start_backend(load_backend(lacking), "cuda", 1))
    @test (error.sentence, error.status) == ("no cuda", 3)
    broken = folder_with("start(device, threads) = error(\"oh\")\n" * REST)
    @test thrown(() -> start_backend(load_backend(broken), "cpu", 1)) == ErrorException("oh")
end
