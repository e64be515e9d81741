"""
MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md) with the standard library only.

| msgpack | Julia, when read | written from |
|---|---|---|
| nil, boolean | `Nothing`, `Bool` | the same |
| integer of any width | `Int64`; `UInt64` from 2^63 on | `Integer`, in the shortest form |
| float 32, float 64 | `Float32`, `Float64` | the same |
| str | `String`, of valid UTF-8 | `AbstractString` |
| bin | `Vector{UInt8}` | the same |
| array | `Vector{Any}` | any other `AbstractVector` |
| map | `OrderedMap{String,Any}`; `OrderedMap{Any,Any}` with a key that isn't a text | `AbstractDict`, in its order |
| ext | `Extension` | the same |

A key that comes twice has the value that comes last. What is read and written again has the same
bytes, unless a length or an integer wasn't in its shortest form or a key came twice.
"""
module MessagePack

using ..OrderedMaps: OrderedMap

"The bytes aren't one msgpack value; one sentence."
struct MessagePackError <: Exception
    sentence::String
end

Base.showerror(io::IO, error::MessagePackError) = print(io, error.sentence)

"A value of a type that an application has defined, left as it is."
struct Extension
    code::Int8
    data::Vector{UInt8}
end

Base.:(==)(a::Extension, b::Extension) = a.code == b.code && a.data == b.data
Base.hash(a::Extension, h::UInt) = hash(a.data, hash(a.code, h))

# --- reading --------------------------------------------------------------------------------------

mutable struct Reader
    data::Vector{UInt8}
    position::Int  # of the next byte
    max_depth::Int
    too_deep::Bool
end

"""
    unpack(data, max_depth = typemax(Int)) -> (value, too_deep)

The one value that `data` holds. An array or map that is nested deeper than `max_depth` is passed
over, its place is taken by `nothing`, and `too_deep` is true. Nothing is allocated in proportion to
a length that the data don't bear out. Throws `MessagePackError`.
"""
function unpack(data::Vector{UInt8}, max_depth::Integer = typemax(Int))
    reader = Reader(data, 1, max_depth, false)
    value = read_value(reader, 1)
    left = remaining(reader)
    left == 0 || throw(MessagePackError("$left bytes behind the value"))
    return value, reader.too_deep
end

remaining(reader::Reader) = length(reader.data) - reader.position + 1

"What the first byte of a value says: `kind`, and `count` bytes or elements, or the value itself."
struct Head
    kind::Symbol
    count::Int
    value::Any
end

scalar(value) = Head(:scalar, 0, value)

function read_value(reader::Reader, depth::Int)
    head = read_head(reader)
    head.kind === :scalar && return head.value
    head.kind === :str && return read_text(reader, head.count)
    head.kind === :bin && return take(reader, head.count)
    head.kind === :ext && return Extension(read_number(reader, Int8), take(reader, head.count))
    if depth > reader.max_depth
        reader.too_deep = true
        return skip_children(reader, head)
    end
    head.kind === :array && return read_array(reader, head.count, depth)
    return read_map(reader, head.count, depth)
end

function read_head(reader::Reader)
    byte = read_number(reader, UInt8)
    byte <= 0x7f && return scalar(Int64(byte))
    byte <= 0x8f && return Head(:map, byte & 0x0f, nothing)
    byte <= 0x9f && return Head(:array, byte & 0x0f, nothing)
    byte <= 0xbf && return Head(:str, byte & 0x1f, nothing)
    byte >= 0xe0 && return scalar(Int64(reinterpret(Int8, byte)))
    byte == 0xc0 && return scalar(nothing)
    byte == 0xc1 && throw(MessagePackError("the byte c1 begins no value"))
    byte <= 0xc3 && return scalar(byte == 0xc3)
    byte <= 0xc6 && return Head(:bin, read_length(reader, byte - 0xc4), nothing)
    byte <= 0xc9 && return Head(:ext, read_length(reader, byte - 0xc7), nothing)
    byte == 0xca && return scalar(read_number(reader, Float32))
    byte == 0xcb && return scalar(read_number(reader, Float64))
    byte <= 0xd3 && return scalar(widened(read_number(reader, INTEGERS[byte - 0xcb])))
    byte <= 0xd8 && return Head(:ext, 1 << (byte - 0xd4), nothing)
    byte <= 0xdb && return Head(:str, read_length(reader, byte - 0xd9), nothing)
    byte <= 0xdd && return Head(:array, read_length(reader, byte - 0xdb), nothing)
    return Head(:map, read_length(reader, byte - 0xdd), nothing)
end

const INTEGERS = (UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64)
const LENGTHS = (UInt8, UInt16, UInt32)

"A length in 1, 2 or 4 bytes for `width` 0, 1 or 2."
read_length(reader::Reader, width::Integer) = Int(read_number(reader, LENGTHS[width + 1]))

widened(number::UInt64) = number > typemax(Int64) ? number : Int64(number)
widened(number::Integer) = Int64(number)

function read_number(reader::Reader, ::Type{T}) where {T}
    require(reader, sizeof(T))
    data, position = reader.data, reader.position
    number = GC.@preserve data unsafe_load(Ptr{T}(pointer(data, position)))
    reader.position += sizeof(T)
    return ntoh(number)
end

function take(reader::Reader, count::Int)
    require(reader, count)
    bytes = reader.data[reader.position:reader.position + count - 1]
    reader.position += count
    return bytes
end

function read_text(reader::Reader, count::Int)
    text = String(take(reader, count))
    isvalid(text) || throw(MessagePackError("a text is not valid UTF-8"))
    return text
end

function read_array(reader::Reader, count::Int, depth::Int)
    require(reader, count)  # each element has at least a byte
    return Any[read_value(reader, depth + 1) for _ in 1:count]
end

function read_map(reader::Reader, count::Int, depth::Int)
    require(reader, 2 * count)
    map = OrderedMap{String,Any}()
    for _ in 1:count
        key = read_value(reader, depth + 1)
        key isa Union{AbstractDict,Vector{Any}} && throw(MessagePackError("a key is a container"))
        key isa String || map isa OrderedMap{Any,Any} || (map = OrderedMap{Any,Any}(map))
        map[key] = read_value(reader, depth + 1)
    end
    return map
end

"Pass over what a container holds, however deep it is, without recursion."
function skip_children(reader::Reader, head::Head)
    left = children(head)
    while left > 0
        head = read_head(reader)
        head.kind === :ext && read_number(reader, Int8)
        if head.kind in (:str, :bin, :ext)
            require(reader, head.count)
            reader.position += head.count
        end
        left += children(head) - 1
    end
    return nothing
end

children(head::Head) =
    head.kind === :array ? head.count : head.kind === :map ? 2 * head.count : 0

function require(reader::Reader, count::Int)
    count <= remaining(reader) || throw(MessagePackError("it ends in the middle of a value"))
    return
end

# --- writing --------------------------------------------------------------------------------------

"The bytes of `value`, every length and integer in its shortest form."
function pack(value)
    io = IOBuffer()
    write_value(io, value)
    return take!(io)
end

write_value(io::IO, ::Nothing) = write(io, 0xc0)
write_value(io::IO, value::Bool) = write(io, value ? 0xc3 : 0xc2)
write_value(io::IO, value::Float32) = write(io, 0xca, hton(value))
write_value(io::IO, value::Float64) = write(io, 0xcb, hton(value))

function write_value(io::IO, value::Integer)
    0 <= value <= 0x7f && return write(io, UInt8(value))
    -32 <= value < 0 && return write(io, Int8(value))
    candidates = value >= 0 ? (1, 2, 3, 4) : (5, 6, 7, 8)
    for candidate in candidates
        T = INTEGERS[candidate]
        if typemin(T) <= value <= typemax(T)
            return write(io, UInt8(0xcb + candidate), hton(T(value)))
        end
    end
    throw(MessagePackError("the integer $value has more than 64 bits"))
end

function write_value(io::IO, value::AbstractString)
    text = String(value)
    write_length(io, sizeof(text), 0xa0 => 32, (0xd9, 0xda, 0xdb))
    write(io, text)
end

function write_value(io::IO, value::Vector{UInt8})
    write_length(io, length(value), 0xc4 => 0, (0xc4, 0xc5, 0xc6))
    write(io, value)
end

function write_value(io::IO, value::Extension)
    count = length(value.data)
    if count in (1, 2, 4, 8, 16)
        write(io, UInt8(0xd4 + trailing_zeros(count)))
    else
        write_length(io, count, 0xc7 => 0, (0xc7, 0xc8, 0xc9))
    end
    write(io, value.code, value.data)
end

function write_value(io::IO, value::AbstractVector)
    write_length(io, length(value), 0x90 => 16, (nothing, 0xdc, 0xdd))
    foreach(element -> write_value(io, element), value)
end

function write_value(io::IO, value::AbstractDict)
    write_length(io, length(value), 0x80 => 16, (nothing, 0xde, 0xdf))
    for (key, element) in value
        write_value(io, key)
        write_value(io, element)
    end
end

"""
The first byte and the length of a value: together in one byte `tag + count` below a limit, or else
one of three tags (8, 16 or 32 bits; the first may be missing) with the length behind it.
"""
function write_length(io::IO, count::Int, (tag, limit)::Pair, tags)
    count < limit && return write(io, UInt8(tag + count))
    for (candidate, T) in zip(tags, LENGTHS)
        candidate === nothing && continue
        count <= typemax(T) && return write(io, candidate, hton(T(count)))
    end
    throw(MessagePackError("a value of $count bytes or elements is too long"))
end

end
