"""
    Embedding

y[:, n, t] = weight[:, token]: tokens time × sample (counted from 0), y dimension × sample × time,
weight dimension × vocabulary. No column is special: the padding token's is trained like any other.
The gradient is dense, and a column's is the sum over all places where its token stands.
"""
struct Embedding{T} <: Layer{T}
    weight::Parameter{T,2}
    tokens::Buffer{Int32,2}
    touched::Vector{Int32}  # tokens whose columns of the gradient aren't zero
    y::Buffer{T,3}
end

function Embedding(spec, shape::NTuple{1,Int}, source::Source{T}) where {T}
    weight = parameter(source, spec["name"] * ".weight", spec["dimension"], spec["vocabulary"])
    return Embedding{T}(weight, Buffer{Int32,2}(), Int32[], Buffer{T,3}())
end

trainables(layer::Embedding) = (layer.weight,)
output_shape(layer::Embedding, shape) = (size(layer.weight.value, 1), shape[1])

function forward!(layer::Embedding{T}, tokens::AbstractMatrix{Int32}, training::Bool) where {T}
    weight = layer.weight.value
    held = sized!(layer.tokens, size(tokens)...)  # the caller's array may be gone by the backward
    copyto!(held, tokens)
    steps, samples = size(held)
    y = sized!(layer.y, size(weight, 1), samples, steps)
    in_parts(steps) do _, range
        @inbounds for step in range, sample in 1:samples
            token = held[step, sample] + 1
            @simd ivdep for i in axes(weight, 1)
                y[i, sample, step] = weight[i, token]
            end
        end
    end
    return y
end

function parameter_gradient!(layer::Embedding{T}, dy::Array{T,3}) where {T}
    gradient, tokens, touched = layer.weight.gradient, layer.tokens.array, layer.touched
    # A batch touches few columns: cheaper than clearing all of them.
    @inbounds for token in touched, i in axes(gradient, 1)
        gradient[i, token + 1] = 0
    end
    resize!(touched, length(tokens))
    copyto!(touched, tokens)
    @inbounds for sample in axes(tokens, 2), step in axes(tokens, 1)
        token = tokens[step, sample] + 1
        @simd ivdep for i in axes(gradient, 1)
            gradient[i, token] += dy[i, sample, step]
        end
    end
    return nothing
end
