using RosettaWorker: attach, decode, lookup, owned

"A file of shared memory: the numbers 0 to 31 as float32."
function write_memory(folder)
    path = joinpath(folder, "memory")
    write(path, collect(Float32, 0:31))
    return path
end

"A BATCH whose `inputs` lie in shared memory, and whose `labels` are a frame."
function elsewhere(changes...)
    inputs = Header("name" => "inputs", "dtype" => "float32", "shape" => Any[2, 3],
                    "offset_bytes" => 64)
    labels = Header("name" => "labels", "dtype" => "int32", "shape" => Any[2])
    described = Any[merge(inputs, Header(changes...)), labels]
    return [message("BATCH", 7, Header("arrays" => described)); [zeros(UInt8, 8)]]
end

mktempdir() do folder
    path = write_memory(folder)
    memory = attach(Header("path" => path, "size_bytes" => 128), 1)

    @testset "arrays are read where they lie" begin
        _, arrays = decode(elsewhere(), nothing, memory)
        inputs = lookup(arrays, "inputs")
        @test inputs == Float32[16 19; 17 20; 18 21]
        @test lookup(arrays, "labels") == Int32[0, 0]
        open(file -> (seek(file, 64); write(file, 99f0)), path, "r+")
        @test inputs[1, 1] == 99
    end

    @testset "what a backend keeps is copied" begin
        _, arrays = decode(elsewhere(), nothing, memory)
        push!(arrays, "frame" => Float32[1, 2])
        kept = owned(arrays[[1, 3]], memory)
        @test kept["inputs"] == first(arrays)[2]
        @test kept["inputs"] !== first(arrays)[2] && kept["frame"] === last(arrays)[2]
        held = copy(kept["inputs"])
        open(file -> (seek(file, 64); write(file, 98f0)), path, "r+")
        @test kept["inputs"] == held
        @test owned(arrays[3:3], nothing)["frame"] === last(arrays)[2]
    end

    @testset "what doesn't lie there is refused" begin
        for (changes, code) in (
            ("offset_bytes" => -64) => "bad_header",
            ("offset_bytes" => 32) => "bad_header",
            ("offset_bytes" => 64.0) => "bad_header",
            ("offset_bytes" => "64") => "bad_header",
            ("offset_bytes" => true) => "bad_header",
            ("offset_bytes" => 128) => "bad_frames",
            ("offset_bytes" => 2^62) => "bad_frames",
            ("shape" => Any[2^31, 2^31]) => "bad_frames",
        )
            @test refusal(() -> decode(elsewhere(changes), nothing, memory)) == (code, 7)
        end
        @test refusal(() -> decode(elsewhere())) == ("bad_frames", 7)
        @test refusal(() -> decode([elsewhere(); [UInt8[]]], nothing, memory)) == ("bad_frames", 7)
    end

    @testset "a file that can't be mapped is refused" begin
        for (described, code) in (
            3 => "bad_header",
            Header("path" => path) => "bad_header",
            Header("path" => 3, "size_bytes" => 128) => "bad_header",
            Header("path" => path, "size_bytes" => 0) => "bad_header",
            Header("path" => path, "size_bytes" => 129) => "unsupported",
            Header("path" => joinpath(folder, "nowhere"), "size_bytes" => 1) => "unsupported",
        )
            @test refusal(() -> attach(described, 5)) == (code, 5)
        end
    end
end
