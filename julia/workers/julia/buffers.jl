# Arrays that are used again from step to step.

"""
    Buffer{T,N}()

Memory for one array that a layer fills in every step.

A step of a convolutional network fills more than a hundred megabytes. Fresh arrays for them would
keep the garbage collector busy, and each page of them would be cleared by the operating system
first.
"""
mutable struct Buffer{T,N}
    memory::Vector{T}
    array::Array{T,N}
    Buffer{T,N}() where {T,N} = new(T[], Array{T,N}(undef, ntuple(_ -> 0, N)))
end

"""
    sized!(buffer, dims...) -> Array{T,N}

The buffer's array, of size `dims`, with arbitrary values. It is the same array as before where the
size is; a smaller one (the last, short batch of an epoch) lies in the larger one's memory. Whatever
was returned earlier for another size must not be used any more.
"""
function sized!(buffer::Buffer{T,N}, dims::Vararg{Int,N}) where {T,N}
    size(buffer.array) == dims && return buffer.array
    if prod(dims) > length(buffer.memory)
        buffer.memory = Vector{T}(undef, prod(dims))
    end
    # A plain Array, on which every loop and product is as fast as on any other, unlike a reshaped
    # view. `buffer.memory` keeps its memory alive.
    buffer.array = unsafe_wrap(Array, pointer(buffer.memory), dims)
    return buffer.array
end
