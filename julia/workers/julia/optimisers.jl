# The optimisers. Each changes the parameters in place, every element in every step.

abstract type Optimiser{T} end

"One parameter with its gradient, and what the optimiser remembers of it, all as vectors."
struct Slot{T,M}
    value::Vector{T}
    gradient::Vector{T}
    memory::NTuple{M,Vector{T}}
end

Slot{T,M}(p::Parameter{T}) where {T,M} =
    Slot{T,M}(vec(p.value), vec(p.gradient), ntuple(_ -> zeros(T, length(p.value)), M))

"""
    Sgd(described, parameters)

Stochastic gradient descent with classical momentum (Polyak 1964; not Nesterov's), the learning rate
outside the velocity:

    v = momentum · v + g          w = w - learning_rate · v          v₀ = 0
"""
mutable struct Sgd{T} <: Optimiser{T}
    slots::Vector{Slot{T,1}}
    learning_rate::Float64
    momentum::Float64
end

Sgd{T}(described, parameters) where {T} = Sgd{T}(
    [Slot{T,1}(p) for p in parameters], described["learning_rate"], described["momentum"],
)

function update!(optimiser::Sgd{T}) where {T}
    rate, momentum = T(optimiser.learning_rate), T(optimiser.momentum)
    for slot in optimiser.slots
        w, g, (v,) = slot.value, slot.gradient, slot.memory
        in_parts(length(w); least = LONG_LOOP) do _, range
            @inbounds @simd ivdep for i in range
                v[i] = muladd(momentum, v[i], g[i])
                w[i] = muladd(-rate, v[i], w[i])
            end
        end
    end
    return nothing
end

"""
    Adam(described, parameters)

Adam (Kingma & Ba 2015, arXiv:1412.6980, algorithm 1), with epsilon added to the bias-corrected
root:

    m = beta1 · m + (1 - beta1) · g         v = beta2 · v + (1 - beta2) · g²       m₀ = v₀ = 0
    w = w - learning_rate · (m / c1) / (√(v / c2) + epsilon)

in step t = 1, 2, …, with c1 = 1 - beta1ᵗ and c2 = 1 - beta2ᵗ.
"""
mutable struct Adam{T} <: Optimiser{T}
    slots::Vector{Slot{T,2}}
    learning_rate::Float64
    beta1::Float64
    beta2::Float64
    epsilon::Float64
    steps::Int
end

Adam{T}(described, parameters) where {T} = Adam{T}(
    [Slot{T,2}(p) for p in parameters],
    described["learning_rate"], described["beta1"], described["beta2"], described["epsilon"], 0,
)

function update!(optimiser::Adam{T}) where {T}
    optimiser.steps += 1
    beta1, beta2, epsilon = T(optimiser.beta1), T(optimiser.beta2), T(optimiser.epsilon)
    share1, share2 = T(1 - optimiser.beta1), T(1 - optimiser.beta2)
    rate = T(optimiser.learning_rate / (1 - optimiser.beta1^optimiser.steps))
    root_factor = T(1 / sqrt(1 - optimiser.beta2^optimiser.steps))
    for slot in optimiser.slots
        w, g, (m, v) = slot.value, slot.gradient, slot.memory
        in_parts(length(w); least = LONG_LOOP) do _, range
            @inbounds @simd ivdep for i in range
                m[i] = muladd(beta1, m[i], share1 * g[i])
                v[i] = muladd(beta2, v[i], share2 * g[i] * g[i])
                # v is never negative, but only `abs` tells the compiler, which can't vectorise the
                # error that `sqrt` would raise.
                w[i] -= rate * m[i] / muladd(sqrt(abs(v[i])), root_factor, epsilon)
            end
        end
    end
    return nothing
end

"The optimiser that a task's `optimiser` table describes, for `parameters`."
function Optimiser{T}(described, parameters) where {T}
    kind = described["kind"]
    kind == "sgd" && return Sgd{T}(described, parameters)
    kind == "adam" && return Adam{T}(described, parameters)
    throw(ArgumentError("optimiser '$kind' is unknown; known are 'adam' and 'sgd'"))
end
