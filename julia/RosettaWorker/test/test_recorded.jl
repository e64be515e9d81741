# Whole tapes are compared from Python, for both runtimes at once: tests/protocol.

using RosettaWorker: Comparison, Recorded, add!, answered!, compare!, differ!, is_right
using RosettaWorker: reason_to_leave_out, share, verdict_lines

"A session in which a network stands that has been trained for some steps."
function trained(steps; kinds = ["dense"], dropout = false, optimiser = "sgd")
    recorded = Recorded()
    layers = [Header("kind" => kind, "rate" => 0.5) for kind in kinds]
    task = Header("layers" => layers, "optimiser" => Header("kind" => optimiser))
    recorded.asked = (Header("task" => task, "dropout" => dropout), named("w" => Float32[1, 2]))
    answered!(recorded, Header("type" => "READY"))
    foreach(_ -> answered!(recorded, Header("type" => "RESULT")), 1:steps)
    return recorded
end

result(loss) = Header("type" => "RESULT", "step" => 0, "loss" => loss)

"Whether an answer is right by a recorded one."
function accepts(recorded, answer, theirs, arrays = Arrays(), others = Arrays())
    compare!(recorded, answer, arrays, theirs, others)
    return is_right(recorded)
end

@testset "the worst of several is said, and decides" begin
    comparison = Comparison("losses")
    @test is_right(comparison) && isempty(verdict_lines(comparison))
    comparison.compared = 3
    add!(comparison, "a", 1e-7, 1e-6)
    add!(comparison, "b", 5e-7, 1e-6)
    add!(comparison, "c", 0, 0)
    @test verdict_lines(comparison) ==
        ["the losses are the recorded ones, 3 compared: b deviates by 5e-07 of at most 1e-06"]
    add!(comparison, "d", NaN, 1e-6)
    @test !is_right(comparison)
    @test startswith(only(verdict_lines(comparison)), "the losses are not the recorded ones")
end

@testset "losses: 1e-6, with convolutions 2e-5 after a step" begin
    for (steps, kinds, limit) in ((0, ["dense"], 1e-6), (9, ["dense"], 1e-6),
                                  (0, ["conv"], 1e-6), (4, ["conv"], 2e-5))
        @test accepts(trained(steps; kinds = kinds), result(1 + 0.9limit), result(1.0))
        @test !accepts(trained(steps; kinds = kinds), result(1 + 1.1limit), result(1.0))
    end
    @test accepts(trained(0), result(NaN), result(NaN))
    @test !accepts(trained(0), result(NaN), result(1.0))
    @test !accepts(trained(0), result(1.0), result(NaN))
end

@testset "parameters by their change since SETUP" begin
    values = Header("type" => "VALUES")
    change(x) = named("w" => Float32[1 + x, 2])
    @test accepts(trained(0), values, values, change(0), change(0))
    @test !accepts(trained(0), values, values, change(1e-3), change(0))
    for (steps, limit) in ((1, 6e-4), (4, 5e-3))
        @test accepts(trained(steps), values, values, change(1 + 0.9limit), change(1))
        @test !accepts(trained(steps), values, values, change(1 + 1.1limit), change(1))
    end
    @test !accepts(trained(1), values, values, named("v" => Float32[1, 2]), change(0))
end

@testset "another answer altogether" begin
    failed = Header("type" => "ERROR", "code" => "backend", "message" => "no")
    @test !accepts(trained(0), failed, result(1.0))
    @test !accepts(trained(0), failed, merge(failed, Header("code" => "bad_state")))
    @test accepts(trained(0), failed, merge(failed, Header("message" => "never")))
end

@testset "what is left out" begin
    reason(recorded, kind) = something(reason_to_leave_out(recorded, kind), "")
    @test reason(trained(9), "RESULT") == "" && occursin("steps", reason(trained(10), "RESULT"))
    @test reason(trained(4; kinds = ["conv"]), "RESULT") == ""
    @test occursin("steps", reason(trained(5; kinds = ["conv"]), "RESULT"))
    @test reason(trained(4), "VALUES") == "" && occursin("steps", reason(trained(5), "VALUES"))
    noisy(steps) = trained(steps; kinds = ["dropout"], dropout = true)
    @test occursin("dropout", reason(noisy(0), "RESULT")) && reason(noisy(0), "PREDICTIONS") == ""
    @test occursin("dropout", reason(noisy(1), "PREDICTIONS"))
    @test reason(trained(1; kinds = ["dropout"]), "RESULT") == ""
end

@testset "a share of nothing" begin
    @test share(0, 0) == 0 && share(1, 0) == Inf && share(-1, 2) == 0.5 && isnan(share(NaN, 1))
end
