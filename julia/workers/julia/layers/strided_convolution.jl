"""
    StridedConvolution

Cross-correlation without a bias, forward only, with zeros around the image and a stride `s`:

    y[i, j, o] = Σ_c Σ_u Σ_v weight[v, u, c, o] · padded[s(i - 1) + v, s(j - 1) + u, c]

x column × row × channel × sample, weight k × k × channel × filter; (k - 1) / 2 zeros pad each side
(k odd). As in `Convolution`, each sample's windows are copied into a matrix, for one product. The
windows of a 1 × 1 kernel without a stride are the sample itself, which isn't copied.
"""
struct StridedConvolution{T} <: Layer{T}
    weight::Parameter{T,4}
    stride::Int
    y::Buffer{T,4}
    windows::Vector{Buffer{T,2}}  # one a worker; shared with the network's other layers
end

function StridedConvolution(spec, shape::NTuple{3,Int}, source::Source{T}) where {T}
    name, filters, k = spec["name"], spec["filters"], spec["kernel"]
    isodd(k) && spec["padding"] == "same" || throw(ArgumentError(
        "layer $name: only odd kernels and padding 'same' are supported",
    ))
    weight = constant(source, "$name.weight", k, k, shape[3], filters)
    return StridedConvolution{T}(weight, spec["stride"], Buffer{T,4}(), source.scratch)
end

trainables(layer::StridedConvolution) = (layer.weight,)

output_shape(layer::StridedConvolution, shape) = (
    cld(shape[1], layer.stride), cld(shape[2], layer.stride), size(layer.weight.value, 4),
)

function forward!(layer::StridedConvolution{T}, x::Array{T,4}, training::Bool) where {T}
    y = sized!(layer.y, output_shape(layer, size(x)[1:3])..., size(x, 4))
    y_by_place, x_by_place, weight = by_place(y), by_place(x), as_matrix(layer.weight.value)
    k, stride = size(layer.weight.value, 1), layer.stride
    in_parts(size(x, 4)) do worker, samples
        for sample in samples
            y_sample = view(y_by_place, :, :, sample)
            if k == 1 && stride == 1
                x_sample = view(x_by_place, :, :, sample)
                BLAS.gemm!('N', 'N', one(T), x_sample, weight, zero(T), y_sample)
            else
                windows = sized!(layer.windows[worker], size(y_by_place, 1), size(weight, 1))
                copy_strided_windows!(windows, x, sample, k, stride)
                BLAS.gemm!('N', 'N', one(T), windows, weight, zero(T), y_sample)
            end
        end
    end
    return y
end

"""
    copy_strided_windows!(windows, x, sample, k, stride)

Set `windows` (place × k·k·channels) to every `stride`th of the k × k windows of one sample of `x`,
along both axes, whose surroundings are zero.
"""
function copy_strided_windows!(windows::Matrix, x::Array, sample::Int, k::Int, stride::Int)
    width, height, channels, _ = size(x)
    columns, rows = cld(width, stride), cld(height, stride)
    start = 0
    for channel in 1:channels, down in offsets(k), right in offsets(k)
        source = width * height * (channel - 1 + channels * (sample - 1))
        first, last = inside(width, stride, right, columns)
        for row in 0:rows - 1
            line = stride * row + down
            if 0 <= line < height
                clear!(windows, start + 1:start + first)
                copy_strided!(windows, start, x, source + width * line + right, first:last, stride)
                clear!(windows, start + last + 2:start + columns)
            else
                clear!(windows, start + 1:start + columns)
            end
            start += columns
        end
    end
    return windows
end

"""
The first and the last of `count` places (from 0), `stride` apart, from which the pixel `shift`
further lies within `length`: the last is one before the first if there is none.
"""
function inside(length, stride, shift, count)
    first = min(cld(max(-shift, 0), stride), count)
    return first, max(first - 1, min(fld(length - 1 - shift, stride), count - 1))
end

function copy_strided!(windows, start, x, source, places, stride)
    @inbounds @simd ivdep for place in places
        windows[start + place + 1] = x[source + stride * place + 1]
    end
    return nothing
end
