"""
    Convolution

Cross-correlation with a bias (deep learning's "convolution": the kernel is not flipped):

    y[i, j, o] = bias[o] + Σ_c Σ_u Σ_v weight[v, u, c, o] · padded[i + v - 1, j + u - 1, c]

x column × row × channel × sample, weight k × k × channel × filter (its first axis goes along a
row of the image), y of the size of x but for the channels: the stride is 1, and (k - 1) / 2 zeros
pad each side ("same"; k odd).

Each sample's windows are copied into a matrix, `windows`, with a row for each place and a column
for each weight of a filter ("im2col": Chellapilla, Puri & Simard 2006). The sum is then one product
of matrices, and so are the gradients, with dy the gradient of the loss by y, as place × filter:

    y = windows · weight    dweight = Σ_samples windowsᵀ · dy    dwindows = dy · weightᵀ

One sample at a time: its windows (1.8 MB for 50 channels of 32 × 32 in float32) are still in the
cache when the product reads them; those of a batch of 64 would be 118 MB. For the same reason they
are made again for the gradient instead of being kept.
"""
mutable struct Convolution{T} <: Layer{T}
    weight::Parameter{T,4}
    bias::Parameter{T,1}
    x::Array{T,4}
    y::Buffer{T,4}
    dx::Buffer{T,4}
    windows::Vector{Buffer{T,2}}   # one a worker, and so the next two
    dweights::Vector{Matrix{T}}
    dbiases::Vector{Vector{T}}
end

function Convolution(spec, shape::NTuple{3,Int}, source::Source{T}) where {T}
    name, filters, k = spec["name"], spec["filters"], spec["kernel"]
    isodd(k) && spec["stride"] == 1 && spec["padding"] == "same" || throw(ArgumentError(
        "layer $name: only odd kernels, stride 1 and padding 'same' are supported",
    ))
    return Convolution{T}(
        parameter(source, "$name.weight", k, k, shape[3], filters),
        parameter(source, "$name.bias", filters),
        zeros(T, 0, 0, 0, 0), Buffer{T,4}(), Buffer{T,4}(),
        [Buffer{T,2}() for _ in 1:WORKERS[]],
        [zeros(T, k * k * shape[3], filters) for _ in 1:WORKERS[]],
        [zeros(T, filters) for _ in 1:WORKERS[]],
    )
end

trainables(layer::Convolution) = (layer.weight, layer.bias)

output_shape(layer::Convolution, shape) = (shape[1], shape[2], length(layer.bias.value))

function forward!(layer::Convolution{T}, x::Array{T,4}, training::Bool) where {T}
    layer.x = x
    y = sized!(layer.y, output_shape(layer, size(x)[1:3])..., size(x, 4))
    y_by_place = by_place(y)
    weight, bias = as_matrix(layer.weight.value), layer.bias.value
    in_parts(size(x, 4)) do worker, samples
        windows = windows!(layer, worker)
        for sample in samples
            copy_windows!(windows, x, sample, size(layer.weight.value, 1))
            y_sample = view(y_by_place, :, :, sample)
            fill_columns!(y_sample, bias)  # the product is added to it
            BLAS.gemm!('N', 'N', one(T), windows, weight, one(T), y_sample)
        end
    end
    return y
end

function parameter_gradient!(layer::Convolution{T}, dy::Array{T,4}) where {T}
    dy_by_place = by_place(dy)
    for parts in (layer.dweights, layer.dbiases), part in parts
        fill!(part, 0)
    end
    in_parts(size(dy, 4)) do worker, samples
        windows = windows!(layer, worker)
        dweight, dbias = layer.dweights[worker], layer.dbiases[worker]
        for sample in samples
            copy_windows!(windows, layer.x, sample, size(layer.weight.value, 1))
            dy_sample = view(dy_by_place, :, :, sample)
            BLAS.gemm!('T', 'N', one(T), windows, dy_sample, one(T), dweight)
            add_column_sums!(dbias, dy_sample)
        end
    end
    sum_parts!(as_matrix(layer.weight.gradient), layer.dweights)
    sum_parts!(layer.bias.gradient, layer.dbiases)
    return nothing
end

function input_gradient!(layer::Convolution{T}, dy::Array{T,4}) where {T}
    dx = sized!(layer.dx, size(layer.x)...)
    dy_by_place, weight = by_place(dy), as_matrix(layer.weight.value)
    in_parts(size(dy, 4)) do worker, samples
        dwindows = windows!(layer, worker)
        for sample in samples
            dy_sample = view(dy_by_place, :, :, sample)
            BLAS.gemm!('N', 'T', one(T), dy_sample, weight, zero(T), dwindows)
            add_windows!(dx, dwindows, sample, size(layer.weight.value, 1))
        end
    end
    return dx
end

"column × row × channel × sample as place × channel × sample, sharing the memory."
by_place(images::Array{T,4}) where {T} =
    reshape(images, size(images, 1) * size(images, 2), size(images, 3), size(images, 4))

"A worker's matrix of windows: place × weight of a filter."
function windows!(layer::Convolution, worker::Int)
    width, height, channels, _ = size(layer.x)
    k = size(layer.weight.value, 1)
    return sized!(layer.windows[worker], width * height, k * k * channels)
end

"Set every element of a column of `matrix` to the value that belongs to the column."
function fill_columns!(matrix, values::Vector)
    @inbounds for column in axes(matrix, 2)
        value = values[column]
        @simd for row in axes(matrix, 1)
            matrix[row, column] = value
        end
    end
    return matrix
end

"Add the sum of each column of `matrix` to the element of `sums` that belongs to it."
function add_column_sums!(sums::Vector{T}, matrix) where {T}
    @inbounds for column in axes(matrix, 2)
        total = zero(T)
        @simd for row in axes(matrix, 1)
            total += matrix[row, column]
        end
        sums[column] += total
    end
    return sums
end

"Set `total` to the sum of the workers' parts, in their order."
function sum_parts!(total, parts)
    copyto!(total, parts[1])
    for part in Iterators.drop(parts, 1)
        total .+= part
    end
    return total
end
