using RosettaWorker: UsageError, parse_options

options(line) = parse_options(split(line))

@testset "a command line" begin
    found = options("folder --tape a --record=b --device cuda:1 --threads 4")
    @test (found.folder, found.connect, found.tape, found.record) == ("folder", nothing, "a", "b")
    @test (found.device, found.threads) == ("cuda:1", 4)
    found = options("--connect=x=y -- -folder")
    @test (found.folder, found.connect, found.threads) == ("-folder", "x=y", nothing)
end

@testset "one that can't be understood" begin
    for line in ("", "folder", "--tape a", "a b --tape c", "a --tape b --connect c", "a --tape",
                 "a --tape b --threads 0", "a --tape b --threads x", "a --tape b --frob",
                 "a --connect b --record c")
        @test thrown(() -> options(line)) isa UsageError
    end
end
