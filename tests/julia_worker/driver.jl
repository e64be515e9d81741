# The Julia runtime in the hands of the Python tests: `julia driver.jl`.
#
# Reads requests from standard input and answers each on standard output; both are a msgpack map
# with its length in front (4 bytes, little-endian). One process serves a whole test run, since a
# start of Julia takes seconds. `julia_process.py` is the other end.

push!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "julia"))

using RosettaWorker: RosettaWorker, Arrays, Backend, Connection, Header, MessagePack, OrderedMap
using RosettaWorker: Session, WireError, Zmq

include("golden.jl")

# --- sessions with a coordinator that has decided beforehand what it says -------------------------

"Adds one to its parameters in `step_ns`; the function `failing` throws once."
mutable struct Tiny
    failing::String
    step_ns::Int
    steps::Int
    setups::Vector{Any}
    rates::Vector{Float64}
    values::Dict{String,Array{Float32}}
end

function may_fail(tiny::Tiny, name)
    tiny.failing == name || return
    tiny.failing = ""
    error("out of memory")
end

function build(tiny::Tiny, setup, parameters)
    described = Dict(string(name) => getfield(setup, name) for name in fieldnames(typeof(setup)))
    push!(tiny.setups, described)
    tiny.values = parameters
    may_fail(tiny, "build")
    return tiny
end

function train_step!(tiny::Tiny, (inputs, labels), done)
    may_fail(tiny, "train_step")
    for part in (:forward, :backward)
        until = time_ns() + tiny.step_ns ÷ 2
        while time_ns() < until
        end
        done(part)
    end
    foreach(value -> value .+= 1, values(tiny.values))
    tiny.steps += 1
    return size(inputs, ndims(inputs)) / 2
end

train_step_whole!(tiny::Tiny, batch) = train_step!(tiny, batch, identity)

function predict(tiny::Tiny, inputs)
    may_fail(tiny, "predict")
    return Float64.(inputs[1:2, :])
end

"A channel: gives out the coordinator's messages, keeps what the worker says."
mutable struct Script
    reconnect_ns::Int
    left::Vector{Any}
    pause_ns::Int  # before each message that is waited for
    at_once::Bool  # all messages are there from the beginning
    tiny::Tiny
    said::Vector{Any}
    steps_before::Vector{Int}  # how many steps were done when each of `said` was sent
    left_before::Vector{Int}  # how many messages had not been taken in by then
end

RosettaWorker.is_live(::Script) = true

function RosettaWorker.receive(script::Script)
    Libc.systemsleep(script.pause_ns / 1e9)
    return isempty(script.left) ? nothing : take_first!(script)
end

RosettaWorker.receive_at_once(script::Script) =
    script.at_once && !isempty(script.left) ? take_first!(script) : nothing

take_first!(script::Script) = Vector{Vector{UInt8}}(popfirst!(script.left))

function RosettaWorker.send(script::Script, header, arrays)
    push!(script.said, map(bytes_of, RosettaWorker.encode(header, arrays)))
    push!(script.steps_before, script.tiny.steps)
    push!(script.left_before, length(script.left))
end

bytes_of(array::Array) = copy(reinterpret(UInt8, vec(array)))

"Let Julia compile a step: how long the first one of a session takes is held against its answer."
function compile_step()
    values = Dict("w" => zeros(Float32, 3, 2), "mean" => zeros(Float32, 2))
    tiny = Tiny("", 0, 0, [], [], values)
    train_step!(tiny, (zeros(UInt8, 3, 2), zeros(Int32, 2)), part -> nothing)
end

function play(request)
    compile_step()
    tiny = Tiny(request["failing"], request["step_ns"], 0, [], [], Dict())
    backend = Backend(
        identity,
        (setup, parameters) -> build(tiny, setup, parameters),
        (network, inputs, labels) -> (inputs, labels),
        request["tells_parts"] ? train_step! : train_step_whole!,  # as its last field says
        (network, rate) -> push!(network.rates, rate),
        predict,
        network -> network.values,
        request["tells_parts"],
    )
    script = Script(
        0, request["messages"], request["pause_ns"], request["at_once"], tiny, [], [], [])
    session = Session(script, backend, "cpu", 1)
    session.outbox.held_ns = request["held_ns"]
    status = Ref(0)
    log = written_to(redirect_stderr, stderr) do
        status[] = RosettaWorker.run(session, request["hello"])
    end
    return Dict(
        "said" => script.said, "status" => status[], "log" => log, "setups" => tiny.setups,
        "rates" => tiny.rates, "reconnect_ns" => script.reconnect_ns,
        "steps_before" => script.steps_before, "left_before" => script.left_before,
    )
end

"What `f()` writes to a standard stream."
function written_to(f, redirect, stream)
    path, io = mktemp()
    redirect(io)
    try
        f()
    finally
        flush(io)
        redirect(stream)
        close(io)
    end
    text = read(path, String)
    rm(path)
    return text
end

# --- the program ----------------------------------------------------------------------------------

function run_main(request)
    status, errors = Ref(0), Ref("")
    output = written_to(redirect_stdout, stdout) do
        errors[] = written_to(redirect_stderr, stderr) do
            status[] = RosettaWorker.main(Vector{String}(request["arguments"]))
        end
    end
    return Dict("status" => status[], "errors" => errors[], "output" => output)
end

# --- codecs: each for a list of cases, so that many take one request ------------------------------

"The same value written anew, and whether it was too deep; or an error."
function unpack(request)
    return map(request["cases"]) do data
        attempt(MessagePack.MessagePackError) do
            value, too_deep = MessagePack.unpack(data, request["max_depth"])
            Dict("packed" => MessagePack.pack(value), "too_deep" => too_deep)
        end
    end
end

parse_json(request) = map(request["cases"]) do text
    attempt(() -> Dict("value" => RosettaWorker.Json.parse(text)), RosettaWorker.Json.JsonError)
end

function attempt(f, Expected)
    try
        return f()
    catch error
        error isa Expected || rethrow()
        return Dict("error" => sprint(showerror, error))
    end
end

"Header and arrays of a message, written anew; or the refusal."
function decode(request)
    return map(request["cases"]) do frames
        try
            header, arrays = RosettaWorker.decode(Vector{Vector{UInt8}}(frames))
            frames = map(bytes_of, RosettaWorker.encode(header, arrays))
            Dict("header" => header, "frames" => frames)
        catch error
            error isa WireError || rethrow()
            Dict("code" => error.code, "sentence" => error.sentence, "re" => error.re)
        end
    end
end

# --- sockets --------------------------------------------------------------------------------------

"Sends the given messages, then echoes as many as it is told to."
function echo(request)
    Zmq.load()
    context = Zmq.Context()
    socket = Zmq.Socket(context, Zmq.DEALER)
    Zmq.set_option(socket, Zmq.ROUTING_ID, request["routing_id"])
    Zmq.connect(socket, request["endpoint"])
    foreach(message -> Zmq.send(socket, message), request["messages"])
    for _ in 1:request["count"]
        while !Zmq.poll([socket => Zmq.POLLIN], 1000)[1]
        end
        frames = Zmq.receive(socket)
        Zmq.send(socket, [read_bytes(frame) for frame in frames])
        foreach(close, frames)
    end
    close(socket)
    close(context)
    return Dict("version" => string(Zmq.version()))
end

read_bytes(frame) = Zmq.copy_bytes!(Vector{UInt8}(undef, length(frame)), frame)

"Waits for a message that never comes, for so long."
function wait_in_vain(request)
    connection = Connection(request["endpoint"]; reconnect_ns = request["reconnect_ns"])
    result = attempt(() -> RosettaWorker.receive(connection), RosettaWorker.WorkerError)
    close(connection)
    return result
end

"Says so much to nobody, and closes."
function send_in_vain(request)
    connection = Connection(request["endpoint"])
    for message in request["messages"]
        Zmq.send(connection.socket, message)
    end
    return Dict("seconds" => @elapsed close(connection))
end

const REQUESTS = Dict(
    "version" => request -> string(VERSION),
    "play" => play, "main" => run_main, "unpack" => unpack, "parse_json" => parse_json,
    "decode" => decode, "golden" => golden, "echo" => echo, "wait_in_vain" => wait_in_vain,
    "send_in_vain" => send_in_vain,
)

function serve(input::IO, output::IO)
    while !eof(input)
        request, _ = MessagePack.unpack(read(input, ltoh(read(input, UInt32))))
        reply = MessagePack.pack(Dict("reply" => REQUESTS[request["do"]](request)))
        write(output, htol(UInt32(length(reply))), reply)
        flush(output)
    end
end

serve(stdin, stdout)
