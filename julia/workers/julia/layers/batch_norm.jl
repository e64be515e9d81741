"""
    BatchNorm

Batch normalisation (Ioffe & Szegedy 2015, algorithm 2), forward only and with given statistics:

    y = weight · (x - running_mean) / √(running_var + ε) + bias = scale · x + shift

for each channel of x, column × row × channel × sample, in place: no layer in front of it needs its
own output. Scale and shift are computed once, in float64.
"""
struct BatchNorm{T} <: Layer{T}
    parameters::NTuple{4,Parameter{T,1}}
    scale::Vector{T}
    shift::Vector{T}
end

BatchNorm(spec, shape::NTuple{3,Int}, source::Source) =
    BatchNorm(source, spec["name"], shape[3], Float64(spec["epsilon"]))

function BatchNorm(source::Source{T}, name, channels::Int, epsilon::Float64) where {T}
    parts = ("weight", "bias", "running_mean", "running_var")
    held = map(part -> constant(source, "$name.$part", channels), parts)
    weight, bias, mean, variance = map(parameter -> Float64.(parameter.value), held)
    scale = weight ./ sqrt.(variance .+ epsilon)
    return BatchNorm{T}(held, scale, bias .- mean .* scale)
end

trainables(layer::BatchNorm) = layer.parameters

forward!(layer::BatchNorm{T}, x::Array{T,4}, training::Bool) where {T} =
    normalise!(layer, x, (value, _) -> value)

"""
    normalise!(layer, x, after, other = x)

x = after(scale · x + shift, other) for all elements of `x` and of `other`, of the same size: what
comes behind a batch norm is done in the same pass over the memory.
"""
function normalise!(layer::BatchNorm{T}, x::Array{T,4}, after::F, other = x) where {T,F}
    pixels, channels = size(x, 1) * size(x, 2), size(x, 3)
    in_parts(channels * size(x, 4); least = cld(LONG_LOOP, pixels)) do _, planes
        for plane in planes
            channel = (plane - 1) % channels + 1
            scale, shift = layer.scale[channel], layer.shift[channel]
            @inbounds @simd ivdep for i in pixels * (plane - 1) + 1:pixels * plane
                x[i] = after(muladd(scale, x[i], shift), other[i])
            end
        end
    end
    return x
end
