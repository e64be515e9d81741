# The library may be missing where only tapes are played; the Python tests hold it against pyzmq.
const HAS_LIBRARY = try
    Zmq.load()
    true
catch error
    error isa Zmq.ZmqError || rethrow()
    false
end

function with_pair(f)
    context = Zmq.Context()
    sockets = [Zmq.Socket(context, Zmq.PAIR) for _ in 1:2]
    try
        f(context, sockets...)
    finally
        foreach(close, sockets)
        close(context)
    end
end

content(frame) = Zmq.copy_bytes!(Vector{UInt8}(undef, length(frame)), frame)

function listen(socket, endpoint)
    Zmq.checked("zmq_bind") do
        ccall(Zmq.symbol(:zmq_bind), Cint, (Ptr{Cvoid}, Cstring), socket.handle, endpoint)
    end
end

"Let `near` listen at an address of this process; `far` connects to it."
function join_pair(near, far)
    listen(near, "inproc://pair")
    Zmq.connect(far, "inproc://pair")
end

if HAS_LIBRARY
    @testset "frames arrive as they were sent" begin
        with_pair() do context, near, far
            join_pair(near, far)
            sent = Array[UInt8[1, 2], UInt8[], Float32[1 2 3; 4 5 6], fill(Int64(7))]
            @test Zmq.poll([far => Zmq.POLLIN, near => Zmq.POLLOUT], 0) == [false, true]
            Zmq.send(near, sent)
            @test Zmq.poll([near => Zmq.POLLIN, far => Zmq.POLLIN], 1000) == [false, true]
            frames = Zmq.receive(far)
            @test map(content, frames) == [copy(reinterpret(UInt8, vec(array))) for array in sent]
            matrix = Array{Float32}(undef, 2, 3)
            @test Zmq.copy_bytes!(matrix, frames[3]) == sent[3]
            @test thrown(() -> Zmq.copy_bytes!(matrix, frames[1])) isa DimensionMismatch
            foreach(close, frames)
        end
    end

    @testset "a message that isn't there yet is nothing" begin
        with_pair() do context, near, far
            join_pair(near, far)
            @test Zmq.receive_at_once(far) === nothing
            Zmq.send(near, [UInt8[1], UInt8[2, 3]])
            Zmq.poll([far => Zmq.POLLIN], 1000)
            frames = Zmq.receive_at_once(far)
            @test map(content, frames) == [[1], [2, 3]]
            foreach(close, frames)
            @test Zmq.receive_at_once(far) === nothing
        end
    end

    @testset "a wait ends when its time is over" begin
        with_pair() do context, near, far
            @test 0.05 <= @elapsed Zmq.poll([near => Zmq.POLLIN], 60)
        end
    end

    @testset "failures have libzmq's words" begin
        with_pair() do context, near, far
            error = thrown(() -> Zmq.connect(near, "nowhere"))
            @test (error.call, error.words) == ("zmq_connect", "Invalid argument")
            @test thrown(() -> Zmq.set_option(near, Zmq.CURVE_PUBLICKEY, "x")) isa Zmq.ZmqError
            closed = Zmq.Socket(C_NULL)
            @test thrown(() -> Zmq.receive_at_once(closed)) isa Zmq.ZmqError
        end
    end

    @testset "closing twice is closing once" begin
        context = Zmq.Context()
        socket = Zmq.Socket(context, Zmq.DEALER)
        @test (close(socket); close(socket); close(context); close(context)) === nothing
    end

    @testset "a call that a signal interrupted is repeated" begin
        calls = Ref(0)
        result = Zmq.checked("call") do
            calls[] += 1
            calls[] < 3 && return (Libc.errno(Libc.EINTR); -1)
            5
        end
        @test (result, calls[]) == (5, 3)
    end
else
    @warn "no libzmq: its binding isn't tested"
end
