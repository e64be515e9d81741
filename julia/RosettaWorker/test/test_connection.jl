# What happens between two processes is tested from Python, for both runtimes at once.
using RosettaWorker: Connection, FIRST_CONTACT_NS, patience_ms, receive, receive_at_once

"What is taken at once as soon as it is there."
function receive_waiting(connection)
    @test Zmq.poll([connection.socket => Zmq.POLLIN], 60_000) == [true]
    return receive_at_once(connection)
end

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

    @testset "a message is taken if it is there, or else waited for" begin
        endpoint, context = "ipc://$(tempname())", Zmq.Context()
        router = Zmq.Socket(context, Zmq.ROUTER)
        listen(router, endpoint)
        connection = Connection(endpoint)
        @test receive_at_once(connection) === nothing
        RosettaWorker.send(connection, Header("type" => "HELLO", "id" => 0), Arrays())
        address, hello = map(content, Zmq.receive(router))
        @test RosettaWorker.decode([hello])[1]["type"] == "HELLO"
        foreach(number -> Zmq.send(router, [address, UInt8[number], UInt8[9]]), 1:2)
        for (number, take) in (1 => receive, 2 => receive_waiting)
            frames = take(connection)
            @test map(content, frames) == [[number], [9]]
            foreach(close, frames)
        end
        @test receive_at_once(connection) === nothing
        foreach(close, (connection, router, context))
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
