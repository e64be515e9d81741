# $title: what is still missing says so when it is called.

"""
    start(device, threads) -> Dict

Set the threads and the precision; tell what computes. `ArgumentError` for a device that isn't there.
"""
function start(device::String, threads::Int)
    device == "cpu" || throw(ArgumentError(
        "device \"$$device\" is not available: $title computes on the CPU",
    ))
    return Dict{String,Any}(
        "framework" => Dict("name" => "$title", "version" => string(VERSION)),
        "versions" => Dict("julia" => string(VERSION)),
        "tasks" => ["mlp"],
        "forms" => Dict("adam" => "torch", "gru" => "cudnn"),
        "disclosures" => Dict("precision" => "float32"),
    )
end

"The network of a task, with its parameters: canonical names, axes reversed."
mutable struct Network
    scale::Float32
    optimiser::Any
    rate::Float64
    names::Vector{String}
    values::Dict{String,Any}
end

function build(setup, parameters)
    optimiser = setup.task["optimiser"]
    names = String[entry["name"] for entry in setup.task["parameters"]]
    return Network(
        get(setup.task["input"], "scale", 1.0), optimiser, optimiser["learning_rate"], names,
        Dict{String,Any}(name => copy(parameters[name]) for name in names),
    )
end

to_device(network, inputs, labels) = (inputs, labels)

train_step!(network, batch) = error("step 3: forward, loss, backward, update")

set_learning_rate!(network, rate) = network.rate = rate

predict(network, inputs) = error("step 2: the logits, classes × batch")

parameters(network) = network.values
