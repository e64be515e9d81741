# What a message must hold before a backend sees it. Every function throws `WireError`.

const SETUP_KEYS = [
    "task" => "map", "batch_size" => "integer", "seed" => "integer", "dropout" => "boolean",
    "threads" => "integer",
]
const SETUP_BOUNDS = [
    "batch_size" => (1, typemax(Int)), "seed" => (0, 2^31 - 1), "threads" => (1, 65536),
]
const TASK_KEYS = [
    "name" => "text", "layers" => "list", "parameters" => "list", "input" => "map",
    "classes" => "integer",
]
const INPUT_KEYS = ["kind" => "text", "dtype" => "text", "shape" => "list"]
const TOKENS_KEYS = ["vocabulary" => "integer"; INPUT_KEYS]

"""
    check_setup(header, tasks, forms, re) -> task

The task of a SETUP, unless this worker can't build it. `tasks` and `forms` are what its HELLO said.
"""
function check_setup(header::Header, tasks, forms, re::Int)
    for (key, kind) in SETUP_KEYS
        kind_of(get(header, key, nothing)) == kind ||
            throw(WireError("bad_header", "SETUP's `$key` is not $kind", re))
    end
    for (key, (low, high)) in SETUP_BOUNDS
        low <= header[key] <= high ||
            throw(WireError("bad_header", "SETUP's `$key` is $(header[key])", re))
    end
    task = Header(key => value for (key, value) in header["task"] if key isa String)
    name = get(task, "name", nothing)
    if !(name in tasks)
        sentence = "no task $(shown(name)); there are: $(join(tasks, ", "))"
        throw(WireError("unknown_task", sentence, re))
    end
    require_kinds("SETUP's task", task, TASK_KEYS, re)
    input = task["input"]
    keys = get(input, "kind", nothing) == "tokens" ? TOKENS_KEYS : INPUT_KEYS
    require_kinds("the input of SETUP's task", input, keys, re)
    check_network(task, forms, re)
    return task
end

function require_kinds(what, content, keys, re::Int)
    lacking = [key for (key, kind) in keys if kind_of(get(content, key, nothing)) != kind]
    isempty(lacking) && return
    throw(WireError("bad_header", "$what lacks $(join(lacking, ", "))", re))
end

"`arrays` are the task's parameters, float32, in shape and order."
function check_parameters(task::Header, arrays::Arrays, re::Int)
    expected = map(task["parameters"]) do parameter
        if !(parameter isa AbstractDict) || !(get(parameter, "name", nothing) isa String) ||
           !(get(parameter, "shape", nothing) isa Vector{Any})
            sentence = "SETUP's task has a parameter without name or shape"
            throw(WireError("bad_header", sentence, re))
        end
        parameter["name"] => parameter["shape"]
    end
    found = [name => wire_shape(array) for (name, array) in arrays]
    for position in 1:max(length(expected), length(found))
        wanted = position <= length(expected) ? expected[position] : nothing
        given = position <= length(found) ? found[position] : nothing
        wanted == given && continue
        pair = "$(shown_parameter(wanted)) expected, $(shown_parameter(given)) found"
        sentence = "SETUP's arrays are not the task's parameters: $pair"
        throw(WireError("bad_shape", sentence, re))
    end
    for (name, array) in arrays
        eltype(array) === Float32 ||
            throw(WireError("bad_dtype", "parameter '$name' is not float32", re))
    end
end

shown_parameter(::Nothing) = "none"
shown_parameter((name, shape)::Pair) = "'$name' $(shown(shape))"

"The array `inputs`: a batch of at least one of the task's samples."
function check_inputs(task::Header, arrays::Arrays, re::Int)
    inputs, described = lookup(arrays, "inputs"), task["input"]
    inputs === nothing && throw(WireError("bad_frames", "array `inputs` is missing", re))
    if dtype_of(inputs) != described["dtype"]
        sentence = "inputs are $(dtype_of(inputs)), the task's are $(described["dtype"])"
        throw(WireError("bad_dtype", sentence, re))
    end
    shape = wire_shape(inputs)
    if isempty(shape) || shape[2:end] != described["shape"] || isempty(inputs)
        shapes = "have shape $(shown(shape)), one sample of the task $(shown(described["shape"]))"
        throw(WireError("bad_shape", "inputs $shapes", re))
    end
    described["kind"] == "tokens" && check_range("token", inputs, described["vocabulary"], re)
    return inputs
end

"The array `labels`: int32, one class a sample of `inputs`."
function check_labels(task::Header, arrays::Arrays, inputs::Array, re::Int)
    labels, batch = lookup(arrays, "labels"), size(inputs, ndims(inputs))
    labels === nothing && throw(WireError("bad_frames", "array `labels` is missing", re))
    if eltype(labels) !== Int32
        throw(WireError("bad_dtype", "labels are $(dtype_of(labels)), not int32", re))
    end
    if size(labels) != (batch,)
        sentence = "labels have shape $(shown(wire_shape(labels))) for $batch inputs"
        throw(WireError("bad_shape", sentence, re))
    end
    check_range("label", labels, task["classes"], re)
    return labels
end

function check_range(what, values::Array, limit::Integer, re::Int)
    low, high = extrema(values)
    0 <= low && high < limit && return
    throw(WireError("bad_value", "a $what lies outside 0..$(limit - 1)", re))
end

"The `learning_rate` of a BATCH: a number from 0 to a million, or nothing."
function check_learning_rate(header::Header, re::Int)
    rate = get(header, "learning_rate", nothing)
    rate === nothing && return nothing
    if rate isa Bool || !(rate isa Real) || !(0 <= rate <= 1e6)
        throw(WireError("bad_header", "BATCH's `learning_rate` is $(shown(rate))", re))
    end
    return Float64(rate)
end
