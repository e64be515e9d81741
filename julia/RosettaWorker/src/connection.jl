# The socket of a worker: a DEALER that connects to where the connection file says.

using Random: RandomDevice

"How long to wait for a coordinator that isn't there yet."
const FIRST_CONTACT_NS = 30 * 10^9

const EVENTS = Zmq.EVENT_HANDSHAKE_SUCCEEDED | Zmq.EVENT_HANDSHAKE_FAILED_AUTH |
    Zmq.EVENT_DISCONNECTED

"Monotonic time in nanoseconds."
now_ns() = Int(time_ns())

"""
    Connection(endpoint; curve = nothing, reconnect_ns = FIRST_CONTACT_NS)

Sends and receives messages; notices a coordinator that went away for longer than `reconnect_ns`,
which WELCOME changes. `curve` holds the keys of a connection file that asks for encryption. Throws
`WorkerError` for an endpoint that can't be one. It is to be closed.
"""
mutable struct Connection
    endpoint::String
    reconnect_ns::Int
    context::Zmq.Context
    socket::Zmq.Socket
    observer::Zmq.Socket
    absent_since::Union{Int,Nothing}
end

function Connection(endpoint::AbstractString; curve = nothing, reconnect_ns = FIRST_CONTACT_NS)
    try
        Zmq.load()
    catch error
        error isa Zmq.ZmqError || rethrow()
        throw(WorkerError(describe(error)))
    end
    if curve !== nothing && !Zmq.has("curve")
        sentence = "this libzmq was built without CURVE, which the coordinator asks for"
        throw(WorkerError(sentence))
    end
    context = Zmq.Context()
    socket = Zmq.Socket(context, Zmq.DEALER)
    observer = Zmq.monitor(context, socket, EVENTS)
    connection = Connection(endpoint, reconnect_ns, context, socket, observer, now_ns())
    try
        set_options(socket, endpoint, curve)
        Zmq.connect(socket, endpoint)
    catch error
        close(connection)
        error isa Union{Zmq.ZmqError,ArgumentError} || rethrow()  # ArgumentError: a zero byte
        words = error isa Zmq.ZmqError ? error.words : error.msg
        throw(WorkerError("endpoint '$endpoint': $words"))
    end
    return connection
end

function set_options(socket::Zmq.Socket, endpoint::AbstractString, curve)
    Zmq.set_option(socket, Zmq.LINGER, Int32(2000))
    # Kept over a reconnection, so that the coordinator knows us again.
    Zmq.set_option(socket, Zmq.ROUTING_ID, [UInt8('W'); rand(RandomDevice(), UInt8, 16)])
    Zmq.set_option(socket, Zmq.MAXMSGSIZE, Int64(MAX_FRAME_BYTES))
    if startswith(endpoint, "tcp:")
        # ZMTP's own heartbeat, answered by libzmq's thread even while a step computes: finds a peer
        # whose machine vanished without closing the connection.
        Zmq.set_option(socket, Zmq.HEARTBEAT_IVL, Int32(5000))
        Zmq.set_option(socket, Zmq.HEARTBEAT_TIMEOUT, Int32(20000))
    end
    if curve !== nothing
        Zmq.set_option(socket, Zmq.CURVE_SERVERKEY, curve["server_key"])
        Zmq.set_option(socket, Zmq.CURVE_PUBLICKEY, curve["public_key"])
        Zmq.set_option(socket, Zmq.CURVE_SECRETKEY, curve["secret_key"])
    end
end

"Whether there is a coordinator, which knows with how many threads this process computes."
is_live(::Connection) = true

"Send one message. Throws `WorkerError` when the coordinator is gone."
function send(connection::Connection, header::Header, arrays::Arrays)
    # A coordinator that turned us away has closed what a message could be sent to: without this,
    # libzmq would wait for another one for ever.
    wait_until_ready(connection, Zmq.POLLOUT)
    Zmq.send(connection.socket, encode(header, arrays))
end

"""
    receive(connection) -> frames

Frames of the next message, to be closed by the caller. Throws `WorkerError` when the coordinator is
gone.
"""
function receive(connection::Connection)
    frames = receive_at_once(connection)
    while frames === nothing
        wait_until_ready(connection, Zmq.POLLIN)
        frames = receive_at_once(connection)
    end
    return frames
end

"Frames of the next message if it is there, else nothing; to be closed by the caller."
receive_at_once(connection::Connection) = Zmq.receive_at_once(connection.socket)

function wait_until_ready(connection::Connection, events)
    wanted = [connection.socket => events, connection.observer => Zmq.POLLIN]
    while true
        is_ready, has_news = Zmq.poll(wanted, patience_ms(connection))
        has_news && observe(connection)
        # Also where it is ready: what is sent would be kept for the return of a coordinator that
        # left while we computed.
        if !has_news && patience_ms(connection) == 0
            throw(WorkerError("no coordinator at $(connection.endpoint)"))
        end
        is_ready && return
    end
end

"Milliseconds until the coordinator counts as gone; -1 (no limit) while it is there."
function patience_ms(connection::Connection)
    connection.absent_since === nothing && return -1
    left_ns = connection.reconnect_ns - (now_ns() - connection.absent_since)
    return clamp(cld(left_ns, 10^6), 0, 2^31 - 1)
end

function observe(connection::Connection)
    event = Zmq.read_event(connection.observer)
    if event == Zmq.EVENT_HANDSHAKE_FAILED_AUTH
        at = "the coordinator at $(connection.endpoint)"
        throw(WorkerError("$at doesn't know this connection file's keys"))
    elseif event == Zmq.EVENT_HANDSHAKE_SUCCEEDED
        connection.absent_since = nothing
    elseif connection.absent_since === nothing
        connection.absent_since = now_ns()
    end
end

"Send what is still queued (for at most two seconds) and close."
function Base.close(connection::Connection)
    Zmq.stop_monitor(connection.socket)
    close(connection.observer)  # the context waits for every socket, this one too
    close(connection.socket)
    close(connection.context)
end
