# What can go wrong with a worker as a whole, and how it is said.

"""
    WorkerError(sentence, status = 1)

A worker can't start or can't go on: the process ends with `status`, and `sentence` on standard
error.
"""
struct WorkerError <: Exception
    sentence::String
    status::Int
end

WorkerError(sentence::AbstractString) = WorkerError(sentence, 1)

"Status of a process that was asked for a device that it doesn't have."
const NO_SUCH_DEVICE = 3

Base.showerror(io::IO, error::WorkerError) = print(io, error.sentence)

"The first line of what Julia says about an exception."
describe(error) = String(first(split(sprint(showerror, error), '\n')))

"Write one line to standard error, cleaned of control characters: some words are the other side's."
function log_line(sentence::AbstractString)
    shown = map(c -> isvalid(c) && isprint(c) ? c : ' ', sentence)
    print(stderr, "rosetta worker: " * shown * "\n")
end
