"""
A strict reader of JSON (RFC 8259), for the connection file: the standard library has none.

Objects become `OrderedMap{String,Any}` (a key that comes twice has the value that comes last),
arrays `Vector{Any}`, integers that fit `Int64`, all other numbers `Float64`, null `nothing`.
"""
module Json

using ..OrderedMaps: OrderedMap

const MAX_DEPTH = 64

"The text isn't JSON; one sentence."
struct JsonError <: Exception
    sentence::String
end

Base.showerror(io::IO, error::JsonError) = print(io, error.sentence)

mutable struct Reader
    text::String
    position::Int  # byte index of the next character
end

"The value that `text` holds. Throws `JsonError`."
function parse(text::AbstractString)
    isvalid(text) || throw(JsonError("not valid UTF-8"))
    reader = Reader(text, 1)
    value = read_value(reader, 1)
    skip_space(reader)
    at_end(reader) || fail(reader, "something behind the value")
    return value
end

fail(reader::Reader, what) = throw(JsonError("not JSON: $what at byte $(reader.position)"))

at_end(reader::Reader) = reader.position > ncodeunits(reader.text)

"The next byte, or 0 at the end. All that JSON has a meaning for is ASCII."
peek(reader::Reader) = at_end(reader) ? 0x00 : codeunit(reader.text, reader.position)

function skip_space(reader::Reader)
    while Char(peek(reader)) in (' ', '\t', '\n', '\r')
        reader.position += 1
    end
end

"Whether the next character is `wanted`, which is then passed over."
function accept(reader::Reader, wanted::Char)
    found = peek(reader) == UInt8(wanted)
    reader.position += found
    return found
end

expect(reader::Reader, wanted::Char) =
    accept(reader, wanted) || fail(reader, "no '$wanted'")

function read_value(reader::Reader, depth::Int)
    depth > MAX_DEPTH && fail(reader, "nested deeper than $MAX_DEPTH")
    skip_space(reader)
    byte = Char(peek(reader))
    byte == '{' && return read_object(reader, depth)
    byte == '[' && return read_array(reader, depth)
    byte == '"' && return read_text(reader)
    byte == '-' || isdigit(byte) || return read_word(reader)
    return read_number(reader)
end

function read_object(reader::Reader, depth::Int)
    object = OrderedMap{String,Any}()
    read_members(reader, '{', '}') do
        skip_space(reader)
        key = read_text(reader)
        skip_space(reader)
        expect(reader, ':')
        object[key] = read_value(reader, depth + 1)
    end
    return object
end

function read_array(reader::Reader, depth::Int)
    array = Any[]
    read_members(() -> push!(array, read_value(reader, depth + 1)), reader, '[', ']')
    return array
end

"Call `member` for each of the members between brackets, which commas part."
function read_members(member, reader::Reader, opening::Char, closing::Char)
    expect(reader, opening)
    skip_space(reader)
    accept(reader, closing) && return
    while true
        member()
        skip_space(reader)
        accept(reader, closing) && return
        expect(reader, ',')
    end
end

function read_word(reader::Reader)
    for (word, value) in ("true" => true, "false" => false, "null" => nothing)
        if startswith(SubString(reader.text, reader.position), word)
            reader.position += length(word)
            return value
        end
    end
    fail(reader, at_end(reader) ? "the end" : "no value")
end

function read_number(reader::Reader)
    found = match(r"\G-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", reader.text,
                  reader.position)
    found === nothing && fail(reader, "no number")
    reader.position += ncodeunits(found.match)
    if found[1] === nothing && found[2] === nothing
        number = tryparse(Int64, found.match)
        number === nothing || return number
    end
    number = tryparse(Float64, found.match)
    number === nothing && fail(reader, "a number out of range")
    return number
end

const ESCAPES = Dict('"' => '"', '\\' => '\\', '/' => '/', 'b' => '\b', 'f' => '\f', 'n' => '\n',
                     'r' => '\r', 't' => '\t')

function read_text(reader::Reader)
    expect(reader, '"')
    text = IOBuffer()
    while true
        byte = peek(reader)
        byte < 0x20 && fail(reader, at_end(reader) ? "the end of a text" : "a control character")
        reader.position += 1
        byte == UInt8('"') && return String(take!(text))
        byte == UInt8('\\') ? print(text, read_escape(reader)) : write(text, byte)
    end
end

"The character that stands behind a backslash."
function read_escape(reader::Reader)
    letter = Char(peek(reader))
    haskey(ESCAPES, letter) || letter == 'u' || fail(reader, "no such escape")
    reader.position += 1
    letter == 'u' || return ESCAPES[letter]
    unit = read_hexadecimal(reader)
    if unit in 0xd800:0xdbff && accept(reader, '\\')
        expect(reader, 'u')
        low = read_hexadecimal(reader)
        low in 0xdc00:0xdfff || fail(reader, "half of a surrogate pair")
        return Char(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    end
    unit in 0xd800:0xdfff && fail(reader, "half of a surrogate pair")
    return Char(unit)
end

function read_hexadecimal(reader::Reader)
    found = match(r"\G[0-9a-fA-F]{4}", reader.text, reader.position)
    found === nothing && fail(reader, "no four hexadecimal digits")
    reader.position += 4
    return Base.parse(UInt32, found.match; base = 16)
end

end
