using RosettaWorker: check_keys, decode, encode, lookup, text, texts, wire_shape

const ROWS = Float32[1 2; 3 4; 5 6]  # on the wire: 2 rows of 3 columns

@testset "axes are those of the wire, reversed" begin
    frames = encode(Header("type" => "VALUES", "id" => 1), named("w" => ROWS))
    header, _ = MessagePack.unpack(frames[1])
    @test header["arrays"] == Any[Dict("name" => "w", "dtype" => "float32", "shape" => Any[2, 3])]
    @test reinterpret(Float32, reinterpret(UInt8, vec(frames[2]))) == [1, 3, 5, 2, 4, 6]
end

@testset "arrays are read with their type and shape, and are the reader's own" begin
    sent = named("b" => fill(0.5), "a" => ROWS, "e" => zeros(Int32, 3, 0), "u" => UInt8[9])
    frames = message("BATCH", 7, Header("step" => 3), sent...)
    header, arrays = decode(frames)
    @test header["type"] == "BATCH" && header["step"] === 3
    @test map(first, arrays) == ["b", "a", "e", "u"]
    for (name, array) in sent
        found = lookup(arrays, name)
        @test typeof(found) == typeof(array) && found == array
    end
    frames[end][1] = 0
    @test lookup(arrays, "u") == [9]
    @test lookup(arrays, "nobody") === nothing
end

@testset "a message of an unknown type keeps its frames" begin
    frames = [message("LATER", 1); [UInt8[1]]]
    @test decode(frames, Set(["BATCH"])) == (Header("type" => "LATER", "id" => 1), Arrays())
    @test refusal(() -> decode(frames)) == ("bad_frames", 1)
end

@testset "texts fit a header" begin
    @test text("äöü", 2) == "äö"
    @test text("a\xffb") == "a?b"
    @test texts((a = 1, b = "x")) == Dict("a" => "1", "b" => "x")
    @test length(texts(Dict(i => i for i in 1:300))) == RosettaWorker.MAX_MAP
end

@testset "an array that is too large is refused before anything is allocated" begin
    shape = Any[2^31, 2^31, 2^31, 0]
    described = Any[Header("name" => "x", "dtype" => "float64", "shape" => shape)]
    frames = [message("END", 3, Header("arrays" => described)); [UInt8[]]]
    @test refusal(() -> decode(frames)) == ("bad_frames", 3)
end
