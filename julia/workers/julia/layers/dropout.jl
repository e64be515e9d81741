"""
    Dropout

Dropout (Srivastava et al. 2014, JMLR 15, 1929–1958) in its "inverted" form: in training every
element is 0 with probability `rate` and otherwise multiplied by 1 / (1 - rate), with a fresh mask
in every step; in prediction y = x.
"""
struct Dropout{T,N} <: Layer{T}
    rate::T
    random::MersenneTwister
    factors::Buffer{T,N}
    y::Buffer{T,N}
end

function Dropout(spec, shape::NTuple{M,Int}, source::Source{T}) where {M,T}
    0 <= spec["rate"] < 1 ||
        throw(ArgumentError("layer $(spec["name"]): dropout rate $(spec["rate"]) isn't in [0, 1)"))
    # Each layer has a stream of its own, from the one seed.
    random = MersenneTwister(hash(spec["name"], UInt(source.seed)))
    return Dropout{T,M + 1}(spec["rate"], random, Buffer{T,M + 1}(), Buffer{T,M + 1}())
end

function forward!(layer::Dropout{T,N}, x::Array{T,N}, training::Bool) where {T,N}
    training || return x
    factors, y = sized!(layer.factors, size(x)...), sized!(layer.y, size(x)...)
    rand!(layer.random, factors)
    rate, kept = layer.rate, 1 / (1 - layer.rate)
    in_parts(length(x); least = LONG_LOOP) do _, range
        @inbounds @simd ivdep for i in range
            factors[i] = ifelse(factors[i] < rate, zero(T), kept)
            y[i] = x[i] * factors[i]
        end
    end
    return y
end

function input_gradient!(layer::Dropout{T,N}, dy::Array{T,N}) where {T,N}
    factors = layer.factors.array
    in_parts(length(dy); least = LONG_LOOP) do _, range
        @inbounds @simd ivdep for i in range
            dy[i] *= factors[i]
        end
    end
    return dy
end
