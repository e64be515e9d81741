using RosettaWorker: describe, log_line

@testset "an exception is described by its first line" begin
    @test describe(ErrorException("out of memory\nand more")) == "out of memory"
    @test describe(ArgumentError("no")) == "ArgumentError: no"
    @test describe(WorkerError("a sentence")) == "a sentence"
end

@testset "a line of the log has no control characters, and is one line" begin
    path, io = mktemp()
    redirect_stderr(() -> log_line("red \e[31m\nnew\tline \xff ü"), io)
    close(io)
    @test read(path, String) == "rosetta worker: red  [31m new line   ü\n"
end
