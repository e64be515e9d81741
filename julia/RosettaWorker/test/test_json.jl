@testset "values" begin
    text = """ {"a": [1, -2.5e2, true, false, null],
        "b\\u00e4": "\\ud83d\\ude00\\n\\/", "a ": {}} """
    @test Json.parse(text) == Dict(
        "a" => Any[1, -250.0, true, false, nothing], "bä" => "😀\n/", "a " => Dict{String,Any}())
    @test Json.parse("9223372036854775807") === typemax(Int64)
    @test Json.parse("9223372036854775808") === 2.0^63
    @test Json.parse("""{"a": 1, "a": 2}""") == Dict("a" => 2)
end

@testset "what isn't JSON is an error with its place" begin
    @test thrown(() -> Json.parse("[1 2]")).sentence == "not JSON: no ',' at byte 4"
    @test thrown(() -> Json.parse("")).sentence == "not JSON: the end at byte 1"
    @test thrown(() -> Json.parse("\xff")).sentence == "not valid UTF-8"
    @test thrown(() -> Json.parse("[" ^ 65 * "]" ^ 65)) isa Json.JsonError
end
