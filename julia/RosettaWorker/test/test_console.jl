using RosettaWorker: show_answer

function printed(header)
    path, io = mktemp()
    redirect_stdout(() -> show_answer(header), io)
    close(io)
    return read(path, String)
end

@testset "answers are printed as the Python runtime prints them" begin
    @test printed(Header("type" => "HELLO", "framework" => "Knet", "framework_version" => "1.4",
                         "device" => "cpu", "threads" => 2)) == "Knet 1.4 on cpu, 2 threads\n"
    @test printed(Header("type" => "READY", "parameter_count" => 14, "setup_ns" => 1_240_000)) ==
        "14 parameters, built in 1.2 ms\n" *
        "  step         loss    wait ms    copy ms    step ms\n"
    @test printed(Header("type" => "RESULT", "step" => 3, "loss" => 0.25, "wait_ns" => 1_000_000,
                         "copy_ns" => 1500, "step_ns" => 10^9)) ==
        "     3    0.2500000      1.000      0.002   1000.000\n"
    @test printed(Header("type" => "RESULT", "step" => 3, "loss" => NaN, "wait_ns" => 0,
                         "copy_ns" => 0, "step_ns" => 0)) ==
        "     3          NaN      0.000      0.000      0.000\n"
    @test printed(Header("type" => "PREDICTIONS", "predict_ns" => 1000)) ==
        "predictions in 0.001 ms\n"
    @test printed(Header("type" => "ERROR", "code" => "backend", "message" => "no")) ==
        "ERROR backend: no\n"
    @test printed(Header("type" => "ENDED")) == ""
end
