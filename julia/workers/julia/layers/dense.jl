"""
    Dense

y = weightᵀ · x + bias: x feature × sample, y unit × sample, weight feature × unit, bias unit. With
dy the gradient of the loss by y:

    dweight = x · dyᵀ      dbias = Σ_samples dy      dx = weight · dy
"""
mutable struct Dense{T} <: Layer{T}
    weight::Parameter{T,2}
    bias::Parameter{T,1}
    x::Matrix{T}
    y::Buffer{T,2}
    dx::Buffer{T,2}
end

function Dense(spec, shape::NTuple{1,Int}, source::Source{T}) where {T}
    name, units = spec["name"], spec["units"]
    weight = parameter(source, "$name.weight", shape[1], units)
    bias = parameter(source, "$name.bias", units)
    return Dense{T}(weight, bias, zeros(T, 0, 0), Buffer{T,2}(), Buffer{T,2}())
end

trainables(layer::Dense) = (layer.weight, layer.bias)
output_shape(layer::Dense, shape) = size(layer.bias.value)

function forward!(layer::Dense{T}, x::Matrix{T}, training::Bool) where {T}
    layer.x = x
    y = sized!(layer.y, length(layer.bias.value), size(x, 2))
    multiply!(y, 'T', layer.weight.value, 'N', x)
    y .+= layer.bias.value
    return y
end

function parameter_gradient!(layer::Dense{T}, dy::Matrix{T}) where {T}
    multiply!(layer.weight.gradient, 'N', layer.x, 'T', dy)
    sum_columns!(layer.bias.gradient, dy)
    return nothing
end

function input_gradient!(layer::Dense{T}, dy::Matrix{T}) where {T}
    dx = sized!(layer.dx, size(layer.x)...)
    return multiply!(dx, 'N', layer.weight.value, 'N', dy)
end

"Set `sums` to the sum of the columns of `a`."
function sum_columns!(sums::Vector{T}, a::Matrix{T}) where {T}
    fill!(sums, 0)
    for column in axes(a, 2)
        @inbounds @simd ivdep for i in eachindex(sums)
            sums[i] += a[i, column]
        end
    end
    return sums
end
