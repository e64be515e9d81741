# Each layer against its definition, and at its edges.

source(values...) = Backend.Source{Float32}(Dict{String,Array{Float32}}(values...), 1)

@testset "a convolution is the sum in its docstring" begin
    random = MersenneTwister(1)
    x, weight = randn(random, Float32, 5, 4, 2, 3), randn(random, Float32, 3, 3, 2, 6)
    bias = randn(random, Float32, 6)
    subject = Backend.Convolution(
        conv("c", 6), (5, 4, 2), source("c.weight" => weight, "c.bias" => bias),
    )
    padded = zeros(Float32, 7, 6, 2, 3)
    padded[2:6, 2:5, :, :] = x
    expected = [
        bias[o] + sum(weight[:, :, :, o] .* padded[i:i + 2, j:j + 2, :, n])
        for i in 1:5, j in 1:4, o in 1:6, n in 1:3
    ]
    @test Backend.forward!(subject, x, true) ≈ expected
end

@testset "windows of $k × $k in an image of $width × $height" for
    k in (1, 3, 5), (width, height) in ((5, 4), (1, 1), (2, 1), (1, 3))
    x = reshape(collect(1.0:2width * height * 2), width, height, 2, 2)
    padded = zeros(width + 2k, height + 2k, 2)
    padded[k + 1:k + width, k + 1:k + height, :] = x[:, :, :, 2]
    around = -(k ÷ 2):k ÷ 2
    expected = [
        padded[k + i + right, k + j + down, c]
        for i in 1:width, j in 1:height, right in around, down in around, c in 1:2
    ]
    windows = fill(NaN, width * height, k * k * 2)
    Backend.copy_windows!(windows, x, 2, k)
    @test vec(windows) == vec(expected)

    # The way back is the transpose: ⟨windows(x), d⟩ = ⟨x, back(d)⟩.
    d = randn(MersenneTwister(1), size(windows))
    dx = fill(NaN, size(x))
    expected_product = dot(windows, d)
    Backend.add_windows!(dx, d, 2, k)
    @test dot(x[:, :, :, 2], dx[:, :, :, 2]) ≈ expected_product
    @test all(isnan, dx[:, :, :, 1])
end

@testset "max-pooling" begin
    subject = Backend.MaxPool(pool("p"), (5, 4, 1), source())
    @test Backend.output_shape(subject, (5, 4, 1)) == (2, 2, 1)
    x = Float32[1 2 7 7; 3 4 7 7; 5 NaN -1 -2; 6 7 -3 -4; 9 9 9 9]
    y = Backend.forward!(subject, reshape(copy(x), 5, 4, 1, 1), true)
    @test y[1, :, 1, 1] == [4, 7]
    @test isnan(y[2, 1, 1, 1]) && y[2, 2, 1, 1] == -1
    # Of the four 7s the first in reading order: x goes along a row of the image first.
    dx = Backend.backward!(subject, reshape(Float32[1, 2, 3, 4], 2, 2, 1, 1))
    @test dx[:, :, 1, 1] == [0 0 3 0; 0 1 0 0; 0 2 4 0; 0 0 0 0; 0 0 0 0]
    @test_throws ArgumentError Backend.MaxPool(pool("p"), (1, 4, 1), source())
end

@testset "relu" begin
    subject = Backend.Relu(layer("r", "relu"), (4,), source())
    y = Backend.forward!(subject, Float32[-1 2; 0 NaN; -Inf Inf; 3 -4], true)
    @test isequal(y, Float32[0 2; 0 NaN; 0 Inf; 3 0])
    @test Backend.backward!(subject, ones(Float32, 4, 2)) == [0 1; 0 0; 0 1; 1 0]
end

@testset "dropout" begin
    rate, shape = 0.25, (40, 50)
    subject = Backend.Dropout(layer("d", "dropout"; rate = rate), shape, source())
    x = ones(Float32, shape..., 30)
    @test Backend.forward!(subject, x, false) === x
    first_mask = copy(Backend.forward!(subject, x, true))
    y = Backend.forward!(subject, x, true)
    @test y != first_mask
    @test Set(y) == Set(Float32[0, 1 / (1 - rate)])
    dropped = count(iszero, y) / length(y)
    @test abs(dropped - rate) < 5 * sqrt(rate * (1 - rate) / length(y))  # five deviations
    dy = fill(2.0f0, size(x))
    @test Backend.backward!(subject, dy) == 2 .* y
    @test_throws ArgumentError Backend.Dropout(layer("d", "dropout"; rate = 1.0), shape, source())
end

@testset "the gradient of an embedding is dense and forgets the batch before" begin
    subject = Backend.Embedding(
        layer("e", "embedding"; vocabulary = 4, dimension = 2), (3,),
        source("e.weight" => Float32[1 2 3 4; 5 6 7 8]),
    )
    y = Backend.forward!(subject, Int32[0 3; 3 3; 1 0], true)
    @test y[:, 1, 2] == [4, 8] && y[:, 2, 3] == [1, 5]  # dimension × sample × time
    Backend.parameter_gradient!(subject, ones(Float32, 2, 2, 3))
    @test subject.weight.gradient == [2 1 0 3; 2 1 0 3]
    Backend.forward!(subject, Int32[2 2; 2 2; 2 1], true)
    Backend.parameter_gradient!(subject, ones(Float32, 2, 2, 3))
    @test subject.weight.gradient == [0 1 5 0; 0 1 5 0]
end

@testset "σ and tanh in float32" begin
    numbers = [-30f0:0.001f0:30f0; [1f-30, -1f-8, 1f-4]]
    units(found, exact) = maximum(abs.(found .- exact) ./ eps.(found))  # in the last place
    @test units(Backend.sigmoid.(numbers), 1 ./ (1 .+ exp.(-Float64.(numbers)))) < 4
    @test units(Backend.hyperbolic_tangent.(numbers), tanh.(Float64.(numbers))) < 4
    @test Backend.sigmoid.([-Inf32, -200f0, 200f0, Inf32]) ≈ [0, 0, 1, 1] atol = 1f-37
    @test Backend.hyperbolic_tangent.([-Inf32, -200f0, 0f0, Inf32]) == [-1, -1, 0, 1]
    @test isnan(Backend.sigmoid(NaN32)) && isnan(Backend.hyperbolic_tangent(NaN32))
end

@testset "the loss doesn't overflow" begin
    logits = Float32[1000 0; 0 -1000; -1000 0]
    gradient = similar(logits)
    loss = Backend.softmax_cross_entropy!(gradient, logits, Int32[1, 0])
    @test loss ≈ (1000 + log(2)) / 2
    @test gradient ≈ [0.5 -0.25; -0.5 0; 0 0.25]
end
