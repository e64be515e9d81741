"""
    Gru

The gated recurrent unit in the form of cuDNN and PyTorch: the reset gate acts after the recurrent
product.

    r = σ(W_r x + b_ih,r + U_r h + b_hh,r)
    z = σ(W_z x + b_ih,z + U_z h + b_hh,z)
    n = tanh(W_n x + b_ih,n + r ⊙ (U_n h + b_hh,n))
    h' = (1 - z) ⊙ n + z ⊙ h                              h₀ = 0

x feature × sample × time, to the last state, unit × sample. The gates stand in the order reset,
update, new, and so do the columns of weight_ih (feature × 3 units) and weight_hh (unit × 3 units).

Only the recurrent products must be done one step after the other. The product with the inputs, and
all products that give gradients of weights, are done for all steps at once.
"""
mutable struct Gru{T} <: Layer{T}
    weight_ih::Parameter{T,2}
    weight_hh::Parameter{T,2}
    bias_ih::Parameter{T,1}
    bias_hh::Parameter{T,1}
    x::Array{T,3}
    gates::Buffer{T,3}      # 3 units × sample × time: W x, then r, z, n, then their sums' gradients
    news::Buffer{T,3}       # unit × sample × time: U_n h + b_hh,n
    dproducts::Buffer{T,3}  # 3 units × sample × time: gradients of the products U h
    states::Buffer{T,3}     # unit × sample × (time + 1): h₀ first
    last::Buffer{T,2}
    dx::Buffer{T,3}
    products::Vector{Buffer{T,2}}  # one a worker: U h of one step
    dstates::Vector{Buffer{T,2}}   # one a worker: the gradient by h
end

function Gru(spec, shape::NTuple{2,Int}, source::Source{T}) where {T}
    name, units = spec["name"], spec["units"]
    form, returns = spec["form"], spec["returns"]
    form == "cudnn" && returns == "last" || throw(ArgumentError(
        "layer $name: a GRU of the form '$form' that returns '$returns' is unsupported",
    ))
    return Gru{T}(
        parameter(source, "$name.weight_ih", shape[1], 3units),
        parameter(source, "$name.weight_hh", units, 3units),
        parameter(source, "$name.bias_ih", 3units),
        parameter(source, "$name.bias_hh", 3units),
        zeros(T, 0, 0, 0),
        Buffer{T,3}(), Buffer{T,3}(), Buffer{T,3}(), Buffer{T,3}(), Buffer{T,2}(), Buffer{T,3}(),
        [Buffer{T,2}() for _ in 1:WORKERS[]],
        [Buffer{T,2}() for _ in 1:WORKERS[]],
    )
end

trainables(layer::Gru) = (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
output_shape(layer::Gru, shape) = (size(layer.weight_hh.value, 1),)

function forward!(layer::Gru{T}, x::Array{T,3}, training::Bool) where {T}
    layer.x = x
    units, (_, samples, steps) = size(layer.weight_hh.value, 1), size(x)
    gates = sized!(layer.gates, 3units, samples, steps)
    news = sized!(layer.news, units, samples, steps)
    states = sized!(layer.states, units, samples, steps + 1)
    multiply!(over_time(gates), 'T', layer.weight_ih.value, 'N', over_time(x))
    in_parts(samples) do worker, range
        products = sized!(layer.products[worker], 3units, length(range))
        fill!(view(states, :, range, 1), 0)
        for step in 1:steps
            state = view(states, :, range, step)
            BLAS.gemm!('T', 'N', one(T), layer.weight_hh.value, state, zero(T), products)
            advance!(layer, gates, news, states, products, range, step)
        end
    end
    y = sized!(layer.last, units, samples)
    copyto!(y, view(states, :, :, steps + 1))
    return y
end

"One time step of the samples in `range`, from the products with the inputs and with the state."
function advance!(layer::Gru{T}, gates, news, states, products, range, step) where {T}
    b_ih, b_hh = layer.bias_ih.value, layer.bias_hh.value
    units = size(states, 1)
    @inbounds for (column, sample) in enumerate(range)
        @simd ivdep for i in 1:2units
            gates[i, sample, step] = sigmoid(
                gates[i, sample, step] + products[i, column] + (b_ih[i] + b_hh[i])
            )
        end
        @simd ivdep for i in 1:units
            r, z = gates[i, sample, step], gates[units + i, sample, step]
            new = products[2units + i, column] + b_hh[2units + i]
            n = hyperbolic_tangent(gates[2units + i, sample, step] + b_ih[2units + i] + r * new)
            news[i, sample, step] = new
            gates[2units + i, sample, step] = n
            states[i, sample, step + 1] = muladd(z, states[i, sample, step] - n, n)
        end
    end
    return nothing
end

function parameter_gradient!(layer::Gru{T}, dy::Matrix{T}) where {T}
    units, (_, samples, steps) = size(layer.weight_hh.value, 1), size(layer.x)
    gates, news, states = layer.gates.array, layer.news.array, layer.states.array
    dproducts = sized!(layer.dproducts, 3units, samples, steps)
    in_parts(samples) do worker, range
        dstate = sized!(layer.dstates[worker], units, length(range))
        copyto!(dstate, view(dy, :, range))
        for step in steps:-1:1
            retreat!(dstate, gates, news, states, dproducts, range, step)
            dproduct = view(dproducts, :, range, step)
            BLAS.gemm!('N', 'N', one(T), layer.weight_hh.value, dproduct, one(T), dstate)
        end
    end
    before = view(over_time(states), :, 1:samples * steps)  # without the last state
    multiply!(layer.weight_hh.gradient, 'N', before, 'T', over_time(dproducts))
    multiply!(layer.weight_ih.gradient, 'N', over_time(layer.x), 'T', over_time(gates))
    sum_columns!(layer.bias_hh.gradient, over_time(dproducts))
    sum_columns!(layer.bias_ih.gradient, over_time(gates))
    return nothing
end

"""
One time step of back-propagation. With da the gradient by a gate's sum (what σ or tanh is applied
to) and dh the one by h':

    da_n = dh ⊙ (1 - z) ⊙ (1 - n²)
    da_z = dh ⊙ (h - n) ⊙ z ⊙ (1 - z)
    da_r = da_n ⊙ (U_n h + b_hh,n) ⊙ r ⊙ (1 - r)
    dh_before = dh ⊙ z + U_rᵀ da_r + U_zᵀ da_z + U_nᵀ (da_n ⊙ r)

Puts da in the place of the gates, and da_r, da_z, da_n ⊙ r into `dproducts`. `dstate` holds dh, and
then the first term of dh_before: the rest is a product.
"""
function retreat!(dstate, gates, news, states, dproducts, range, step)
    units = size(states, 1)
    @inbounds for (column, sample) in enumerate(range)
        @simd ivdep for i in 1:units
            r, z = gates[i, sample, step], gates[units + i, sample, step]
            n, h = gates[2units + i, sample, step], states[i, sample, step]
            dh = dstate[i, column]
            da_n = dh * (1 - z) * (1 - n * n)
            da_z = dh * (h - n) * z * (1 - z)
            da_r = da_n * news[i, sample, step] * r * (1 - r)
            gates[i, sample, step] = dproducts[i, sample, step] = da_r
            gates[units + i, sample, step] = dproducts[units + i, sample, step] = da_z
            gates[2units + i, sample, step] = da_n
            dproducts[2units + i, sample, step] = da_n * r
            dstate[i, column] = dh * z
        end
    end
    return nothing
end

function input_gradient!(layer::Gru{T}, dy::Matrix{T}) where {T}
    dx = sized!(layer.dx, size(layer.x)...)
    multiply!(over_time(dx), 'N', layer.weight_ih.value, 'N', over_time(layer.gates.array))
    return dx
end

"feature × sample × time as a matrix, one column for each sample in each step."
over_time(sequences::Array{T,3}) where {T} = reshape(sequences, size(sequences, 1), :)
