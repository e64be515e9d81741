using RosettaWorker: check_inputs, check_labels, check_learning_rate, check_parameters, check_setup

const TASK = Header(
    "name" => "tiny", "layers" => Any[], "classes" => 2,
    "parameters" => Any[Header("name" => "w", "shape" => Any[2, 3])],
    "input" => Header("kind" => "pixels", "dtype" => "uint8", "shape" => Any[3]))
const SETUP = Header(
    "task" => TASK, "batch_size" => 2, "seed" => 1, "dropout" => true, "threads" => 1)
const WEIGHT = zeros(Float32, 3, 2)

@testset "a setup" begin
    @test check_setup(SETUP, ["tiny"], Dict(), 1) == TASK
    @test refusal(() -> check_setup(SETUP, ["mlp"], Dict(), 1)) == ("unknown_task", 1)
    for wrong in ("seed" => -1, "seed" => 2^31, "seed" => true, "batch_size" => 0,
                  "threads" => 65537, "dropout" => 1, "task" => 5, "batch_size" => 1.0)
        header = merge(SETUP, Header(wrong))
        @test refusal(() -> check_setup(header, ["tiny"], Dict(), 4)) == ("bad_header", 4)
    end
    unusual = merge(SETUP, Header("task" => Dict{Any,Any}(merge(TASK, Header("later" => 1)))))
    @test check_setup(unusual, ["tiny"], Dict(), 1) isa Header
end

@testset "parameters in shape, type and order" begin
    @test check_parameters(TASK, named("w" => WEIGHT), 1) === nothing
    for (arrays, code) in (
        Arrays() => "bad_shape", named("v" => WEIGHT) => "bad_shape",
        named("w" => zeros(Float32, 2, 3)) => "bad_shape",
        named("w" => WEIGHT, "v" => WEIGHT) => "bad_shape",
        named("w" => Float64.(WEIGHT)) => "bad_dtype",
    )
        @test refusal(() -> check_parameters(TASK, arrays, 1)) == (code, 1)
    end
    sentence = thrown(() -> check_parameters(TASK, Arrays(), 1)).sentence
    @test endswith(sentence, "'w' [2, 3] expected, none found")
end

@testset "inputs and labels" begin
    inputs = UInt8[0 1; 2 3; 4 5]
    batch(inputs, labels) = named("inputs" => inputs, "labels" => labels)
    @test check_inputs(TASK, batch(inputs, Int32[0, 1]), 1) === inputs
    for (wrong, code) in (
        Int32.(inputs) => "bad_dtype", inputs[1:2, :] => "bad_shape", inputs[:, 1] => "bad_shape",
        inputs[:, 1:0] => "bad_shape", fill(0x01) => "bad_shape",
    )
        @test refusal(() -> check_inputs(TASK, batch(wrong, Int32[]), 1)) == (code, 1)
    end
    for (wrong, code) in (
        [0, 1] => "bad_dtype", Int32[0] => "bad_shape", Int32[0 1] => "bad_shape",
        Int32[0, 2] => "bad_value", Int32[-1, 0] => "bad_value",
    )
        @test refusal(() -> check_labels(TASK, batch(inputs, wrong), inputs, 1)) == (code, 1)
    end
    @test refusal(() -> check_inputs(TASK, Arrays(), 1)) == ("bad_frames", 1)
    @test refusal(() -> check_labels(TASK, Arrays(), inputs, 1)) == ("bad_frames", 1)
end

@testset "learning rates" begin
    @test check_learning_rate(Header(), 1) === nothing
    @test check_learning_rate(Header("learning_rate" => nothing), 1) === nothing
    @test check_learning_rate(Header("learning_rate" => 0), 1) === 0.0
    for rate in (-1, 1e7, NaN, true, "1")
        header = Header("learning_rate" => rate)
        @test refusal(() -> check_learning_rate(header, 1)) == ("bad_header", 1)
    end
end
