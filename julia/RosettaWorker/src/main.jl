# The program: `run.jl FOLDER --connect FILE` or `run.jl FOLDER --tape FILE`.

"""
    main(arguments) -> exit status

Run a worker. Failures are one line on standard error.
"""
function main(arguments)
    die_by_signals()
    if any(in(("-h", "--help")), arguments)
        print(HELP)
        return 0
    end
    try
        options = parse_options(arguments)
        return options.connect === nothing ? replay(options) : join_coordinator(options)
    catch error
        if error isa UsageError
            print(stderr, USAGE, "rosetta worker: error: ", error.sentence, "\n")
            return 2
        end
        error isa Union{WorkerError,SystemError,Base.IOError} || rethrow()
        log_line(describe(error))
        return error isa WorkerError ? error.status : 1
    end
end

function join_coordinator(options::Options)
    file = read_connection_file(options.connect)
    device = something(options.device, file.device, "cpu")
    threads = something(options.threads, file.threads, usable_cpus())
    # Before the framework is loaded: a coordinator that isn't there should be found out quickly.
    connection = Connection(file.endpoint; curve = file.curve)
    try
        backend, hello = start(options.folder, device, threads, live = true)
        for name in (:run, :key, :worker)
            hello[string(name)] = text(getfield(file, name))
        end
        return run(Session(connection, backend, device, threads), hello)
    finally
        close(connection)
    end
end

function replay(options::Options)
    device = something(options.device, "cpu")
    threads = something(options.threads, usable_cpus())
    tape = Tape(options.tape, show_answer; record = options.record)
    try
        backend, hello = start(options.folder, device, threads, live = false)
        name = basename(rstrip(abspath(options.folder), '/'))
        merge!(hello, Header("run" => "tape", "key" => "", "worker" => name))
        status = run(Session(tape, backend, device, threads), hello)
        report(tape.recorded)
        tape.refused > 0 && log_line("$(tape.refused) answers are errors")
        right = is_right(tape.recorded) && tape.refused == 0
        return status == 0 && !right ? 1 : status
    finally
        close(tape)
    end
end

"(backend, fields of HELLO). `live`: there is a coordinator, and not a tape."
function start(folder::AbstractString, device::String, threads::Int; live::Bool)
    backend = load_backend(folder)
    description = start_backend(backend, device, threads)
    framework = with_text_keys(description["framework"])
    disclosures = Dict{Any,Any}(get(description, "disclosures", Dict()))
    live && merge!(disclosures, conditions())  # after the start: what the backend changed counts
    hello = Header(
        "protocol" => PROTOCOL,
        "pid" => getpid(),
        "host" => gethostname(),
        "language" => "julia",
        "language_version" => string(VERSION),
        "framework" => text(framework["name"], MAX_WORD),
        "framework_version" => text(framework["version"], MAX_WORD),
        "versions" => texts(get(description, "versions", Dict())),
        "device" => device,
        "threads" => threads,
        "tasks" => collect(String, description["tasks"]),
        "dtypes" => sort(collect(keys(DTYPES))),
        "planes" => live && HAS_SHARED_MEMORY ? ["inline", "shm"] : ["inline"],
        "forms" => texts(get(description, "forms", Dict())),
        "disclosures" => texts(disclosures),
    )
    return backend, hello
end
