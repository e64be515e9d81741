@testset "a process may use at least one processor, and at most all" begin
    @test 1 <= RosettaWorker.usable_cpus() <= max(1, Sys.CPU_THREADS)
end
