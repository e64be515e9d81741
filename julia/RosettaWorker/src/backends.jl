# What a backend is, and how it is found.
#
# A backend is the file `backend.jl` of a worker's folder, which may include others. It knows its
# framework and nothing of sockets, messages or timing. It has these functions; the network that
# `build` returns is the first argument of the last five:
#
# `start(device, threads)`
#     Called once, before any work. Sets the framework up (threads, precision) and returns, in a
#     Dict or NamedTuple, `framework` (with `name` and `version`), `versions` (name => version),
#     `tasks` (names), `forms` (see SPEC section 9) and `disclosures` (name => text). Throws
#     `ArgumentError` with one sentence for a device, or a number of threads, that it can't compute
#     with.
#
# `build(setup, parameters) -> network`
#     Builds the network of `setup.task` with the given initial parameters: a Dict from canonical
#     name to `Array{Float32}`, which is the backend's own. The axes are the canonical ones
#     reversed, as in all arrays here: a dense weight (out, in) is `in × out`, a convolution's
#     (O, I, H, W) is `W × H × I × O`.
#
# `to_device(network, inputs, labels) -> batch`
#     From arrays on the host (pixels `Array{UInt8}` `W × H × C × N` or `features × N`, tokens
#     `Array{Int32}` `T × N`; labels `Vector{Int32}` from 0) to whatever the framework wants. The
#     arrays are neither changed nor kept beyond the step. Timed as `copy_ns`.
# `train_step!(network, batch) -> loss`
#     Forward, loss, backward, update. Returns the mean loss of the batch before the update, and
#     only when the device has finished all of it. Timed as `step_ns`. In a backend with
#     `const tells_parts = true` it is called with a third argument, a function, which it calls with
#     `:forward` when the loss is known and with `:backward` when the gradients are. Only where these
#     are computed one after the other, and by the call itself: on an asynchronous device nothing is
#     done when it returns.
# `set_learning_rate!(network, rate)`
#     The learning rate from the next step on. Seldom called, and not timed.
# `predict(network, inputs)`
#     Logits, `classes × N`, dropout off; of a task that goes forward only (it has no `optimiser`,
#     its pixels are `Array{Float32}`, and the three functions above are never called) the features.
#     Timed as `predict_ns`.
# `parameters(network)`
#     Present values: canonical names, reversed axes, float32.

"What SETUP asks for; see `build`. Where a float is due in `task`, an integer may come."
struct Setup
    task::Header
    batch_size::Int
    seed::Int
    dropout::Bool
    threads::Int
    device::String
end

"A backend's functions."
struct Backend
    start::Any
    build::Any
    to_device::Any
    train_step!::Any
    set_learning_rate!::Any
    predict::Any
    parameters::Any
    tells_parts::Bool
end

const FUNCTIONS = [name for name in fieldnames(Backend) if name != :tells_parts]

"""
    call(f, arguments...)

Call a backend's function. It was defined after this runtime was compiled, which Julia wouldn't see
otherwise ("world age").
"""
call(f, arguments...) = Base.invokelatest(f, arguments...)

"""
    load_backend(folder) -> Backend

The functions of `backend.jl` in a worker's folder, which is run in a fresh module. Throws
`WorkerError` for a folder that holds no usable backend.
"""
function load_backend(folder::AbstractString)
    path = joinpath(folder, "backend.jl")
    isfile(path) || throw(WorkerError("no backend.jl in $folder"))
    # Its parent is anonymous, so that a second backend doesn't replace the first.
    home = Core.eval(Module(:Worker), Expr(:module, true, :Backend, Expr(:block)))
    try
        Base.include(home, abspath(path))
    catch error
        error isa InterruptException && rethrow()
        log_exception(error, catch_backtrace())
        throw(WorkerError("$path: $(describe(root_cause(error)))"))
    end
    missing_names = [name for name in FUNCTIONS if !has_function(home, name)]
    if !isempty(missing_names)
        throw(WorkerError("$path lacks $(join(missing_names, ", ", " and "))"))
    end
    tells_parts = call(isdefined, home, :tells_parts) && call(getfield, home, :tells_parts) == true
    return Backend((call(getfield, home, name) for name in FUNCTIONS)..., tells_parts)
end

has_function(home::Module, name::Symbol) =
    call(isdefined, home, name) && call(getfield, home, name) isa Base.Callable

"The exception that `include` wrapped."
root_cause(error) = error isa LoadError ? root_cause(error.error) : error

"Write an exception with its stack trace to standard error: it is for the worker's log."
function log_exception(error, trace)
    showerror(stderr, error, trace)
    println(stderr)
end

"What a backend's `start` returns, with texts for keys. Throws `WorkerError`."
function start_backend(backend::Backend, device::String, threads::Int)
    try
        return with_text_keys(call(backend.start, device, threads))
    catch error
        error isa ArgumentError || rethrow()
        throw(WorkerError(error.msg, NO_SUCH_DEVICE))
    end
end

with_text_keys(content) = Dict{String,Any}(string(key) => value for (key, value) in pairs(content))
