# The process of a worker: how signals end it, and how many threads it may use.

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
