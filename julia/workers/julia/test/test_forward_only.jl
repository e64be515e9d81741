# The layers and the network that go forward only, against their definitions.

"The sum in StridedConvolution's docstring."
function slow_convolution(x, weight, stride)
    k = size(weight, 1)
    (width, height, channels, samples), pad = size(x), k ÷ 2
    padded = zeros(eltype(x), width + 2pad, height + 2pad, channels, samples)
    padded[pad + 1:pad + width, pad + 1:pad + height, :, :] = x
    return [
        sum(weight[:, :, :, o] .* padded[i:i + k - 1, j:j + k - 1, :, n])
        for i in 1:stride:width, j in 1:stride:height, o in axes(weight, 4), n in 1:samples
    ]
end

over_channels(values) = reshape(values, 1, 1, :, 1)

"Batch norm by its definition, with the parameters of that name."
function slow_norm(x, values, name, epsilon)
    weight, bias, mean, variance =
        (over_channels(values["$name.$part"]) for part in NORM_PARTS)
    return weight .* (x .- mean) ./ sqrt.(variance .+ epsilon) .+ bias
end

@testset "a convolution of $k × $k with stride $stride over $width × $height" for
    k in (1, 3, 7), stride in (1, 2, 3), (width, height) in ((6, 9), (7, 4), (1, 1), (2, 1))
    random = MersenneTwister(1)
    x, weight = randn(random, width, height, 2, 3), randn(random, Float32, k, k, 2, 4)
    spec = layer("c", "conv"; filters = 4, kernel = k, stride = stride, padding = "same")
    values = Backend.Source{Float64}(Dict{String,Array{Float32}}("c.weight" => weight), 1)
    subject = Backend.StridedConvolution(spec, (width, height, 2), values)
    fill!(Backend.sized!(values.scratch[1], 60, 98), NaN)  # whatever another layer left there
    expected = slow_convolution(x, weight, stride)
    found = Backend.forward!(subject, x, false)
    @test Backend.output_shape(subject, (width, height, 2)) == size(expected)[1:3]
    @test found ≈ expected
    @test_throws ArgumentError Backend.StridedConvolution(
        merge(spec, Dict("kernel" => 2)), (width, height, 2), values,
    )
end

@testset "batch norm has the statistics that it was given" begin
    subject = Backend.BatchNorm(
        layer("b", "batch_norm"; epsilon = 0.25), (2, 1, 2),
        source("b.weight" => [2, 3], "b.bias" => [1, -1], "b.running_mean" => [1, 2],
               "b.running_var" => [0.75, 3.75]),
    )
    x = reshape(Float32[1, 2, 2, 4], 2, 1, 2, 1)
    y = Backend.forward!(subject, x, false)
    @test vec(y) == [1, 3, -1, 2]  # scales 2 and 3/2
    @test y === x
    @test length(Backend.trainables(subject)) == 4
end

@testset "padding is never the largest value" begin
    spec = layer("p", "max_pool"; size = 3, stride = 2, padding = 1)
    subject = Backend.PaddedMaxPool(spec, (4, 3, 1), source())
    @test Backend.output_shape(subject, (4, 3, 1)) == (2, 2, 1)
    x = -Float32[1 5 9; 2 6 10; 3 7 11; 4 8 12]
    y = Backend.forward!(subject, reshape(x, 4, 3, 1, 1), false)
    @test y[:, :, 1, 1] == [-1 -5; -2 -6]
    x[4, 1] = NaN
    y = Backend.forward!(subject, reshape(x, 4, 3, 1, 1), false)
    @test isnan(y[2, 1, 1, 1]) && y[1, 1, 1, 1] == -1
    @test Backend.output_shape(subject, (112, 7, 5)) == (56, 4, 5)
    @test_throws ArgumentError Backend.PaddedMaxPool(
        merge(spec, Dict("padding" => 2)), (4, 3, 1), source(),
    )
end

@testset "the mean of each channel" begin
    subject = Backend.GlobalAveragePool(layer("p", "global_average_pool"), (2, 3, 2), source())
    x = reshape(Float32.(1:24), 2, 3, 2, 2)
    @test Backend.forward!(subject, x, false) == [3.5 15.5; 9.5 21.5]
    @test Backend.output_shape(subject, (2, 3, 2)) == (2,)
end

@testset "a block with stride $stride" for
    (stride, projection) in ((1, false), (1, true), (2, true))
    channels, width = projection ? (3, 2) : (8, 2)
    spec = bottleneck("b", width, stride, projection)
    values = Dict{String,Array{Float32}}(block_parameters("b", channels, width, projection))
    subject = Backend.Bottleneck(spec, (5, 6, channels), Backend.Source{Float64}(values, 1))
    @test Set(p.name for p in Backend.trainables(subject)) == keys(values)

    relu(x) = max.(x, 0)
    normed(x, conv, norm, stride) =
        slow_norm(slow_convolution(x, values["b.$conv.weight"], stride), values, "b.$norm", 1e-5)
    x = randn(MersenneTwister(1), 5, 6, channels, 2)
    y = relu(normed(x, "conv1", "bn1", 1))
    y = normed(relu(normed(y, "conv2", "bn2", stride)), "conv3", "bn3", 1)
    expected = relu(y .+ (projection ? normed(x, "downsample.0", "downsample.1", stride) : x))
    held = copy(x)
    @test Backend.forward!(subject, x, false) ≈ expected
    @test x == held
    @test Backend.output_shape(subject, (5, 6, channels)) == size(expected)[1:3]
end

@testset "a block that changes the size needs a projection" begin
    for (channels, stride) in ((8, 2), (3, 1))
        values = Dict{String,Array{Float32}}(block_parameters("b", channels, 2, false))
        @test_throws ArgumentError Backend.Bottleneck(
            bottleneck("b", 2, stride, false), (5, 6, channels), Backend.Source{Float32}(values, 1),
        )
    end
end

@testset "a network that goes forward only" begin
    sent = thin_resnet_parameters()
    network = Backend.build(thin_resnet_setup(), deepcopy(sent))
    @test Backend.parameters(network) == sent
    images = randn(MersenneTwister(2), Float32, 29, 37, 3, 9)  # two whole slices and one image
    features = Backend.predict(network, images)
    @test size(features) == (20, 9) && eltype(features) == Float32
    @test Backend.predict(network, images) == features
    @test Backend.predict(network, images[:, :, :, 6:6]) ≈ features[:, 6:6]
    exact = Backend.Network{Float64}(thin_resnet_setup(), sent)
    @test Backend.predict(exact, images) ≈ features rtol = 1e-5
    @test Backend.parameters(network) == sent

    for key in keys(sent)
        @test_throws ArgumentError Backend.build(thin_resnet_setup(), delete!(copy(sent), key))
    end
    more = merge(sent, Dict("bn9.weight" => zeros(Float32, 2)))
    @test_throws ArgumentError Backend.build(thin_resnet_setup(), more)
end

@testset "its memory doesn't grow with the batch" begin
    network = Backend.build(thin_resnet_setup(), thin_resnet_parameters())
    images = randn(MersenneTwister(2), Float32, 29, 37, 3, 256)
    Backend.predict(network, images[:, :, :, 1:9])
    a_slice = Base.summarysize(network)
    Backend.predict(network, images)
    @test Base.summarysize(network) == a_slice
    # Once it is warm, little more is allocated than the features (80 bytes an image).
    @test @allocated(Backend.predict(network, images)) < 4096 * 256
end
