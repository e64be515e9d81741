"""
    MaxPool

The largest value of each window, without padding: x column × row × channel × sample. Where several
elements of a window are equally large, the first in reading order (row by row) gets the whole
gradient, as in PyTorch.

The window's size and the stride are in the type, so that the compiler unrolls the loops over a
window.
"""
mutable struct MaxPool{T,Window,Stride} <: Layer{T}
    x_size::NTuple{4,Int}
    winner::Buffer{Int32,4}  # the largest element's place in its channel, counted from 1
    y::Buffer{T,4}
    dx::Buffer{T,4}
end

function MaxPool(spec, shape::NTuple{3,Int}, ::Source{T}) where {T}
    layer = MaxPool{T,Int(spec["size"]),Int(spec["stride"])}(
        (0, 0, 0, 0), Buffer{Int32,4}(), Buffer{T,4}(), Buffer{T,4}(),
    )
    all(output_shape(layer, shape) .> 0) ||
        throw(ArgumentError("layer $(spec["name"]): the window is larger than the image"))
    return layer
end

function output_shape(::MaxPool{T,Window,Stride}, shape) where {T,Window,Stride}
    places(length) = fld(length - Window, Stride) + 1
    return (places(shape[1]), places(shape[2]), shape[3])
end

function forward!(layer::MaxPool{T}, x::Array{T,4}, training::Bool) where {T}
    layer.x_size = size(x)
    dims = (output_shape(layer, size(x)[1:3])..., size(x, 4))
    y, winner = sized!(layer.y, dims...), sized!(layer.winner, dims...)
    in_parts(size(x, 3) * size(x, 4)) do _, planes
        for plane in planes
            pool_plane!(layer, y, winner, x, plane)
        end
    end
    return y
end

"Pool one channel of one sample, the `plane`th of all."
function pool_plane!(::MaxPool{T,Window,Stride}, y, winner, x, plane) where {T,Window,Stride}
    width, (columns, rows) = size(x, 1), size(y)
    before, i = width * size(x, 2) * (plane - 1), columns * rows * (plane - 1)
    @inbounds for row in 0:rows - 1, column in 0:columns - 1
        corner = Stride * (width * row + column) + 1
        largest, place = x[before + corner], corner
        for down in 0:Window - 1, across in 0:Window - 1
            here = corner + width * down + across
            value = x[before + here]
            # Strictly: the first of equals stays. NaN, which compares as false, wins.
            larger = (value > largest) | (value != value)
            largest = ifelse(larger, value, largest)
            place = ifelse(larger, here, place)
        end
        i += 1
        y[i] = largest
        winner[i] = place % Int32
    end
    return nothing
end

function input_gradient!(layer::MaxPool{T}, dy::Array{T,4}) where {T}
    dx, winner = sized!(layer.dx, layer.x_size...), layer.winner.array
    pixels, places = size(dx, 1) * size(dx, 2), size(dy, 1) * size(dy, 2)
    in_parts(size(dx, 3) * size(dx, 4)) do _, planes
        for plane in planes
            before, before_y = pixels * (plane - 1), places * (plane - 1)
            clear!(dx, before + 1:before + pixels)
            @inbounds for i in before_y + 1:before_y + places
                dx[before + winner[i]] += dy[i]
            end
        end
    end
    return dx
end

"""
    PaddedMaxPool

The largest value of each window, of which `padding` columns and rows around the image are left
out; forward only.
"""
struct PaddedMaxPool{T} <: Layer{T}
    window::Int
    stride::Int
    padding::Int
    y::Buffer{T,4}
end

function PaddedMaxPool(spec, shape::NTuple{3,Int}, ::Source{T}) where {T}
    0 <= 2spec["padding"] <= spec["size"] || throw(ArgumentError(
        "layer $(spec["name"]): a window of padding alone has no largest value",
    ))
    return PaddedMaxPool{T}(spec["size"], spec["stride"], spec["padding"], Buffer{T,4}())
end

function output_shape(layer::PaddedMaxPool, shape)
    places(length) = fld(length + 2layer.padding - layer.window, layer.stride) + 1
    return (places(shape[1]), places(shape[2]), shape[3])
end

function forward!(layer::PaddedMaxPool{T}, x::Array{T,4}, training::Bool) where {T}
    y = sized!(layer.y, output_shape(layer, size(x)[1:3])..., size(x, 4))
    in_parts(size(x, 3) * size(x, 4)) do _, planes
        for plane in planes
            pool_plane!(layer, y, x, plane)
        end
    end
    return y
end

function pool_plane!(layer::PaddedMaxPool, y, x, plane)
    (width, height), (columns, rows) = size(x), size(y)
    before, i = width * height * (plane - 1), columns * rows * (plane - 1)
    @inbounds for row in 0:rows - 1
        lines = window(layer, row, height)
        for column in 0:columns - 1
            places = window(layer, column, width)
            largest = x[before + width * first(lines) + first(places) + 1]
            for line in lines, place in places
                value = x[before + width * line + place + 1]
                largest = ifelse((value > largest) | (value != value), value, largest)
            end
            i += 1
            y[i] = largest
        end
    end
    return nothing
end

"The places (from 0) along an axis of the image that a window covers."
function window(layer::PaddedMaxPool, number::Int, length::Int)
    from = layer.stride * number - layer.padding
    return max(from, 0):min(from + layer.window, length) - 1
end

"""
    GlobalAveragePool

The mean of each channel: x column × row × channel × sample, y channel × sample; forward only.
"""
struct GlobalAveragePool{T} <: Layer{T}
    y::Buffer{T,2}
end

GlobalAveragePool(spec, shape::NTuple{3,Int}, ::Source{T}) where {T} =
    GlobalAveragePool{T}(Buffer{T,2}())

output_shape(::GlobalAveragePool, shape) = (shape[3],)

function forward!(layer::GlobalAveragePool{T}, x::Array{T,4}, training::Bool) where {T}
    y, pixels = sized!(layer.y, size(x, 3), size(x, 4)), size(x, 1) * size(x, 2)
    for plane in eachindex(y)
        total = zero(T)
        @inbounds @simd for i in pixels * (plane - 1) + 1:pixels * plane
            total += x[i]
        end
        y[plane] = total / pixels
    end
    return y
end
