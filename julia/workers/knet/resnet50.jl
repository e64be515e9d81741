# ResNet-50 (v1.5) up to the global average pool: forward only, with batch norm's given statistics.

using Statistics: mean

"""
A convolution without bias, zeros on both sides alike, and the batch norm behind it.

`batchnorm` takes its statistics from `moments` unless it trains, its weight and bias as one vector.
"""
struct NormedConv
    name
    norm_name
    stride
    w
    params
    moments
end

function NormedConv(p::Dict, name, norm_name, stride = 1)
    norm(part) = p["$norm_name.$part"]
    statistic(part) = convert(Knet.atype(), reshape(norm(part), 1, 1, :, 1))
    moments = bnmoments(mean = statistic("running_mean"), var = statistic("running_var"))
    params = parameter(vcat(norm("weight"), norm("bias")))
    return NormedConv(name, norm_name, stride, parameter(p["$name.weight"]), params, moments)
end

function (l::NormedConv)(x)
    y = conv4(l.w, x; padding = size(l.w, 1) ÷ 2, stride = l.stride, mode = 1)
    return batchnorm(y, l.moments, l.params; training = false, eps = 1e-5)
end

function canonical(l::NormedConv)
    weight, bias = eachcol(reshape(host(l.params), :, 2))
    statistic(array) = vec(Array(array))
    return [
        "$(l.name).weight" => host(l.w),
        "$(l.norm_name).weight" => Vector(weight),
        "$(l.norm_name).bias" => Vector(bias),
        "$(l.norm_name).running_mean" => statistic(l.moments.mean),
        "$(l.norm_name).running_var" => statistic(l.moments.var),
    ]
end

"The sum of two chains, rectified. A shortcut without layers is the identity."
struct Bottleneck
    branch
    shortcut
end

function Bottleneck(p::Dict, name, stride)
    branch = Chain(
        NormedConv(p, "$name.conv1", "$name.bn1"), rectify,
        NormedConv(p, "$name.conv2", "$name.bn2", stride), rectify,
        NormedConv(p, "$name.conv3", "$name.bn3"),
    )
    haskey(p, "$name.downsample.0.weight") || return Bottleneck(branch, Chain())
    shortcut = NormedConv(p, "$name.downsample.0", "$name.downsample.1", stride)
    return Bottleneck(branch, Chain((shortcut,)))
end

(b::Bottleneck)(x) = rectify(b.branch(x) .+ b.shortcut(x))

canonical(b::Bottleneck) = vcat(map(canonical, [b.branch.layers..., b.shortcut.layers...])...)

function resnet50(p, rate)
    blocks = [
        Bottleneck(p, "layer$stage.$block", stage > 1 && block == 0 ? 2 : 1)
        for (stage, count) in enumerate((3, 4, 6, 3)) for block in 0:count - 1
    ]
    return Chain(NormedConv(p, "conv1", "bn1", 2), rectify, overlapping_pool, blocks..., average)
end

"3×3 with stride 2. What pads it, 0 or less, is never above a value that was rectified."
overlapping_pool(x) = pool(x; window = 3, stride = 2, padding = 1)

"The mean over rows and columns: channels×N."
average(x) = mat(mean(x; dims = (1, 2)))
