# What happens between two processes is tested from Python, for both runtimes at once.
using RosettaWorker: Connection, FIRST_CONTACT_NS, patience_ms, receive

if HAS_LIBRARY
    @testset "an endpoint that can't be one is said in one sentence" begin
        for (endpoint, words) in (
            "nowhere" => "Invalid argument", "carrier-pigeon://loft" => "Protocol not supported",
            "tcp://127.0.0.1:9\0" => "NUL",
        )
            error = thrown(() -> Connection(endpoint))
            @test error isa WorkerError && startswith(error.sentence, "endpoint '$endpoint': ")
            @test occursin(words, error.sentence)
        end
    end

    @testset "a coordinator that never comes is waited for as long as it was said" begin
        connection = Connection("ipc://$(tempname())")
        @test 10^6 * (patience_ms(connection) - 1) <= FIRST_CONTACT_NS == 30 * 10^9
        connection.reconnect_ns = 50_000_000
        seconds = @elapsed error = thrown(() -> receive(connection))
        @test startswith(error.sentence, "no coordinator at ipc://") && seconds < 20
        connection.reconnect_ns = typemax(Int)
        @test patience_ms(connection) == 2^31 - 1
        connection.absent_since = nothing
        @test patience_ms(connection) == -1
        close(connection)
    end
end
