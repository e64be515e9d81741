# A worker's side of a session: it answers each message, in order (protocol/SPEC.md, section 7).

"""
    Session(channel, backend, device, threads)

Greets, then answers until BYE. `channel` is a `Connection` or a `Tape`: whatever has `send`,
`receive`, `receive_at_once`, `is_live` and `reconnect_ns`.
"""
mutable struct Session{C}
    channel::C
    backend::Backend
    device::String
    threads::Int
    inbox::Inbox{C}
    outbox::Outbox{C}
    status::Int
    welcomed::Bool
    over::Bool
    tasks::Vector{String}
    forms::Dict{String,String}
    setup::Union{Setup,Nothing}
    network::Any
    parts::Union{Parts,Nothing}  # of backends that tell them
    wait_ns::Int
end

Session(channel, backend::Backend, device::AbstractString, threads::Integer) = Session(
    channel, backend, String(device), Int(threads), Inbox(channel, keys(HANDLERS)),
    Outbox(channel), 0, false, false, String[], Dict{String,String}(), nothing, nothing,
    nothing, 0,
)

"""
    run(session, hello) -> exit status

Greet with the fields `hello`, serve until BYE or the end of the tape.
"""
function run(session::Session, hello::Header)
    session.tasks, session.forms = hello["tasks"], get(hello, "forms", Dict{String,String}())
    send(session.outbox, "HELLO", hello)
    while !session.over
        message = next_message(() -> flush(session.outbox), session.inbox)
        message === nothing && break
        take(session, message)
    end
    return session.status
end

"Answer one message, whatever it holds."
function take(session::Session, message::Message)
    header = message.header
    is_batch(message) || flush(session.outbox)  # what follows may take long
    session.wait_ns = message.wait_ns
    try
        message.error === nothing || throw(message.error)
        handler = get(HANDLERS, header["type"], nothing)
        if handler === nothing
            log_line("ignored a message of unknown type $(shown(header["type"]))")
        else
            handler(session, header, message.arrays)
        end
    catch error
        error isa Union{WorkerError,InterruptException} && rethrow()
        refuse(session, error, get(header, "id", nothing))
    end
end

refuse(session::Session, error::WireError, re) =
    send_error(session, error.code, error.sentence, error.re === nothing ? re : error.re)

function refuse(session::Session, error, re)  # the backend's own: whatever the framework throws
    log_exception(error, catch_backtrace())
    forget(session)
    send_error(session, "backend", describe(error), re)
end

# --- the coordinator's messages, one function each ------------------------------------------------

function on_welcome(session::Session, header::Header, ::Arrays)
    described = get(header, "shm", nothing)
    if described !== nothing
        session.inbox.memory = attach(described, header["id"])
    end
    session.welcomed = true  # not before: a WELCOME that is answered with ERROR changes nothing
    credit = get(header, "credit", nothing)
    if is_number(credit)
        session.outbox.credit = credit
    end
    patience = get(header, "reconnect_ns", nothing)
    if is_number(patience)
        session.channel.reconnect_ns = patience
    end
end

function on_refuse(session::Session, header::Header, ::Arrays)
    log_line("refused by the coordinator: $(get(header, "reason", ""))")
    session.status, session.over = 1, true
end

function on_setup(session::Session, header::Header, arrays::Arrays)
    re = header["id"]
    require(session.welcomed, "SETUP before WELCOME", re)
    require(session.setup === nothing, "SETUP before the END of the task under way", re)
    setup = read_setup(session, header, arrays)
    started = now_ns()
    network = call(session.backend.build, setup, owned(arrays, session.inbox.memory))
    setup_ns = now_ns() - started
    session.setup, session.network = setup, network
    session.parts = session.backend.tells_parts ? Parts() : nothing
    built = values_of(session)
    frozen = Set(p["name"] for p in setup.task["parameters"] if get(p, "trainable", true) == false)
    trained = [length(array) for (name, array) in built if !(name in frozen)]
    answer(session, "READY", re, Header(
        "parameter_count" => sum(trained),
        "parameters" => [Header("name" => n, "shape" => wire_shape(a)) for (n, a) in built],
        "threads" => session.threads,
        "setup_ns" => setup_ns,
    ))
end

function on_batch(session::Session, header::Header, arrays::Arrays)
    re, wait_ns = header["id"], session.wait_ns
    task = present_task(session, re)
    trained = get(task, "optimiser", nothing) !== nothing
    require(trained, "task $(task["name"]) is forward only", re)
    inputs = check_inputs(task, arrays, re)
    labels = check_labels(task, arrays, inputs, re)
    step = get(header, "step", nothing)
    require(is_number(step), "BATCH lacks `step`", re, "bad_header")
    rate = check_learning_rate(header, re)
    backend, network = session.backend, session.network
    rate === nothing || call(backend.set_learning_rate!, network, rate)
    started = now_ns()
    batch = call(backend.to_device, network, inputs, labels)
    copied = now_ns()
    loss = train_step(session, network, batch)
    finished = now_ns()
    hold(session.outbox, "RESULT", finished - started, merge(times!(session.parts, copied), Header(
        "re" => re,
        "step" => step,
        "loss" => Float64(loss),
        "wait_ns" => wait_ns,
        "copy_ns" => copied - started,
        "step_ns" => finished - copied,
    )))
end

function train_step(session::Session, network, batch)
    f, parts = session.backend.train_step!, session.parts
    parts === nothing && return call(f, network, batch)
    return call(f, network, batch, part -> done!(parts, part))
end

function on_predict(session::Session, header::Header, arrays::Arrays)
    re, wait_ns = header["id"], session.wait_ns
    inputs = check_inputs(present_task(session, re), arrays, re)
    started = now_ns()
    logits = call(session.backend.predict, session.network, inputs)
    predict_ns = now_ns() - started
    times = Header("wait_ns" => wait_ns, "copy_ns" => 0, "predict_ns" => predict_ns)
    answer(session, "PREDICTIONS", re, times, ["logits" => convert(Array{Float32}, logits)])
end

function on_parameters(session::Session, header::Header, ::Arrays)
    present_task(session, header["id"])
    answer(session, "VALUES", header["id"], Header(), values_of(session))
end

function on_end(session::Session, header::Header, ::Arrays)
    forget(session)
    answer(session, "ENDED", header["id"])
end

function on_bye(session::Session, header::Header, ::Arrays)
    session.over = true
    answer(session, "BYE", header["id"])
end

function on_error(session::Session, header::Header, ::Arrays)
    log_line("the coordinator says: $(get(header, "message", ""))")
    if get(header, "fatal", false) == true
        session.status, session.over = 1, true
    end
end

const HANDLERS = Dict{String,Function}(
    "WELCOME" => on_welcome,
    "REFUSE" => on_refuse,
    "SETUP" => on_setup,
    "BATCH" => on_batch,
    "PREDICT" => on_predict,
    "PARAMETERS" => on_parameters,
    "END" => on_end,
    "BYE" => on_bye,
    "ERROR" => on_error,
)

# --- helpers --------------------------------------------------------------------------------------

function read_setup(session::Session, header::Header, arrays::Arrays)
    re = header["id"]
    task = check_setup(header, session.tasks, session.forms, re)
    threads = header["threads"]
    if is_live(session.channel) && threads != session.threads
        computes = "this process computes with $(session.threads) threads"
        throw(WireError("unsupported", "$computes; start it anew for $threads", re))
    end
    check_parameters(task, arrays, re)
    batch_size, seed, dropout = header["batch_size"], header["seed"], header["dropout"]
    return Setup(task, batch_size, seed, dropout, threads, session.device)
end

"The network's parameters: in the task's order, and behind them whatever the task doesn't have."
function values_of(session::Session)
    found = call(session.backend.parameters, session.network)
    names = [p["name"] for p in session.setup.task["parameters"] if haskey(found, p["name"])]
    append!(names, sort(setdiff(collect(String, keys(found)), names)))
    return Arrays([name => convert(Array{Float32}, found[name]) for name in names])
end

function present_task(session::Session, re::Int)
    require(session.setup !== nothing, "no task is set up", re)
    return session.setup.task
end

require(condition::Bool, sentence, re::Int, code = "bad_state") =
    condition || throw(WireError(code, sentence, re))

"Let go of the network, and of its memory at once: the next task is measured too."
function forget(session::Session)
    session.setup = session.network = nothing
    GC.gc()
end

answer(session::Session, kind, re::Int, fields = Header(), arrays = Arrays()) =
    send(session.outbox, kind, merge(fields, Header("re" => re)), arrays)

function send_error(session::Session, code, sentence, re)
    fields = Header("code" => code, "message" => text(sentence), "fatal" => false)
    re === nothing || (fields["re"] = re)
    send(session.outbox, "ERROR", fields)
end
