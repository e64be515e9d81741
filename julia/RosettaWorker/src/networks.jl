# The networks that a task's name stands for in protocol 1.0.
#
# A backend writes its network out by hand, for these layers in this order; only their sizes and
# rates come from SETUP. Whatever differs otherwise must be refused, not ignored: a task with
# another kernel or with weight decay would be trained as if it had none.

const LAYERS = Dict(
    "mlp" => "fc1:dense relu1:relu fc2:dense",
    "cnn" => "conv1:conv relu1:relu conv2:conv pool1:max_pool relu2:relu dropout1:dropout " *
             "conv3:conv relu3:relu conv4:conv pool2:max_pool relu4:relu dropout2:dropout " *
             "flatten:flatten fc1:dense relu5:relu dropout3:dropout fc2:dense",
    "gru" => "embedding:embedding gru:gru fc:dense",
    "resnet50" => "conv1:conv bn1:batch_norm relu1:relu pool1:max_pool " * join(
        ("layer$stage.$(block - 1):bottleneck"
         for (stage, blocks) in enumerate((3, 4, 6, 3)) for block in 1:blocks), ' ',
    ) * " pool:global_average_pool",
)

# What is fixed about a kind of layer (with its default where it may be left out), and what is free.
const FIXED = Dict{String,Dict{String,Any}}(
    "conv" => Dict("kernel" => 3, "stride" => 1, "padding" => "same", "bias" => true),
    "max_pool" => Dict("size" => 2, "stride" => 2, "padding" => 0),
    "gru" => Dict("returns" => "last"),
)
const FIXED_IN_RESNET = Dict{String,Dict{String,Any}}(
    "conv" => Dict("kernel" => 7, "stride" => 2, "padding" => "same", "bias" => false),
    "batch_norm" => Dict("epsilon" => 1e-5),
    "max_pool" => Dict("size" => 3, "stride" => 2, "padding" => 1),
)
const DEFAULTS = Dict{String,Any}("bias" => true, "padding" => 0)
const FREE = Dict(
    "conv" => ["filters"],
    "dense" => ["units"],
    "dropout" => ["rate"],
    "embedding" => ["vocabulary", "dimension"],
    "gru" => ["units"],
    "bottleneck" => ["width"],
)

const INPUTS = Dict(
    "mlp" => ("pixels", "uint8"), "cnn" => ("pixels", "uint8"), "gru" => ("tokens", "int32"),
    "resnet50" => ("pixels", "float32"),
)
const FORWARD_ONLY = ["resnet50"]
const OPTIMISERS = Dict(
    "sgd" => ["kind", "learning_rate", "momentum"],
    "adam" => ["kind", "learning_rate", "beta1", "beta2", "epsilon"],
)

"""
    check_network(task, forms, re)

Throw `WireError` unless `task` is the network of its name, whatever its sizes; `forms` is what
HELLO declared. A task of another name is its backend's own business.
"""
function check_network(task::Header, forms, re::Int)
    haskey(LAYERS, task["name"]) || return
    for (key, value) in zip(("kind", "dtype"), INPUTS[task["name"]])
        found = task["input"][key]
        found == value || not_computed("the input", key, found, re)
    end
    foreach(layer -> check_named("a layer", layer, re), task["layers"])
    found = join(("$(layer["name"]):$(layer["kind"])" for layer in task["layers"]), ' ')
    if found != LAYERS[task["name"]]
        throw(WireError("unsupported", "$(task["name"]) has other layers: $found", re))
    end
    foreach(layer -> check_layer(task["name"], layer, forms, re), task["layers"])
    task["name"] in FORWARD_ONLY ? check_no_training(task, re) : check_training(task, re)
end

function check_layer(task::String, layer, forms, re::Int)
    what, kind = "layer $(layer["name"])", layer["kind"]
    fixed, free = fixed_settings(task, layer), get(FREE, kind, String[])
    if kind == "gru"
        fixed["form"] = get(forms, "gru", "cudnn")
    end
    for (key, value) in fixed
        found = get(layer, key, get(DEFAULTS, key, nothing))
        found == value || not_computed(what, key, get(layer, key, nothing), re)
    end
    check_keys(what, layer, ["name", "kind", keys(fixed)...], free, re)
end

function fixed_settings(task::String, layer)
    kinds = task == "resnet50" ? FIXED_IN_RESNET : FIXED
    fixed = copy(get(kinds, layer["kind"], Dict{String,Any}()))
    if layer["kind"] == "bottleneck"  # layer2.0, the first of a stage: it changes the shape
        stage, block = split(layer["name"][length("layer") + 1:end], '.')
        fixed["projection"] = block == "0"
        fixed["stride"] = block == "0" && stage != "1" ? 2 : 1
    end
    return fixed
end

function check_no_training(task::Header, re::Int)
    for key in ("loss", "optimiser")
        found = get(task, key, nothing)
        found === nothing || not_computed("task $(task["name"])", key, found, re)
    end
end

function check_training(task::Header, re::Int)
    loss, optimiser = get(task, "loss", nothing), get(task, "optimiser", nothing)
    loss == "softmax_cross_entropy" || not_computed("task $(task["name"])", "loss", loss, re)
    if !(optimiser isa AbstractDict) || !haskey(optimiser, "kind")
        throw(WireError("bad_header", "SETUP's task lacks the kind of its optimiser", re))
    end
    kind = optimiser["kind"]
    haskey(OPTIMISERS, kind) || not_computed("the optimiser", "kind", kind, re)
    check_keys("the optimiser", optimiser, String[], OPTIMISERS[kind], re)
end

"`content` has all of the `required` keys, and no others but those and the `known` ones."
function check_keys(what, content, known, required, re::Int)
    for (key, value) in content
        key in known || key in required || not_computed(what, key, value, re)
    end
    missing_keys = sort(filter(key -> !haskey(content, key), required))
    isempty(missing_keys) && return
    throw(WireError("bad_header", "$what lacks $(join(missing_keys, ", "))", re))
end

function check_named(what, layer, re::Int)
    named = layer isa AbstractDict && haskey(layer, "name") && haskey(layer, "kind")
    named || throw(WireError("bad_header", "SETUP's task has $what without name or kind", re))
end

function not_computed(what, key, value, re::Int)
    sentence = "$what has $key = $(shown(value)), which isn't computed here"
    throw(WireError("unsupported", sentence, re))
end
