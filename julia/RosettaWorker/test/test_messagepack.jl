using RosettaWorker: OrderedMap
using RosettaWorker.MessagePack: Extension, MessagePackError, pack, unpack

@testset "a value comes back as it was" begin
    for value in (
        nothing, true, false, 0, -1, 127, -32, 128, 2^40, -2^40, typemax(Int64), typemin(Int64),
        typemax(UInt64), 1.5f0, 1.5, -0.0, Inf, "", "äöü", "x"^300, UInt8[], UInt8[1, 2],
        Any[], Any[1, "two", nothing], collect(Any, 1:20),
        OrderedMap{String,Any}("a" => Any[1]), OrderedMap{Any,Any}("a" => 0, 1 => "x"), Extension(Int8(-1), UInt8[1, 2, 3, 4]),
        Extension(Int8(5), UInt8[]),
    )
        unpacked, too_deep = unpack(pack(value))
        @test isequal(unpacked, value) && typeof(unpacked) == typeof(value) && !too_deep
    end
    @test isnan(first(unpack(pack(NaN))))
end

@testset "a map is written in the order in which it was read" begin
    for keys in (["b", "a", "c"], [3, "b", 2, "a"], string.(40:-1:1))
        data = pack(OrderedMap{Any,Any}(key => index for (index, key) in enumerate(keys)))
        @test pack(first(unpack(data))) == data
    end
    @test pack(first(unpack([0x82, 0xa1, 0x61, 0x01, 0xa1, 0x61, 0x02]))) == [0x81, 0xa1, 0x61, 0x02]
end

@testset "what isn't a value is an error" begin
    for data in (UInt8[], [0xc1], [0x92, 0x01], [0xa1], [0xa1, 0xff], [0x01, 0x02],
                 [0xdd, 0xff, 0xff, 0xff, 0xff], [0xdf, 0xff, 0xff, 0xff, 0xff, 0x01],
                 [0x81, 0x90, 0x01])
        @test thrown(() -> unpack(Vector{UInt8}(data))) isa MessagePackError
    end
end

@testset "a length that nothing bears out allocates nothing" begin
    data = [0x92; 0xc0; 0xdd; 0x7f; 0xff; 0xff; 0xff; zeros(UInt8, 1000)]
    thrown(() -> unpack(data))  # compiled
    @test @allocated(thrown(() -> unpack(data))) < 10^6
end

@testset "depth is bounded without recursion" begin
    @test unpack([0x91, 0x91, 0xc0], 2) == (Any[Any[nothing]], false)
    @test unpack([0x92, 0x91, 0x91, 0xc0, 0x05], 2) == (Any[Any[nothing], 5], true)
    @test last(unpack([fill(0x91, 200_000); 0xc0], 16))
end
