# Layers without parameters that don't mix elements: scaled pixels, relu, flatten.

"""
    Scale{T,N}(factor)

Pixels of any size, uint8 or float32, to `T`, times `factor`. Not a layer of the task's: its `input`
table says it.
"""
struct Scale{T,N} <: Layer{T}
    factor::T
    y::Buffer{T,N}
end

Scale{T,N}(factor::Real) where {T,N} = Scale{T,N}(convert(T, factor), Buffer{T,N}())

function forward!(layer::Scale, pixels, training::Bool)
    y = sized!(layer.y, size(pixels)...)
    @inbounds @simd for i in eachindex(y, pixels)
        y[i] = pixels[i] * layer.factor
    end
    return y
end

"""
    Relu

y = max(x, 0), in place: no layer in front of it needs its own output for its derivative. The
derivative at exactly 0 is taken as 0, as every framework does.
"""
mutable struct Relu{T,N} <: Layer{T}
    y::Array{T,N}
end

Relu(spec, shape::NTuple{M,Int}, ::Source{T}) where {M,T} =
    Relu{T,M + 1}(Array{T,M + 1}(undef, ntuple(_ -> 0, M + 1)))

function forward!(layer::Relu{T,N}, x::Array{T,N}, training::Bool) where {T,N}
    layer.y = x
    in_parts(length(x); least = LONG_LOOP) do _, range
        @inbounds @simd for i in range
            x[i] = ifelse(x[i] < 0, zero(T), x[i])  # lets NaN through
        end
    end
    return x
end

function input_gradient!(layer::Relu{T,N}, dy::Array{T,N}) where {T,N}
    y = layer.y
    in_parts(length(dy); least = LONG_LOOP) do _, range
        @inbounds @simd ivdep for i in range
            dy[i] = ifelse(y[i] > 0, dy[i], zero(T))
        end
    end
    return dy
end

"""
    Flatten

Each sample as one vector. Columns lie closest to each other, then rows, then channels, which is the
task's order: channels, then rows, then columns, the last varying fastest.
"""
struct Flatten{T,M} <: Layer{T}
    shape::NTuple{M,Int}
end

Flatten(spec, shape::NTuple{M,Int}, ::Source{T}) where {M,T} = Flatten{T,M}(shape)
output_shape(layer::Flatten, shape) = (prod(shape),)
forward!(::Flatten, x, training::Bool) = as_matrix(x)
input_gradient!(layer::Flatten, dy) = reshape(dy, layer.shape..., size(dy, 2))
