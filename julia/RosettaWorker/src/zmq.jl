"""
libzmq, as far as a worker needs it: sockets that connect, options, multipart messages, a monitor.

The library is opened at run time, by `load`. Sockets, frames and contexts are closed explicitly,
never by a finalizer: closing a context waits for all of its sockets.
"""
module Zmq

using Libdl: Libdl

const PAIR = 0
const DEALER = 5
const ROUTER = 6

# Options of sockets. MAXMSGSIZE is a number of 64 bits, the other numbers have 32.
const ROUTING_ID = 5
const LINGER = 17
const MAXMSGSIZE = 22
const CURVE_PUBLICKEY = 48
const CURVE_SECRETKEY = 49
const CURVE_SERVERKEY = 50
const HEARTBEAT_IVL = 75
const HEARTBEAT_TIMEOUT = 77

const EVENT_DISCONNECTED = 0x0200
const EVENT_HANDSHAKE_SUCCEEDED = 0x1000
const EVENT_HANDSHAKE_FAILED_AUTH = 0x4000

const DONTWAIT = 1
const SNDMORE = 2
const POLLIN = Cshort(1)
const POLLOUT = Cshort(2)

"A call of libzmq failed: which one, and libzmq's own words."
struct ZmqError <: Exception
    call::String
    words::String
end

Base.showerror(io::IO, error::ZmqError) = print(io, error.call, ": ", error.words)

# --- the library ----------------------------------------------------------------------------------

const LIBRARY = Ref{Ptr{Cvoid}}(C_NULL)

"""
    load()

Open libzmq, unless it is open: the file that the environment variable `ROSETTA_LIBZMQ` names, or
else what the system's loader finds. Throws `ZmqError`.
"""
function load()
    LIBRARY[] == C_NULL || return
    for name in (get(ENV, "ROSETTA_LIBZMQ", ""), "libzmq.so.5", "libzmq")
        isempty(name) && continue
        handle = Libdl.dlopen(name; throw_error = false)
        if handle !== nothing
            LIBRARY[] = handle
            return
        end
    end
    throw(ZmqError("libzmq", "not found; ROSETTA_LIBZMQ can name its file"))
end

symbol(name::Symbol) = Libdl.dlsym(LIBRARY[], name)

errno() = ccall(symbol(:zmq_errno), Cint, ())

words_of(number) = unsafe_string(ccall(symbol(:zmq_strerror), Cstring, (Cint,), number))

"""
    checked(call, name)

What `call()` returns. Repeats it when a signal interrupted it; throws `ZmqError` for any other
failure, which is a -1 or a null pointer.
"""
function checked(call, name::AbstractString)
    while true
        result = call()
        failed = result isa Ptr ? result == C_NULL : result == -1
        failed || return result
        number = errno()
        number == Libc.EINTR || throw(ZmqError(name, words_of(number)))
    end
end

"The library's version."
function version()
    major, minor, patch = Ref{Cint}(), Ref{Cint}(), Ref{Cint}()
    ccall(symbol(:zmq_version), Cvoid, (Ref{Cint}, Ref{Cint}, Ref{Cint}), major, minor, patch)
    return VersionNumber(major[], minor[], patch[])
end

"Whether the library was built with something, such as `curve`."
has(capability::AbstractString) = ccall(symbol(:zmq_has), Cint, (Cstring,), capability) == 1

# --- contexts and sockets -------------------------------------------------------------------------

"Owns sockets; `close` waits until they have sent what their linger lets them send."
mutable struct Context
    handle::Ptr{Cvoid}
end

Context() = Context(checked(() -> ccall(symbol(:zmq_ctx_new), Ptr{Cvoid}, ()), "zmq_ctx_new"))

function Base.close(context::Context)
    context.handle == C_NULL && return
    checked("zmq_ctx_term") do
        ccall(symbol(:zmq_ctx_term), Cint, (Ptr{Cvoid},), context.handle)
    end
    context.handle = C_NULL
    return
end

"A socket, for one thread."
mutable struct Socket
    handle::Ptr{Cvoid}
end

function Socket(context::Context, kind::Integer)
    return Socket(checked("zmq_socket") do
        ccall(symbol(:zmq_socket), Ptr{Cvoid}, (Ptr{Cvoid}, Cint), context.handle, kind)
    end)
end

function Base.close(socket::Socket)
    socket.handle == C_NULL && return
    ccall(symbol(:zmq_close), Cint, (Ptr{Cvoid},), socket.handle)
    socket.handle = C_NULL
    return
end

"Connect to `endpoint`, now or as soon as somebody listens there. Throws `ZmqError`."
function connect(socket::Socket, endpoint::AbstractString)
    checked("zmq_connect") do
        ccall(symbol(:zmq_connect), Cint, (Ptr{Cvoid}, Cstring), socket.handle, endpoint)
    end
    return
end

"""
    set_option(socket, option, value)

Set an option to a number (`Int32`, or `Int64` where libzmq wants 64 bits), to bytes, or to a text.
"""
set_option(socket::Socket, option::Integer, value::Union{Int32,Int64}) =
    set_option(socket, option, Vector{UInt8}(reinterpret(UInt8, [value])))

set_option(socket::Socket, option::Integer, value::AbstractString) =
    set_option(socket, option, Vector{UInt8}(codeunits(value)))

function set_option(socket::Socket, option::Integer, value::Vector{UInt8})
    checked("zmq_setsockopt") do
        ccall(symbol(:zmq_setsockopt), Cint, (Ptr{Cvoid}, Cint, Ptr{UInt8}, Csize_t),
              socket.handle, option, value, length(value))
    end
    return
end

# --- messages -------------------------------------------------------------------------------------

"""
A frame as libzmq holds it. Its bytes are read with `length` and `copy_bytes!`, and freed by
`close`: it doesn't outlive the handling of its message.
"""
mutable struct Frame
    content::NTuple{8,UInt64}  # a zmq_msg_t

    function Frame()
        frame = new(ntuple(_ -> zero(UInt64), 8))
        ccall(symbol(:zmq_msg_init), Cint, (Ref{Frame},), frame)
        return frame
    end
end

Base.length(frame::Frame) = Int(ccall(symbol(:zmq_msg_size), Csize_t, (Ref{Frame},), frame))

Base.close(frame::Frame) = (ccall(symbol(:zmq_msg_close), Cint, (Ref{Frame},), frame); nothing)

"Fill `array`, which is as large as the frame, with the frame's bytes."
function copy_bytes!(array::Array, frame::Frame)
    sizeof(array) == length(frame) || throw(DimensionMismatch("a frame of another size"))
    GC.@preserve array frame begin
        source = ccall(symbol(:zmq_msg_data), Ptr{UInt8}, (Ref{Frame},), frame)
        unsafe_copyto!(Ptr{UInt8}(pointer(array)), source, length(frame))
    end
    return array
end

has_more(frame::Frame) = ccall(symbol(:zmq_msg_more), Cint, (Ref{Frame},), frame) != 0

"Frames of the next message, which is waited for. The caller closes them."
receive(socket::Socket) = receive_frames(socket, 0)

"Frames of the next message if it is there, else nothing. The caller closes them."
receive_at_once(socket::Socket) = receive_frames(socket, DONTWAIT)

function receive_frames(socket::Socket, flags::Integer)
    frames = Frame[]
    while true
        frame = receive_frame(socket, flags)
        frame === nothing && return nothing  # the first: a message comes as a whole
        push!(frames, frame)
        has_more(frame) || return frames
    end
end

"The next frame; nothing if it isn't there, and isn't to be waited for."
function receive_frame(socket::Socket, flags::Integer)
    frame = Frame()
    size = checked("zmq_msg_recv") do
        size = ccall(symbol(:zmq_msg_recv), Cint, (Ref{Frame}, Ptr{Cvoid}, Cint),
                     frame, socket.handle, flags)
        size == -1 && errno() == Libc.EAGAIN ? nothing : size
    end
    size === nothing || return frame
    close(frame)
    return nothing
end

"Send one message: each of `frames` is an array, whose bytes libzmq copies."
function send(socket::Socket, frames::AbstractVector)
    for (number, frame) in enumerate(frames)
        flags = number < length(frames) ? SNDMORE : 0
        checked("zmq_send") do
            ccall(symbol(:zmq_send), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t, Cint),
                  socket.handle, frame, sizeof(frame), flags)
        end
    end
    return
end

# --- waiting --------------------------------------------------------------------------------------

struct PollItem  # zmq_pollitem_t
    socket::Ptr{Cvoid}
    fd::Cint
    events::Cshort
    revents::Cshort
end

"""
    poll(wanted, milliseconds) -> Vector{Bool}

Wait until one of the sockets is ready for what is wanted of it, `socket => POLLIN` or `POLLOUT`,
for at most so long (-1: for ever), and tell which are. A signal ends the wait early.
"""
function poll(wanted::AbstractVector{<:Pair}, milliseconds::Integer)
    items = [PollItem(socket.handle, 0, events, 0) for (socket, events) in wanted]
    status = ccall(symbol(:zmq_poll), Cint, (Ptr{PollItem}, Cint, Clong),
                   items, length(items), milliseconds)
    if status == -1 && errno() != Libc.EINTR
        throw(ZmqError("zmq_poll", words_of(errno())))
    end
    return [item.revents & item.events != 0 for item in items]
end

"A socket that receives the `events` of another one, to be read with `read_event`."
function monitor(context::Context, socket::Socket, events::Integer)
    endpoint = "inproc://monitor-$(UInt(socket.handle))"
    checked("zmq_socket_monitor") do
        ccall(symbol(:zmq_socket_monitor), Cint, (Ptr{Cvoid}, Cstring, Cint),
              socket.handle, endpoint, events)
    end
    observer = Socket(context, PAIR)
    connect(observer, endpoint)
    return observer
end

"End the monitoring of `socket`; what observed it is closed separately."
stop_monitor(socket::Socket) = (ccall(symbol(:zmq_socket_monitor), Cint,
    (Ptr{Cvoid}, Ptr{Cvoid}, Cint), socket.handle, C_NULL, 0); nothing)

"The next event that a monitor tells, one of the `EVENT_` numbers."
function read_event(observer::Socket)
    frames = receive(observer)  # the event's number and value, then the address
    content = copy_bytes!(Vector{UInt8}(undef, length(frames[1])), frames[1])
    foreach(close, frames)
    return reinterpret(UInt16, content[1:2])[1]
end

end
