using RosettaWorker: is_z85, read_connection_file

const GOOD = """{"protocol": "1.7", "endpoint": "tcp://127.0.0.1:9", "run": "r", "key": "k",
                 "worker": "w", "mood": ["good"]"""

function file_with(text)
    path, io = mktemp()
    write(io, text)
    close(io)
    return path
end

read_text(text) = read_connection_file(file_with(text))

@testset "a file of a later minor version, with and without the optional keys" begin
    file = read_text(GOOD * "}")
    @test (file.endpoint, file.run, file.key, file.worker) == ("tcp://127.0.0.1:9", "r", "k", "w")
    @test (file.device, file.threads, file.curve) == (nothing, nothing, nothing)
    keys = Dict(name => "0"^40 for name in ("server_key", "public_key", "secret_key"))
    curve = join(("\"$name\": \"$key\"" for (name, key) in keys), ", ")
    file = read_text(GOOD * ", \"device\": \"cuda\", \"threads\": 4, \"curve\": {$curve}}")
    @test (file.device, file.threads, file.curve) == ("cuda", 4, keys)
end

@testset "one that can't be used is said in one sentence" begin
    for (more, words) in (
        ", \"threads\": 0}" => "`threads` is not 1 to 65536",
        ", \"threads\": \"4\"}" => "`threads` is not 1 to 65536",
        ", \"device\": 5}" => "`device` is not a text",
        ", \"curve\": {}}" => "`curve` lacks one of server_key, public_key, secret_key",
        ", \"protocol\": \"2.0\"}" => "is for protocol 2.0; this worker speaks 1.0",
        ", \"key\": null}" => "lacks key",
        "" => "not JSON",
    )
        error = thrown(() -> read_text(GOOD * more))
        @test error isa WorkerError && error.status == 1 && occursin(words, error.sentence)
    end
    @test occursin("No such file", thrown(() -> read_connection_file("/nowhere")).sentence)
    @test thrown(() -> read_connection_file("/")) isa WorkerError
end

@testset "keys are Z85" begin
    @test is_z85("HelloWorld"^4)  # the RFC's example is a prefix of it
    @test !is_z85("HelloWorld"^4 * "x") && !is_z85("#"^40) && !is_z85("é"^40) && !is_z85(5)
end
