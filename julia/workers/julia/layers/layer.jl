# What all layers have in common.

"""
    Layer{T}

One layer: a function of a batch, and its derivative, computed in the float type `T`.

Arrays have the wire's axes reversed, so that its bytes are used as they are: pixels are
column × row × channel × sample, vectors are feature × sample. A sequence inside the network is
feature × sample × time, so that one time step of all samples is contiguous.

A layer of type `L` has

    L(spec, shape, source)            the layer that a task's table describes; `shape` is the size
                                      of one sample that enters it
    output_shape(layer, shape)        the size of one sample that leaves it
    trainables(layer)                 its parameters, as a tuple
    forward!(layer, x, training)      its output for a batch; remembers what the derivative needs
    parameter_gradient!(layer, dy)    sets its parameters' gradients, from the gradient of the loss
                                      by the output of the last `forward!`
    input_gradient!(layer, dy)        the gradient of the loss by the input of the last `forward!`;
                                      called after `parameter_gradient!`, with the same `dy`

A layer that goes forward only has no gradients, and `trainables` are all that it holds.

The arrays that `forward!` and `input_gradient!` return belong to the layer, which fills them again
in the next step. The layer behind (in front) may overwrite them.
"""
abstract type Layer{T} end

trainables(::Layer) = ()
output_shape(::Layer, shape) = shape
parameter_gradient!(::Layer, dy) = nothing

"""
    backward!(layer, dy) -> dx

Both gradients.
"""
function backward!(layer::Layer, dy)
    parameter_gradient!(layer, dy)
    return input_gradient!(layer, dy)
end

"A parameter, by its canonical name, with the gradient of the loss; axes reversed."
struct Parameter{T,N}
    name::String
    value::Array{T,N}
    gradient::Array{T,N}
end

"`array` as a matrix of as many columns as its last axis is long; they share their memory."
as_matrix(array::Array) = reshape(array, :, size(array, ndims(array)))

"""
    Source{T}(values, seed)

What layers are made from besides their description: the initial values by canonical name, the seed
of everything random, and memory, one piece a worker, that a layer may use while it computes.
"""
struct Source{T}
    values::Dict{String,Array{Float32}}
    seed::Int
    scratch::Vector{Buffer{T,2}}
end

Source{T}(values, seed) where {T} =
    Source{T}(values, seed, [Buffer{T,2}() for _ in 1:WORKERS[]])

"""
    parameter(source, name, dims...) -> Parameter

`ArgumentError` unless there are values of that name and size.
"""
parameter(source::Source{T}, name::String, dims::Vararg{Int,N}) where {T,N} =
    Parameter{T,N}(name, initial_values(source, name, dims), zeros(T, dims))

"The same for a parameter that nobody trains: its gradient is empty."
constant(source::Source{T}, name::String, dims::Vararg{Int,N}) where {T,N} =
    Parameter{T,N}(name, initial_values(source, name, dims), zeros(T, ntuple(_ -> 0, N)))

function initial_values(source::Source{T}, name::String, dims::NTuple{N,Int}) where {T,N}
    haskey(source.values, name) || throw(ArgumentError("parameter $name is missing"))
    values = source.values[name]
    size(values) == dims || throw(ArgumentError(
        "parameter $name has the size $(size(values)), but its layer needs $dims (axes reversed)",
    ))
    return convert(Array{T,N}, values)
end
