# The golden messages in Julia: what NAME.json describes, and whether the frames are that.
#
# `protocol/golden/README.md` says how the files are read.

"What the Julia runtime makes of golden messages, each the text of NAME.json and its frames."
golden(request) = [golden_case(case["text"], case["frames"]) for case in request["cases"]]

function golden_case(text, frames)
    said = RosettaWorker.Json.parse(text)
    known = said["outcome"] == "ignored" ? Set(keys(RosettaWorker.HANDLERS)) : nothing
    memory = haskey(said, "shared_memory") ? hex2bytes(said["shared_memory"]) : nothing
    header, arrays = try
        RosettaWorker.decode(Vector{Vector{UInt8}}(frames), known, memory)
    catch error
        error isa WireError || rethrow()
        return Dict("code" => error.code, "re" => error.re)
    end
    told = Dict{String,Any}("type" => header["type"], "id" => header["id"])
    told["array_count"] = length(arrays)
    told["is_written_again"] = map(bytes_of, RosettaWorker.encode(header, arrays)) == frames
    if haskey(said, "header")
        wanted = header_of(value_of(said["header"]))
        told["header_is_right"] = is_same(header, wanted)
    end
    if haskey(said, "arrays")
        named = Arrays([each["name"] => array_of(each) for each in said["arrays"]])
        told["arrays_are_right"] = is_same(arrays, named) && all(right_probe(arrays, probe)
            for probe in get(said, "probes", []))
        told["encoded"] = map(bytes_of, RosettaWorker.encode(wanted, named))
    end
    return told
end

"A header's value from the notation of the golden files."
function value_of(said)
    said isa Vector && return Any[value_of(each) for each in said]
    said isa AbstractDict || return said
    form, content = isempty(said) ? ("", nothing) : first(said)
    form == "\$integer" && return integer_of(content)
    form == "\$float64" && return parse(Float64, content)
    form == "\$float32" && return parse(Float32, content)
    form == "\$bin" && return hex2bytes(content)
    form == "\$ext" && return MessagePack.Extension(content[1], hex2bytes(content[2]))
    if form == "\$map"
        entries = [value_of(key) => value_of(element) for (key, element) in content]
        keys_are_texts = all(entry -> first(entry) isa String, entries)
        return OrderedMap{keys_are_texts ? String : Any,Any}(entries)
    end
    return Header(key => value_of(element) for (key, element) in said)
end

integer_of(text) = something(tryparse(Int64, text), tryparse(UInt64, text))

"A header without the keys that are no texts: they are unknown ones."
header_of(map) = Header(key => value for (key, value) in map if key isa String)

"An array from nested lists, whose innermost are the last axis: the first one here."
function array_of(said)
    T = RosettaWorker.DTYPES[said["dtype"]]
    flat = T[number_of(T, each) for each in flattened(said["values"])]
    return reshape(flat, Int.(reverse(said["shape"]))...)
end

flattened(values) = values isa Vector ? reduce(vcat, map(flattened, values); init = Any[]) : [values]

number_of(T, said) = said isa String ? parse(T, said) : T(said)

function right_probe(arrays, probe)
    array = RosettaWorker.lookup(arrays, probe["array"])
    return array[(reverse(probe["index"]) .+ 1)...] == probe["value"]
end

"Equal in value, type and order of keys; NaN is NaN, and -0.0 isn't 0.0."
is_same(a, b) = typeof(a) == typeof(b) && isequal(a, b)
is_same(a::Vector{Any}, b::Vector{Any}) = length(a) == length(b) && all(map(is_same, a, b))
is_same(a::Arrays, b::Arrays) = length(a) == length(b) && all(map(is_same, a, b))
is_same(a::Pair, b::Pair) = is_same(first(a), first(b)) && is_same(last(a), last(b))
is_same(a::OrderedMap, b::OrderedMap) =
    typeof(a) == typeof(b) && is_same(collect(Any, a), collect(Any, b))
