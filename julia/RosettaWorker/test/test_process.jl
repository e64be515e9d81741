@testset "a process may use at least one processor, and at most all" begin
    @test 1 <= RosettaWorker.usable_cpus() <= max(1, Sys.CPU_THREADS)
end

@testset "it tells the processors that it may use, and the variables that are set" begin
    withenv((name => nothing for name in RosettaWorker.THREAD_VARIABLES)...) do
        withenv("OMP_NUM_THREADS" => "3", "OMP_WAIT_POLICY" => "ACTIVE") do
            found = RosettaWorker.conditions()
            @test found["thread variables"] == "OMP_NUM_THREADS=3 OMP_WAIT_POLICY=ACTIVE"
        end
        mktemp() do path, file
            write(file, "Name:\tjulia\nCpus_allowed_list:\t0-3,8\nMems_allowed:\t1\n")
            close(file)
            @test RosettaWorker.conditions(path)["processors"] == "0-3,8"
            write(path, "Name:\tjulia\n")
            @test RosettaWorker.conditions(path) == Dict("thread variables" => "")
        end
    end
    @test collect(keys(RosettaWorker.conditions("/nowhere"))) == ["thread variables"]
end
