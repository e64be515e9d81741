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

@testset "one that lacks something is a bad header" begin
    @test code(network("mlp", [layer("fc1", "dense"), relu("relu1"), dense("fc2")])) == "bad_header"
    @test code(network("mlp", [5])) == "bad_header"
    @test code(network("mlp", [Header("kind" => "dense")])) == "bad_header"
    @test code(mlp(optimiser = Header("kind" => "adam", "learning_rate" => 1))) == "bad_header"
    @test code(mlp(optimiser = 5)) == "bad_header"
    @test code(mlp(optimiser = Header())) == "bad_header"
end
