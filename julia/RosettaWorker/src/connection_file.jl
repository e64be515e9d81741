# The connection file (protocol/SPEC.md, section 2).

const CURVE_KEYS = ("server_key", "public_key", "secret_key")

"The digits of Z85 (https://rfc.zeromq.org/spec/32/), which writes 4 bytes as 5 digits."
const Z85_DIGITS =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%\$#"

"Where a coordinator is, and who this worker is to it."
struct ConnectionFile
    endpoint::String
    run::String
    key::String
    worker::String
    device::Union{String,Nothing}
    threads::Union{Int,Nothing}
    "Z85 texts `server_key`, `public_key` and `secret_key`; nothing: not encrypted."
    curve::Union{AbstractDict,Nothing}
end

"""
    read_connection_file(path) -> ConnectionFile

Throws `WorkerError`, with one sentence, for a file that can't be used. Unknown keys are ignored.
"""
function read_connection_file(path::AbstractString)
    content = try
        Json.parse(read(path, String))
    catch error
        error isa Union{SystemError,Base.IOError,Json.JsonError} || rethrow()
        throw(WorkerError("connection file $path: $(describe(error))"))
    end
    unusable(what) = throw(WorkerError("connection file $path$what"))
    content isa AbstractDict || unusable(": not a JSON object")
    texts = ("protocol", "endpoint", "run", "key", "worker")
    lacking = [key for key in texts if !(get(content, key, nothing) isa String)]
    isempty(lacking) || unusable(" lacks $(join(lacking, ", "))")
    protocol = content["protocol"]
    if first(split(protocol, '.')) != first(split(PROTOCOL, '.'))
        unusable(" is for protocol $protocol; this worker speaks $PROTOCOL")
    end
    device, threads = get(content, "device", nothing), get(content, "threads", nothing)
    device isa Union{String,Nothing} || unusable(": `device` is not a text")
    threads === nothing || is_thread_count(threads) || unusable(": `threads` is not 1 to 65536")
    curve = get(content, "curve", nothing)
    if curve !== nothing && !is_curve(curve)
        keys = join(CURVE_KEYS, ", ")
        unusable(": `curve` lacks one of $keys, or it is no Z85 text of 40 characters")
    end
    return ConnectionFile((content[key] for key in texts[2:end])..., device, threads, curve)
end

is_thread_count(value) = value isa Int && 1 <= value <= 65536

is_curve(value) =
    value isa AbstractDict && all(key -> is_z85(get(value, key, nothing)), CURVE_KEYS)

"Whether a value is a key of 32 bytes in Z85."
function is_z85(value)
    value isa String && length(value) == 40 && all(in(Z85_DIGITS), value) || return false
    digits = [findfirst(isequal(character), Z85_DIGITS) - 1 for character in value]
    return all(evalpoly(85, reverse(group)) < 2^32 for group in Iterators.partition(digits, 5))
end
