using RosettaWorker: check_network

layer(name, kind; more...) =
    Header("name" => name, "kind" => kind, (string(k) => v for (k, v) in more)...)

dense(name) = layer(name, "dense"; units = 2)

input(kind, dtype) = Header("kind" => kind, "dtype" => dtype)

network(name, layers; more...) = merge(
    Header("name" => name, "layers" => Any[layers...], "loss" => "softmax_cross_entropy",
           "input" => name == "gru" ? input("tokens", "int32") : input("pixels", "uint8"),
           "optimiser" => Header("kind" => "sgd", "learning_rate" => 1, "momentum" => 0.9)),
    Header(string(k) => v for (k, v) in more))

mlp(; more...) = network("mlp", [dense("fc1"), layer("relu1", "relu"), dense("fc2")]; more...)

gru(form) = network("gru", [
    layer("embedding", "embedding"; vocabulary = 9, dimension = 2),
    layer("gru", "gru"; units = 3, returns = "last", form = form), dense("fc")])

conv(name; more...) =
    layer(name, "conv"; filters = 2, kernel = 3, stride = 1, padding = "same", more...)
pool(name) = layer(name, "max_pool"; size = 2, stride = 2)
drop(name) = layer(name, "dropout"; rate = 0.5)
relu(name) = layer(name, "relu")

cnn(first_layer) = network("cnn", [
    first_layer, relu("relu1"), conv("conv2"), pool("pool1"), relu("relu2"), drop("dropout1"),
    conv("conv3"), relu("relu3"), conv("conv4"), pool("pool2"), relu("relu4"), drop("dropout2"),
    layer("flatten", "flatten"), dense("fc1"), relu("relu5"), drop("dropout3"), dense("fc2")])

code(task, forms = Dict()) = first(refusal(() -> check_network(task, forms, 1)))
sgd(; more...) = Header("kind" => "sgd", "learning_rate" => 1, "momentum" => 0,
                        (string(k) => v for (k, v) in more)...)

@testset "the networks of the names are taken, whatever their sizes" begin
    @test check_network(mlp(), Dict(), 1) === nothing
    @test check_network(cnn(conv("conv1")), Dict(), 1) === nothing
    @test check_network(cnn(conv("conv1"; bias = true)), Dict(), 1) === nothing
    @test check_network(gru("cudnn"), Dict(), 1) === nothing
    @test check_network(gru("classic"), Dict("gru" => "classic"), 1) === nothing
    @test check_network(network("another", []), Dict(), 1) === nothing
end

@testset "another network under such a name is refused" begin
    @test code(network("mlp", [dense("fc1"), dense("fc2")])) == "unsupported"
    @test code(mlp(loss = "mse")) == "unsupported"
    @test code(mlp(input = input("tokens", "int32"))) == "unsupported"
    @test code(mlp(input = input("pixels", "int32"))) == "unsupported"
    @test code(mlp(optimiser = sgd(weight_decay = 0.1))) == "unsupported"
    @test code(mlp(optimiser = Header("kind" => "lion"))) == "unsupported"
    @test code(cnn(conv("conv1"; dilation = 2))) == "unsupported"
    @test code(cnn(merge(conv("conv1"), Header("kernel" => 5)))) == "unsupported"
    @test code(cnn(conv("conv1"; bias = false))) == "unsupported"
    @test code(gru("classic")) == "unsupported"
    @test code(gru("cudnn"), Dict("gru" => "classic")) == "unsupported"
end

"ResNet-50, with changes: `\"layer2.0\" => Header(\"stride\" => 1)`."
function resnet50(changes...; more...)
    layers = [
        layer("conv1", "conv"; filters = 64, kernel = 7, stride = 2, padding = "same",
              bias = false),
        layer("bn1", "batch_norm"; epsilon = 1e-5), relu("relu1"),
        layer("pool1", "max_pool"; size = 3, stride = 2, padding = 1)]
    for (stage, blocks) in enumerate((3, 4, 6, 3)), block in 0:blocks - 1
        stride = stage > 1 && block == 0 ? 2 : 1
        push!(layers, layer("layer$stage.$block", "bottleneck"; width = 8, stride = stride,
                            projection = block == 0))
    end
    push!(layers, layer("pool", "global_average_pool"))
    for (name, change) in changes, i in eachindex(layers)
        layers[i]["name"] == name && (layers[i] = merge(layers[i], change))
    end
    task = Header("name" => "resnet50", "layers" => Any[layers...],
                  "input" => input("pixels", "float32"))
    return merge(task, Header(string(k) => v for (k, v) in more))
end

@testset "a ResNet-50 has its strides, its epsilon and no training" begin
    @test check_network(resnet50(), Dict(), 1) === nothing
    @test check_network(resnet50("conv1" => Header("filters" => 3)), Dict(), 1) === nothing
    @test check_network(resnet50(loss = nothing, optimiser = nothing), Dict(), 1) === nothing
    for change in (
        "conv1" => Header("kernel" => 3), "conv1" => Header("bias" => true),
        "bn1" => Header("epsilon" => 1e-3), "bn1" => Header("momentum" => 0.1),
        "pool1" => Header("padding" => 0), "layer1.0" => Header("stride" => 2),
        "layer2.0" => Header("stride" => 1), "layer2.1" => Header("projection" => true),
        "layer3.0" => Header("projection" => false), "layer4.2" => Header("kind" => "block"),
    )
        @test code(resnet50(change)) == "unsupported"
    end
    @test code(resnet50(input = input("pixels", "uint8"))) == "unsupported"
    @test code(resnet50(loss = "softmax_cross_entropy")) == "unsupported"
    @test code(resnet50(optimiser = sgd())) == "unsupported"
    without = resnet50()
    without["layers"][5] = layer("layer1.0", "bottleneck"; stride = 1, projection = true)
    @test code(without) == "bad_header"
end

@testset "one that lacks something is a bad header" begin
    @test code(network("mlp", [layer("fc1", "dense"), relu("relu1"), dense("fc2")])) == "bad_header"
    @test code(network("mlp", [5])) == "bad_header"
    @test code(network("mlp", [Header("kind" => "dense")])) == "bad_header"
    @test code(mlp(optimiser = Header("kind" => "adam", "learning_rate" => 1))) == "bad_header"
    @test code(mlp(optimiser = 5)) == "bad_header"
    @test code(mlp(optimiser = Header())) == "bad_header"
end
