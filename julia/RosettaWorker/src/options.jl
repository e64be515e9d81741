# The command line.

const USAGE = """
usage: julia run.jl [-h] (--connect FILE | --tape FILE) [--record FILE]
                    [--device DEVICE] [--threads THREADS] FOLDER
"""

const HELP = USAGE * """

Run one worker.

FOLDER             folder of the worker: the one with backend.jl
--connect FILE     join a coordinator: connection file
--tape FILE        run without a coordinator: tape
--record FILE      with --tape: write the session to FILE
--device DEVICE    cpu, cuda, cuda:1 (default: as connected)
--threads THREADS  threads of a step
"""

"A command line that can't be understood; one sentence."
struct UsageError <: Exception
    sentence::String
end

"The command line; what wasn't given is nothing."
struct Options
    folder::String
    connect::Union{String,Nothing}
    tape::Union{String,Nothing}
    record::Union{String,Nothing}
    device::Union{String,Nothing}
    threads::Union{Int,Nothing}
end

"Read the command line. Throws `UsageError`."
function parse_options(arguments)
    named, folders = split_arguments(arguments)
    length(folders) == 1 || throw(UsageError("one FOLDER is needed"))
    value(name) = get(named, name, nothing)
    if (value("--connect") === nothing) == (value("--tape") === nothing)
        throw(UsageError("one of --connect and --tape is needed"))
    end
    if value("--record") !== nothing && value("--tape") === nothing
        throw(UsageError("--record goes with --tape"))
    end
    threads = value("--threads")
    if threads !== nothing
        count = tryparse(Int, threads)
        is_thread_count(count) || throw(UsageError("--threads: 1 to 65536, not '$threads'"))
        threads = count
    end
    return Options(only(folders), value("--connect"), value("--tape"), value("--record"),
                   value("--device"), threads)
end

"""
(values of the options by name, all other arguments). An option is written `--name VALUE` or
`--name=VALUE`; behind `--` there are none.
"""
function split_arguments(arguments)
    known = ("--connect", "--tape", "--record", "--device", "--threads")
    named, others, left = Dict{String,String}(), String[], collect(String, arguments)
    while !isempty(left)
        argument = popfirst!(left)
        if argument == "--"
            append!(others, left)
            break
        elseif !startswith(argument, '-')
            push!(others, argument)
        else
            name, given = split_option(argument)
            name in known || throw(UsageError("no option '$argument'"))
            given === nothing && isempty(left) && throw(UsageError("$name needs a value"))
            named[name] = given === nothing ? popfirst!(left) : given
        end
    end
    return named, others
end

function split_option(argument::String)
    position = findfirst(isequal('='), argument)
    position === nothing && return argument, nothing
    return argument[1:position - 1], argument[position + 1:end]
end
