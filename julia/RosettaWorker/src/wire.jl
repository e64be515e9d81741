# Headers and arrays to and from frames (protocol/SPEC.md, sections 3 to 5).
#
# An array has the axes of the wire in reversed order: C-order bytes of (N, C, H, W) are Julia's
# W × H × C × N without a copy. Elements on the wire are little-endian, as is every machine that
# Julia runs on.

const MAX_HEADER_BYTES = 256 * 1024
const MAX_HEADER_DEPTH = 16
const MAX_FRAMES = 4096
const MAX_FRAME_BYTES = 2^31
const MAX_DIMENSIONS = 8
const MAX_TEXT = 4096
const MAX_WORD = 256
const MAX_MAP = 256

const DTYPES = Dict{String,DataType}(
    "uint8" => UInt8, "int32" => Int32, "int64" => Int64, "float32" => Float32,
    "float64" => Float64,
)
const DTYPE_NAMES = Dict{DataType,String}(type => name for (name, type) in DTYPES)

"A header, or a map in one: its keys are in the order in which they stand on the wire."
const Header = OrderedMap{String,Any}

"Arrays by name, in the order of the message."
const Arrays = Vector{Pair{String,Array}}

"A message that can't be used. `code` is one of the spec's; `re` the message's id, when known."
struct WireError <: Exception
    code::String
    sentence::String
    re::Union{Int,Nothing}
end

Base.showerror(io::IO, error::WireError) = print(io, error.code, ": ", error.sentence)

"`value` as a text that fits a header: within `limit` characters, and valid UTF-8."
text(value, limit::Integer = MAX_TEXT) =
    String(first(map(c -> isvalid(c) ? c : '?', string(value)), limit))

"A map of texts that fits a header, whatever a backend put into it."
texts(values) = Dict{String,String}(
    text(key, MAX_WORD) => text(value)
    for (key, value) in Iterators.take(pairs(values), MAX_MAP)
)

"The array of that name, or nothing."
function lookup(arrays::Arrays, name::AbstractString)
    position = findfirst(pair -> first(pair) == name, arrays)
    return position === nothing ? nothing : last(arrays[position])
end

"Lengths of an array's axes on the wire."
wire_shape(array::Array) = collect(Int, reverse(size(array)))

dtype_of(array::Array) = DTYPE_NAMES[eltype(array)]

# --- writing --------------------------------------------------------------------------------------

"Frames of a message; `arrays` adds its description to the header under `arrays`."
function encode(header::Header, arrays::Arrays)
    if !isempty(arrays)
        described = [
            Header("name" => name, "dtype" => dtype_of(array), "shape" => wire_shape(array))
            for (name, array) in arrays
        ]
        header = merge(header, Header("arrays" => described))
    end
    frames = Array[MessagePack.pack(header)]
    foreach(pair -> push!(frames, last(pair)), arrays)
    return frames
end

# --- reading --------------------------------------------------------------------------------------

# Where the bytes of an array are: a frame that libzmq holds, or bytes that were read from a tape.
# A source has a `length` in bytes and `copy_bytes!`.

"Fill `array`, which has as many bytes as `source`, with the bytes of `source`."
copy_bytes!(array::Array, source::Zmq.Frame) = Zmq.copy_bytes!(array, source)

function copy_bytes!(array::Array, source::Vector{UInt8})
    GC.@preserve array source begin
        unsafe_copyto!(Ptr{UInt8}(pointer(array)), pointer(source), length(source))
    end
    return array
end

"""
    decode(frames, known = nothing, memory = nothing) -> (header, arrays)

Header and arrays of a message; those that were frames are the caller's own, copied once, and those
in the session's shared `memory` are left where they are. Throws `WireError`. With `known`, a set of
types, the frames of a message of any other type aren't looked at: it will be ignored, and a later
version's may follow rules that aren't ours.
"""
function decode(frames::AbstractVector, known = nothing, memory = nothing)
    if !(1 <= length(frames) <= MAX_FRAMES)
        sentence = "$(length(frames)) frames: a message has 1 to $MAX_FRAMES"
        throw(WireError("bad_frames", sentence, nothing))
    end
    header = decode_header(frames[1])
    if known !== nothing && !(header["type"] in known)
        return header, Arrays()
    end
    return header, decode_arrays(header, view(frames, 2:length(frames)), memory)
end

function decode_header(source)
    bad(sentence, re = nothing) = throw(WireError("bad_header", sentence, re))
    if length(source) > MAX_HEADER_BYTES
        bad("header of $(length(source)) bytes: at most $MAX_HEADER_BYTES")
    end
    data = copy_bytes!(Vector{UInt8}(undef, length(source)), source)
    header, too_deep = try
        MessagePack.unpack(data, MAX_HEADER_DEPTH)
    catch error
        error isa MessagePack.MessagePackError || rethrow()
        bad("header is not msgpack: $(error.sentence)")
    end
    header isa AbstractDict || bad("header is $(kind_of(header)), not a map")
    number = get(header, "id", nothing)
    re = is_number(number) ? number : nothing
    if !(get(header, "type", nothing) isa String) || re === nothing
        bad("header lacks `type` (text) or `id` (integer)", re)
    end
    too_deep && bad("header is nested deeper than $MAX_HEADER_DEPTH", re)
    # Keys that aren't texts are a later version's, and so unknown.
    return Header(key => value for (key, value) in header if key isa String)
end

function decode_arrays(header::Header, frames::AbstractVector, memory)
    re = header["id"]
    described = get(header, "arrays", Any[])
    described isa Vector{Any} || throw(WireError("bad_header", "`arrays` is not a list", re))
    expected = count(description -> offset_of(description) === nothing, described)
    if expected != length(frames)
        counts = "describes $expected arrays and has $(length(frames))"
        throw(WireError("bad_frames", "$(header["type"]) $counts", re))
    end
    arrays, names, left = Arrays(), Set{String}(), Iterators.Stateful(frames)
    for description in described
        name, type, shape = read_description(description, re)
        name in names && throw(WireError("bad_frames", "array '$name' comes twice", re))
        push!(names, name)
        offset = offset_of(description)
        array = if offset === nothing
            read_array(name, type, shape, popfirst!(left), re)
        else
            shared_array(memory, offset, name, type, shape, re)
        end
        push!(arrays, name => array)
    end
    return arrays
end

"Where an array lies in shared memory; nothing for one that is a frame."
offset_of(description) =
    description isa AbstractDict ? get(description, "offset_bytes", nothing) : nothing

"(name, element type, shape on the wire) of an array."
function read_description(description, re::Int)
    bad(sentence) = throw(WireError("bad_header", sentence, re))
    if !(description isa AbstractDict) || !(get(description, "name", nothing) isa String)
        bad("an array's description lacks `name`")
    end
    name = description["name"]
    dtype, shape = get(description, "dtype", nothing), get(description, "shape", nothing)
    haskey(DTYPES, dtype) || bad("array '$name' has dtype $(shown(dtype))")
    if !(shape isa Vector{Any}) || length(shape) > MAX_DIMENSIONS || !all(is_length, shape)
        bad("array '$name' has shape $(shown(shape))")
    end
    return name, DTYPES[dtype], Vector{Int}(shape)
end

"The array of that type and shape whose bytes are `source`. Nothing is allocated before both agree."
function read_array(name::String, type::DataType, shape::Vector{Int}, source, re::Int)
    expected = reduce(*, shape; init = big(sizeof(type)))
    if expected != length(source)
        described = "$(DTYPE_NAMES[type]) $(shown(shape))"
        counts = "takes $expected bytes, its frame has $(length(source))"
        throw(WireError("bad_frames", "array '$name' ($described) $counts", re))
    end
    if reduce(*, filter(!iszero, shape); init = big(sizeof(type))) > typemax(Int)
        throw(WireError("bad_frames", "array '$name': $(shown(shape)) is too big", re))
    end
    return copy_bytes!(Array{type}(undef, reverse(shape)...), source)
end

"True for what can be an `id` or a `step`: larger ones are of the type `UInt64`."
is_number(value) = value isa Int && value >= 0

is_length(value) = is_number(value) && value <= MAX_FRAME_BYTES

# --- values of a header in sentences --------------------------------------------------------------

"The specification's word for the type of a header's value."
kind_of(::Nothing) = "nil"
kind_of(::Bool) = "boolean"
kind_of(::Integer) = "integer"
kind_of(::AbstractFloat) = "float"
kind_of(::AbstractString) = "text"
kind_of(::AbstractDict) = "map"
kind_of(::Vector{UInt8}) = "binary"
kind_of(::AbstractVector) = "list"
kind_of(::Any) = "extension"

"A header's value as it is named in a sentence."
shown(value::Union{Bool,Integer,AbstractFloat}) = string(value)
shown(value::AbstractString) = "'$value'"
shown(value::Vector{UInt8}) = "binary"
shown(value::AbstractVector) = "[" * join(map(shown, value), ", ") * "]"
shown(value) = kind_of(value)
