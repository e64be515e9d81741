# The session itself is tested from Python, for both runtimes at once: tests/rosetta_worker.

const NETWORK = """
start(device, threads) = device == "cpu" ?
    Dict("framework" => Dict("name" => "doubler", "version" => "3"), "tasks" => ["tiny"]) :
    throw(ArgumentError("device '\$device' is not available"))
build(setup, parameters) = parameters
to_device(network, inputs, labels) = sum(inputs) + sum(labels)
train_step!(network, batch) = (network["w"] .*= 2; batch)
set_learning_rate!(network, rate) = nothing
predict(network, inputs) = Float32.(inputs[1:2, :])
parameters(network) = network
"""

"(status, output, errors) of the program."
function program(arguments...)
    (out_path, out), (err_path, err) = mktemp(), mktemp()
    status = redirect_stdout(out) do
        redirect_stderr(() -> RosettaWorker.main(collect(String, arguments)), err)
    end
    foreach(close, (out, err))
    return status, read(out_path, String), read(err_path, String)
end

const FOLDER = mktempdir()
write(joinpath(FOLDER, "backend.jl"), NETWORK)

@testset "a session from a tape" begin
    task = Header(
        "name" => "tiny", "layers" => [], "classes" => 2, "optimiser" => Header(),
        "parameters" => [Header("name" => "w", "shape" => [2])],
        "input" => Header("kind" => "pixels", "dtype" => "uint8", "shape" => [2]))
    setup = Header(
        "task" => task, "batch_size" => 1, "seed" => 0, "dropout" => false, "threads" => 5)
    inputs = "inputs" => reshape(UInt8[3, 4], 2, 1)
    tape = write_tape(
        joinpath(FOLDER, "tape"), message("WELCOME", 0),
        message("SETUP", 1, setup, "w" => Float32[1, 2]),
        message("BATCH", 2, Header("step" => 0), inputs, "labels" => Int32[1]),
        message("PREDICT", 3, Header(), inputs), message("PARAMETERS", 4), message("BYE", 5))
    record = joinpath(FOLDER, "record")
    status, output, errors = program(FOLDER, "--tape", tape, "--record", record, "--threads", "1")
    @test (status, errors) == (0, "")
    lines = split(output, '\n')
    @test lines[1] == "doubler 3 on cpu, 1 threads"
    @test startswith(lines[2], "2 parameters, built in ")
    @test startswith(lines[4], "     0    8.0000000 ")
    # Played again, the recording gives the same: the worker's messages are passed over.
    @test first(program(FOLDER, "--tape", record)) == 0
    doubled = String(copy(reinterpret(UInt8, Float32[2, 4])))
    @test occursin(doubled, read(record, String))
end

@testset "exit status and sentence" begin
    empty = write_tape(joinpath(FOLDER, "empty"))
    @test program(FOLDER, "--tape", empty, "--device", "cuda") ==
        (3, "", "rosetta worker: device 'cuda' is not available\n")
    @test program(FOLDER, "--tape", "/nowhere")[1] == 1
    @test program(FOLDER, "--connect", "/nowhere")[1] == 1
    @test program("/nowhere", "--tape", empty) ==
        (1, "", "rosetta worker: no backend.jl in /nowhere\n")
    status, _, errors = program(FOLDER)
    @test status == 2 && startswith(errors, "usage: ") && occursin("--connect and --tape", errors)
    @test program("--help")[1:2] == (0, RosettaWorker.HELP)
end
