# Tapes: the messages of a session in a file (protocol/SPEC.md, section 8).
#
# A tape stands in for the coordinator, so that a worker can be written, timed and debugged without
# sockets.

const MAGIC = b"ROSETTA TAPE 1\n\0"
const FROM_COORDINATOR = UInt8('C')
const FROM_WORKER = UInt8('W')

"""
    Tape(path, show; record = nothing)

Gives out the coordinator's messages one by one, hands the headers of the answers to `show`, and
writes both to the file `record` where one is named. Throws `WorkerError` for what isn't a tape. It
is to be closed.
"""
mutable struct Tape
    reconnect_ns::Int
    path::String
    size::Int
    file::IOStream
    show::Function
    record::Union{IOStream,Nothing}
end

function Tape(path::AbstractString, show::Function; record = nothing)
    if record !== nothing && ispath(record) && ispath(path) && Base.samefile(path, record)
        throw(WorkerError("$path can't be played and recorded at once"))
    end
    file = open_tape(path, "r")
    if read(file, length(MAGIC)) != MAGIC
        close(file)
        begins = repr(String(copy(MAGIC)))
        throw(WorkerError("$path is not a tape: it doesn't begin with $begins"))
    end
    copy_of_it = record === nothing ? nothing : open_tape(record, "w")
    copy_of_it === nothing || write(copy_of_it, MAGIC)
    return Tape(0, path, filesize(path), file, show, copy_of_it)
end

function open_tape(path, mode)
    try
        return open(path, mode)
    catch error
        error isa SystemError || rethrow()
        throw(WorkerError("tape: $(describe(error))"))
    end
end

"A tape may come from a machine with another number of threads."
is_live(::Tape) = false

"Frames of the coordinator's next message; nothing at the end of the tape."
function receive(tape::Tape)
    while !eof(tape.file)
        sender = read_whole(tape, 1)[1]
        count = read_unsigned(tape, UInt32)
        if count > MAX_FRAMES || !(sender in (FROM_COORDINATOR, FROM_WORKER))
            throw(WorkerError("$(tape.path) is damaged at byte $(position(tape.file))"))
        end
        frames = [read_frame(tape) for _ in 1:count]
        if sender == FROM_COORDINATOR
            keep(tape, FROM_COORDINATOR, frames)
            return frames
        end
    end
    return nothing
end

"Show an answer, and record it where that was asked for."
function send(tape::Tape, header::Header, arrays::Arrays)
    keep(tape, FROM_WORKER, encode(header, arrays))
    tape.show(header)
end

"Close the files."
function Base.close(tape::Tape)
    close(tape.file)
    tape.record === nothing || close(tape.record)
end

function read_frame(tape::Tape)
    length = read_unsigned(tape, UInt64)
    if length > tape.size
        throw(WorkerError("$(tape.path) is damaged: a frame of $length bytes"))
    end
    return read_whole(tape, Int(length))
end

read_unsigned(tape::Tape, ::Type{T}) where {T} =
    ltoh(reinterpret(T, read_whole(tape, sizeof(T)))[1])

function read_whole(tape::Tape, count::Int)
    data = read(tape.file, count)
    length(data) == count ||
        throw(WorkerError("$(tape.path) ends in the middle of a message"))
    return data
end

function keep(tape::Tape, sender::UInt8, frames)
    tape.record === nothing && return
    write(tape.record, sender, htol(UInt32(length(frames))))
    for frame in frames
        write(tape.record, htol(UInt64(sizeof(frame))), frame)
    end
end
