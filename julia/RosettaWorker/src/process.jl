# The process of a worker: how signals end it, and what it computes under.

"""
    die_by_signals()

Let SIGTERM and SIGINT end the process at once, as they end any other. Julia would write a stack
trace and, when they come during a call of C, go on for a while.

Julia blocks signals in all threads but one, which waits for them. Unblocked in this thread, and
with the default action, they are the system's affair.
"""
function die_by_signals()
    Sys.isunix() || return
    signals = zeros(UInt8, 128)  # a sigset_t is at most as large
    ccall(:sigemptyset, Cint, (Ptr{UInt8},), signals)
    for signal in (SIGINT, SIGTERM)
        ccall(:signal, Ptr{Cvoid}, (Cint, Ptr{Cvoid}), signal, C_NULL)  # C_NULL: SIG_DFL
        ccall(:sigaddset, Cint, (Ptr{UInt8}, Cint), signals, signal)
    end
    ccall(:pthread_sigmask, Cint, (Cint, Ptr{UInt8}, Ptr{Cvoid}), SIG_UNBLOCK, signals, C_NULL)
    return
end

const SIGINT = 2
const SIGTERM = 15
const SIG_UNBLOCK = Sys.islinux() ? 1 : 2

"How many processors this process may use."
function usable_cpus()
    Sys.islinux() || return Sys.CPU_THREADS
    processors = zeros(UInt8, 1024)
    status = ccall(:sched_getaffinity, Cint, (Cint, Csize_t, Ptr{UInt8}),
                   0, length(processors), processors)
    return status == 0 ? sum(count_ones, processors) : Sys.CPU_THREADS
end

const THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "JULIA_NUM_THREADS", "OMP_WAIT_POLICY",
)

"""
    conditions(status = "/proc/self/status") -> Dict

The disclosures `processors` (where the system tells them, as Linux lists them: `0-3,8`) and
`thread variables` (protocol/SPEC.md, section 9): what this process computes under, as it sees it.
"""
function conditions(status::AbstractString = "/proc/self/status")
    found = Dict{String,String}()
    lines = isfile(status) ? readlines(status) : String[]
    allowed = filter(line -> startswith(line, "Cpus_allowed_list:"), lines)
    if !isempty(allowed)
        found["processors"] = strip(split(first(allowed), ':')[2])
    end
    names = [name for name in THREAD_VARIABLES if haskey(ENV, name)]
    found["thread variables"] = join(["$name=$(ENV[name])" for name in names], " ")
    return found
end
