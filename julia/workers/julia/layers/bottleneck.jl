"A convolution and the batch norm behind it."
struct NormedConvolution{T}
    convolution::StridedConvolution{T}
    norm::BatchNorm{T}
end

trainables(pair::NormedConvolution) = (trainables(pair.convolution)..., trainables(pair.norm)...)

"""
    Bottleneck

The block of ResNet-50 in its layout "v1.5" (He et al. 2015, figure 5, right), forward only:

    y = relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + shortcut(x))

conv1 is 1 × 1 to `width` channels, conv2 3 × 3 with the stride, conv3 1 × 1 to 4 · width. With
`projection` the shortcut is a 1 × 1 convolution with the stride and a batch norm, else x itself.
"""
struct Bottleneck{T} <: Layer{T}
    branch::NTuple{3,NormedConvolution{T}}
    shortcut::Vector{NormedConvolution{T}}  # one or none
end

"Of the batch norms inside of a block."
const EPSILON = 1e-5

function Bottleneck(spec, shape::NTuple{3,Int}, source::Source{T}) where {T}
    name, width, stride = spec["name"], spec["width"], spec["stride"]
    pair(conv, norm, channels, filters, kernel, stride) = NormedConvolution{T}(
        StridedConvolution(
            Dict("name" => "$name.$conv", "filters" => filters, "kernel" => kernel,
                 "stride" => stride, "padding" => "same"),
            (shape[1], shape[2], channels), source,
        ),
        BatchNorm(source, "$name.$norm", filters, EPSILON),
    )
    branch = (
        pair("conv1", "bn1", shape[3], width, 1, 1),
        pair("conv2", "bn2", width, width, 3, stride),
        pair("conv3", "bn3", width, 4width, 1, 1),
    )
    shortcut = NormedConvolution{T}[]
    if spec["projection"]
        push!(shortcut, pair("downsample.0", "downsample.1", shape[3], 4width, 1, stride))
    elseif stride != 1 || shape[3] != 4width
        throw(ArgumentError("layer $name: without a projection it keeps the size of its input"))
    end
    return Bottleneck{T}(branch, shortcut)
end

trainables(block::Bottleneck) =
    tuple(Iterators.flatten(map(trainables, [block.branch..., block.shortcut...]))...)

function output_shape(block::Bottleneck, shape)
    _, middle, last = block.branch
    columns, rows, _ = output_shape(middle.convolution, shape)
    return (columns, rows, size(last.convolution.weight.value, 4))
end

function forward!(block::Bottleneck{T}, x::Array{T,4}, training::Bool) where {T}
    first, middle, last = block.branch
    y = normalise!(first.norm, forward!(first.convolution, x, training), rectified)
    y = normalise!(middle.norm, forward!(middle.convolution, y, training), rectified)
    for pair in block.shortcut
        x = forward!(pair.norm, forward!(pair.convolution, x, training), training)
    end
    return normalise!(last.norm, forward!(last.convolution, y, training), rectified_sum, x)
end

@inline rectified_sum(a, b) = rectified(a + b, b)
@inline rectified(a, _) = ifelse(a < 0, zero(a), a)  # lets NaN through
