# What the coordinator sent: taken in its order, and decoded several batches at once.
#
# After a step nothing of this is in the processor's caches, and decoding a header takes ten times
# as long as it should. Batches that wait already are decoded together: only the first one pays for
# that.

"Most messages that are decoded before the first of them is answered."
const AT_ONCE = 32

"One that came; with `error` it can't be read. `wait_ns`: how long it was waited for."
struct Message
    header::Header
    arrays::Arrays
    error::Union{Exception,Nothing}
    wait_ns::Int
end

"""
    Inbox(channel, known)

Of one session. `channel` is a `Connection` or a `Tape`; `known` are the types of messages that are
answered: of others only the header is read.
"""
mutable struct Inbox{C}
    channel::C
    known::Set{String}
    memory::Union{Vector{UInt8},Nothing}  # of the `shm` plane, once WELCOME has told of it
    messages::Vector{Message}
end

Inbox(channel, known) = Inbox(channel, Set{String}(known), nothing, Message[])

"""
    next_message(before_waiting, inbox)

The next message; nothing at the end of a tape. `before_waiting()` is called when there is none yet,
before one is waited for. Throws `WorkerError` when the coordinator is gone, or a tape isn't whole.
"""
function next_message(before_waiting, inbox::Inbox)
    isempty(inbox.messages) && take_in!(inbox, before_waiting)
    return isempty(inbox.messages) ? nothing : popfirst!(inbox.messages)
end

function take_in!(inbox::Inbox, before_waiting)
    started = now_ns()
    frames = receive_at_once(inbox.channel)
    if frames === nothing
        before_waiting()
        started = now_ns()
        frames = receive(inbox.channel)
    end
    wait_ns = now_ns() - started
    while frames !== nothing
        message = read_message(inbox, frames, wait_ns)
        push!(inbox.messages, message)
        # What follows any other message may hang on how that one is answered.
        is_batch(message) && length(inbox.messages) < AT_ONCE || return
        wait_ns = 0  # the next one is here already
        frames = receive_at_once(inbox.channel)
    end
end

is_batch(message::Message) = get(message.header, "type", nothing) == "BATCH"

function read_message(inbox::Inbox, frames::AbstractVector, wait_ns::Int)
    try
        header, arrays = decode_and_release(frames, inbox.known, inbox.memory)
        return Message(header, arrays, nothing, wait_ns)
    catch error  # whatever it is (memory may be short), it is answered in its turn
        error isa InterruptException && rethrow()
        return Message(Header(), Arrays(), error, wait_ns)
    end
end

function decode_and_release(frames::AbstractVector, known, memory)
    try
        return decode(frames, known, memory)
    finally
        foreach(release, frames)
    end
end

release(frame::Zmq.Frame) = close(frame)
release(::Vector{UInt8}) = nothing
