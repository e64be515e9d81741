# The `shm` plane: a file of the coordinator's, mapped read-only (protocol/SPEC.md, section 5).

using Mmap: Mmap

"Whether this system has files that the coordinator and its workers can share."
const HAS_SHARED_MEMORY = Sys.islinux()

"Arrays begin at multiples of so many bytes."
const ALIGNMENT_BYTES = 64

"""
    attach(described, re) -> Vector{UInt8}

The mapped file that WELCOME's `shm` describes. Throws `WireError`.
"""
function attach(described, re::Int)
    described isa AbstractDict || throw(WireError("bad_header", "`shm` is not a map", re))
    path, size = get(described, "path", nothing), get(described, "size_bytes", nothing)
    if !(path isa String) || !is_number(size) || size == 0
        throw(WireError("bad_header", "`shm` lacks `path` or `size_bytes`", re))
    end
    unusable(words) = throw(WireError("unsupported", "shared memory at '$path': $words", re))
    try
        return open(path, "r") do file
            filesize(file) >= size || unusable("the file is shorter than $size bytes")
            Mmap.mmap(file, Vector{UInt8}, size; grow = false)
        end
    catch error
        error isa Union{SystemError,Base.IOError,ArgumentError} || rethrow()
        unusable(describe(error))
    end
end

"""
    shared_array(memory, offset, name, type, shape, re)

The array of that type and shape (on the wire) at `offset` in `memory`, without a copy: it holds
other values when the message has been answered. Throws `WireError` where it can't be.
"""
function shared_array(memory, offset, name::String, type::DataType, shape::Vector{Int}, re::Int)
    bad(sentence, code = "bad_frames") = throw(WireError(code, "array '$name' $sentence", re))
    if !is_number(offset) || offset % ALIGNMENT_BYTES != 0
        bad("has offset_bytes $(shown(offset))", "bad_header")
    end
    memory === nothing && bad("is in shared memory, and this session has none")
    stop = reduce(*, shape; init = big(sizeof(type))) + offset
    stop <= length(memory) || bad("ends at byte $stop of a shared memory of $(length(memory))")
    return unsafe_wrap(Array, Ptr{type}(pointer(memory, offset + 1)), Tuple(reverse(shape)))
end

"""
    owned(arrays, memory) -> Dict

The arrays by name, as a backend may keep and change them: those in the shared `memory` are copied.
"""
function owned(arrays::Arrays, memory)
    kept(array) = is_within(array, memory) ? copy(array) : array
    return Dict{String,Array{Float32}}(name => kept(array) for (name, array) in arrays)
end

is_within(array::Array, ::Nothing) = false
is_within(array::Array, memory::Vector{UInt8}) =
    UInt(pointer(array)) - UInt(pointer(memory)) < length(memory)  # never negative: it wraps
