# The Julia side of the juliacall worker: a Julia worker's backend, as Python calls it.
#
# The runtime of the Julia workers finds, checks and calls the backend, which can't tell in which
# process it is. Python's arrays come as (address, element type, shape): Julia then holds no
# reference to them, and Python alone decides how long they live.

module RosettaHost

const JULIA_FOLDER = abspath(joinpath(@__DIR__, "..", "..", "..", "julia"))
push!(LOAD_PATH, JULIA_FOLDER)

using RosettaWorker: RosettaWorker, Backend, Setup, WorkerError
using RosettaWorker: call, load_backend, start_backend, texts

const backend = Ref{Backend}()

"What Python holds and gives back, but doesn't look into: a network, or a batch."
struct Held
    value::Any
end

"""
    start(worker, device, threads) -> Dict

Load the backend of the Julia worker of that name, and start it. Its packages come from the project
that juliacall runs in or, where that lacks them, from the worker's own. Returns what the backend
tells: `tasks` as a vector, all else as Dicts of texts. Throws `WorkerError`.
"""
function start(worker, device, threads)
    folder = joinpath(JULIA_FOLDER, "workers", worker)
    isfile(joinpath(folder, "Project.toml")) && push!(LOAD_PATH, folder)
    backend[] = load_backend(folder)
    told = start_backend(backend[], device, threads)
    told["tasks"] = collect(String, told["tasks"])
    for name in ("framework", "versions", "forms", "disclosures")
        told[name] = texts(get(told, name, ()))
    end
    return told
end

"The sentence of a failure that was foreseen; nothing for any other exception."
sentence(error) = error isa WorkerError ? error.sentence : nothing

"""
    build(setup, parameters...) -> Held

`setup` is JSON with the fields of `RosettaWorker.Setup`. A parameter is (name, array), and copied.
"""
function build(setup, parameters...)
    fields = RosettaWorker.Json.parse(setup)
    own = Dict{String,Array{Float32}}(name => copy(borrow(array)) for (name, array) in parameters)
    built = call(backend[].build, Setup((fields[string(f)] for f in fieldnames(Setup))...), own)
    return Held(built)
end

to_device(network, inputs, labels) =
    Held(call(backend[].to_device, network.value, borrow(inputs), borrow(labels)))

train_step(network, batch) = Float64(call(backend[].train_step!, network.value, batch.value))

set_learning_rate(network, rate) = call(backend[].set_learning_rate!, network.value, rate)

predict(network, inputs) = call(backend[].predict, network.value, borrow(inputs))

parameters(network) = call(backend[].parameters, network.value)

"""
    borrow((address, element_type, shape)) -> Array

A NumPy array in C order as a Julia array with the axes reversed: the same memory, not a copy. It
must not be used when Python has let go of the memory.
"""
function borrow((address, element_type, shape))
    pointer = Ptr{RosettaWorker.DTYPES[element_type]}(UInt(address))
    return unsafe_wrap(Array, pointer, reverse(shape))
end

end
