using RosettaWorker: OrderedMap

@testset "keys stand in the order in which they first came" begin
    map = OrderedMap{String,Any}("b" => 1, "a" => 2)
    map["c"] = 3
    map["b"] = 4
    @test collect(map) == ["b" => 4, "a" => 2, "c" => 3]
    @test collect(keys(map)) == ["b", "a", "c"] && collect(values(map)) == [4, 2, 3]
    @test length(map) == 3 && !isempty(map) && isempty(OrderedMap{String,Any}())
end

@testset "it is a dictionary in all else" begin
    map = OrderedMap{String,Any}("x" => nothing, "y" => [1])
    @test map == Dict("y" => [1], "x" => nothing) && map != Dict("x" => nothing)
    @test haskey(map, "x") && !haskey(map, "z") && get(map, "z", 7) == 7
    @test map["y"] == [1] && thrown(() -> map["z"]) isa KeyError
    @test OrderedMap{Any,Any}(map) == map && Dict(map) == map
end

@testset "what is made from it is in order, and apart from it" begin
    map = OrderedMap{String,Any}("b" => 1, "a" => 2)
    merged = merge(map, Dict("b" => 3), Dict("0" => 4))
    @test merged isa OrderedMap{String,Any} && collect(merged) == ["b" => 3, "a" => 2, "0" => 4]
    copied = copy(map)
    copied["z"] = 0
    @test collect(keys(copied)) == ["b", "a", "z"] && collect(map) == ["b" => 1, "a" => 2]
end
