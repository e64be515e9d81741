# What the worker sends. Answers to short steps are held back for a moment, and sent together.

"How old an answer may get before it is sent (SPEC section 7)."
const HELD_NS = 20 * 10^6

"""
    Outbox(channel)

Of one session. `channel` is a `Connection` or a `Tape`.

Between two steps of a millisecond each, sending is dear: it finds nothing in the processor's
caches, and wakes both ZeroMQ's thread and the coordinator while the next step computes.
"""
mutable struct Outbox{C}
    channel::C
    credit::Int  # the coordinator's: with half of it unanswered it has to hear from us
    next_id::Int
    held::Vector{Header}
    oldest_ns::Int
    held_ns::Int  # how old an answer may get
end

Outbox(channel) = Outbox(channel, 1, 0, Header[], 0, HELD_NS)

"""
    send(outbox, kind, fields, arrays = Arrays())

Send a message of type `kind`, behind all that is held back. Throws `WorkerError` when it can't be
sent.
"""
function send(outbox::Outbox, kind::AbstractString, fields::Header, arrays = Arrays())
    flush(outbox)
    send_now(outbox, merge(fields, Header("type" => kind)), Arrays(arrays))
end

"""
    hold(outbox, kind, took_ns, fields)

Send an answer without arrays, now or with the next ones. It took `took_ns` to make, and so will the
next one, presumably. Whoever holds answers back calls `flush` before doing anything but the next
step.
"""
function hold(outbox::Outbox, kind::AbstractString, took_ns::Int, fields::Header)
    now = now_ns()
    if isempty(outbox.held)
        outbox.oldest_ns = now
    end
    push!(outbox.held, merge(fields, Header("type" => kind)))
    too_old = now + took_ns - outbox.oldest_ns > outbox.held_ns
    if too_old || 2 * length(outbox.held) >= outbox.credit
        flush(outbox)
    end
    return
end

"Send what is held back. Throws `WorkerError` when it can't be sent."
function Base.flush(outbox::Outbox)
    while !isempty(outbox.held)
        send_now(outbox, popfirst!(outbox.held), Arrays())
    end
end

function send_now(outbox::Outbox, fields::Header, arrays::Arrays)
    header = merge(fields, Header("id" => outbox.next_id))
    outbox.next_id += 1
    try
        send(outbox.channel, header, arrays)
    catch error  # a socket or a disk, and so not the backend's
        error isa Union{Zmq.ZmqError,SystemError,Base.IOError} || rethrow()
        throw(WorkerError(describe(error)))
    end
end
