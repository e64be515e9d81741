# What a worker prints when it runs from a tape.

in_ms(header::Header, key) = header[key] / 1e6

"Print a line for an answer, where there is something to say; times in milliseconds."
function show_answer(header::Header)
    line = get(LINES, header["type"], nothing)
    line === nothing && return
    println(stdout, line(header))
    flush(stdout)
end

"Say which answers are the recorded ones; on standard error, which aren't."
function report(recorded::Recorded)
    for comparison in values(recorded.found), line in verdict_lines(comparison)
        is_right(comparison) ? println(stdout, line) : log_line(line)
    end
end

hello_line(header::Header) =
    "$(header["framework"]) $(header["framework_version"]) on $(header["device"]), " *
    "$(header["threads"]) threads"

function ready_line(header::Header)
    setup = @sprintf("%.1f", in_ms(header, "setup_ns"))
    columns = @sprintf("%6s %12s %10s %10s %10s", "step", "loss", "wait ms", "copy ms", "step ms")
    return "$(header["parameter_count"]) parameters, built in $setup ms\n$columns"
end

result_line(header::Header) =
    @sprintf("%6d %12.7f %10.3f %10.3f %10.3f", header["step"], header["loss"],
             in_ms(header, "wait_ns"), in_ms(header, "copy_ns"), in_ms(header, "step_ns"))

predictions_line(header::Header) =
    @sprintf("predictions in %.3f ms", in_ms(header, "predict_ns"))

error_line(header::Header) = "ERROR $(header["code"]): $(header["message"])"

const LINES = Dict{String,Function}(
    "HELLO" => hello_line,
    "READY" => ready_line,
    "RESULT" => result_line,
    "PREDICTIONS" => predictions_line,
    "ERROR" => error_line,
)
