# Tapes: the messages of a session in a file (protocol/SPEC.md, section 8).
#
# A tape stands in for the coordinator, so that a worker can be written, timed and debugged without
# sockets. Where it holds the answers of a worker too, those of this one are compared with them.

const MAGIC = b"ROSETTA TAPE 1\n\0"
const FROM_COORDINATOR = UInt8('C')
const FROM_WORKER = UInt8('W')

"""
    Tape(path, show; record = nothing)

Gives out the coordinator's messages one by one, hands the headers of the answers to `show`, writes
both to the file `record` where one is named, and compares the answers with those that the tape
holds. Throws `WorkerError` for what isn't a tape. It is to be closed.
"""
mutable struct Tape
    reconnect_ns::Int
    path::String
    size::Int
    file::IOStream
    show::Function
    record::Union{IOStream,Nothing}
    hello::Header  # the recorded one
    answers::Dict{Int,Int}  # `id` of a message => where its recorded answer lies
    recorded::Recorded
    refused::Int  # questions that were answered with ERROR, and have no other answer on the tape
end

function Tape(path::AbstractString, show::Function; record = nothing)
    if record !== nothing && ispath(record) && ispath(path) && Base.samefile(path, record)
        throw(WorkerError("$path can't be played and recorded at once"))
    end
    file = open_tape(path, "r")
    tape = Tape(0, path, filesize(path), file, show, nothing, Header(), Dict(), Recorded(), 0)
    try
        find_answers!(tape)
        begin_record!(tape, record)
    catch
        close(tape)
        rethrow()
    end
    return tape
end

function begin_record!(tape::Tape, path)
    path === nothing && return
    tape.record = open_tape(path, "w")
    write(tape.record, MAGIC)
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
        sender, count = read_head(tape)
        frames = [read_frame(tape) for _ in 1:count]
        if sender == FROM_COORDINATOR
            keep(tape, FROM_COORDINATOR, frames)
            notice!(tape, frames)
            return frames
        end
    end
    return nothing
end

"Nothing: a tape's next message is there when the last one was answered, not before."
receive_at_once(::Tape) = nothing

"Show an answer, record it where that was asked for, compare it where there is another."
function send(tape::Tape, header::Header, arrays::Arrays)
    keep(tape, FROM_WORKER, encode(header, arrays))
    tape.show(header)
    if header["type"] == "HELLO"
        isempty(tape.hello) || greeted!(tape.recorded, tape.hello, header)
    elseif haskey(tape.answers, get(header, "re", nothing))
        compare_at!(tape, header, arrays, tape.answers[header["re"]])
    elseif header["type"] == "ERROR"
        tape.refused += 1
    end
    answered!(tape.recorded, header)
end

"Close the files."
function Base.close(tape::Tape)
    close(tape.file)
    tape.record === nothing || close(tape.record)
end

# --- the recorded answers -------------------------------------------------------------------------

"""
Find the worker's HELLO, and where its answers lie by the `id` of what they answer. Leaves the file
at the first message. Throws `WorkerError` for one that isn't whole.
"""
function find_answers!(tape::Tape)
    if read(tape.file, length(MAGIC)) != MAGIC
        begins = repr(String(copy(MAGIC)))
        throw(WorkerError("$(tape.path) is not a tape: it doesn't begin with $begins"))
    end
    first_message = position(tape.file)
    while !eof(tape.file)
        place = position(tape.file)
        sender, count = read_head(tape)
        for frame in 1:count
            if frame == 1 && sender == FROM_WORKER
                note_answer!(tape, header_of(read_frame(tape)), place)
            else
                skip_frame(tape)
            end
        end
    end
    seek(tape.file, first_message)
end

function note_answer!(tape::Tape, header::Header, place::Int)
    re = get(header, "re", nothing)
    if get(header, "type", "") == "HELLO"
        isempty(tape.hello) && (tape.hello = header)
    elseif is_number(re)
        get!(tape.answers, re, place)
    end
end

"Compare an answer with the one that lies there."
function compare_at!(tape::Tape, header::Header, arrays::Arrays, place::Int)
    here = position(tape.file)
    seek(tape.file, place)
    _, count = read_head(tape)
    frames = [read_frame(tape) for _ in 1:count]
    seek(tape.file, here)
    try
        compare!(tape.recorded, header, arrays, decode(frames)...)
    catch error
        # The tape's fault, and not that of the worker that has just answered well.
        error isa Union{WireError,KeyError,MethodError,TypeError} || rethrow()
        why = error isa WireError ? error.sentence : sprint(showerror, error)
        unreadable!(tape.recorded, "the one at byte $place can't be read: $why")
    end
end

"Remember what a SETUP begins from, if its answer will be compared."
function notice!(tape::Tape, frames)
    isempty(tape.answers) && return
    header = isempty(frames) ? Header() : header_of(frames[1])
    if get(header, "type", "") == "SETUP" && get(header, "task", nothing) isa Header
        try
            tape.recorded.asked = decode(frames)
        catch error
            error isa WireError || rethrow()  # the session answers it with an ERROR
        end
    end
end

"A header; empty when it can't be read."
function header_of(frame)
    try
        return decode_header(frame)
    catch error
        error isa WireError || rethrow()
        return Header()
    end
end

# --- the file -------------------------------------------------------------------------------------

"Sender and number of frames of a message."
function read_head(tape::Tape)
    sender = read_whole(tape, 1)[1]
    count = read_unsigned(tape, UInt32)
    if count > MAX_FRAMES || !(sender in (FROM_COORDINATOR, FROM_WORKER))
        throw(WorkerError("$(tape.path) is damaged at byte $(position(tape.file))"))
    end
    return sender, count
end

read_frame(tape::Tape) = read_whole(tape, read_length(tape))

function skip_frame(tape::Tape)
    skip(tape.file, read_length(tape))
    position(tape.file) <= tape.size ||
        throw(WorkerError("$(tape.path) ends in the middle of a message"))
end

"The length that stands in front of a frame, checked against the file's."
function read_length(tape::Tape)
    length = read_unsigned(tape, UInt64)
    if length > tape.size
        throw(WorkerError("$(tape.path) is damaged: a frame of $length bytes"))
    end
    return Int(length)
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
