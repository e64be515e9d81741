# Softmax regression by plain gradient descent: the smallest backend that truly trains. Plain loops,
# as they are compiled soonest.

Base.Experimental.@optlevel 0

function start(device::String, threads::Int)
    device == "cpu" || throw(ArgumentError("device '$device' is not available: cpu only"))
    return (
        framework = (name = "tiny", version = "1"),
        versions = (julia = string(VERSION),),
        tasks = ["tiny", "mlp"],
        disclosures = Dict("mode" => "eager"),
    )
end

mutable struct Network
    weight::Array{Float32,2}  # features × classes
    scale::Float32
    learning_rate::Float32
end

function build(setup, parameters)
    task = setup.task
    scale, rate = get(task["input"], "scale", 1), task["optimiser"]["learning_rate"]
    return Network(parameters["fc.weight"], scale, rate)
end

to_device(network::Network, inputs, labels) = (inputs, labels)

set_learning_rate!(network::Network, rate) = (network.learning_rate = rate)

parameters(network::Network) = Dict("fc.weight" => network.weight)

function predict(network::Network, inputs)
    logits = zeros(Float32, size(network.weight, 2), size(inputs, 2))
    for sample in axes(inputs, 2), class in axes(logits, 1), feature in axes(inputs, 1)
        weight = network.weight[feature, class]
        logits[class, sample] += weight * network.scale * inputs[feature, sample]
    end
    return logits
end

function train_step!(network::Network, (inputs, labels))
    gradient = predict(network, inputs)  # of the logits, in the end
    loss, samples = 0.0, length(labels)
    for sample in 1:samples
        largest, sum_of_exponentials = -Inf, 0.0
        for class in axes(gradient, 1)
            largest = max(largest, gradient[class, sample])
        end
        for class in axes(gradient, 1)
            sum_of_exponentials += exp(gradient[class, sample] - largest)
        end
        for class in axes(gradient, 1)
            likelihood = gradient[class, sample] - largest - log(sum_of_exponentials)
            is_right = class == labels[sample] + 1
            loss -= is_right * likelihood / samples
            gradient[class, sample] = (exp(likelihood) - is_right) / samples
        end
    end
    for sample in 1:samples, class in axes(gradient, 1), feature in axes(inputs, 1)
        slope = gradient[class, sample] * network.scale * inputs[feature, sample]
        network.weight[feature, class] -= network.learning_rate * slope
    end
    return loss
end
