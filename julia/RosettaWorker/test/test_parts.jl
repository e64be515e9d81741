using RosettaWorker: Header, Parts, done!, times!

@testset "the parts of a step" begin
    @testset "both are told, and once" begin
        parts = Parts()
        done!(parts, :forward)
        done!(parts, :backward)
        started = parts.forward_at - 5
        between = parts.backward_at - parts.forward_at
        @test times!(parts, started) == Header("forward_ns" => 5, "backward_ns" => between)
        @test times!(parts, started) == Header()
    end

    @testset "half of them isn't told, nor what has another name" begin
        parts = Parts()
        done!(parts, :forward)
        done!(parts, :update)
        @test times!(parts, 0) == Header()
        @test times!(nothing, 0) == Header()
    end
end
