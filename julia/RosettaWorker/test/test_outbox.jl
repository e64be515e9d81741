using RosettaWorker: HELD_NS, Outbox, hold

"What `f(outbox, shown)` returns; `shown` gets the header of whatever is sent to a tape."
function with_outbox(f; credit = 8, record = nothing)
    shown = Header[]
    path = write_tape(joinpath(mktempdir(), "empty"))
    tape = RosettaWorker.Tape(path, header -> push!(shown, header); record = record)
    outbox = Outbox(tape)
    outbox.credit = credit
    try
        return f(outbox, shown)
    finally
        close(tape)
    end
end

"Young enough to be held back, however slow the machine is that runs these tests."
const NO_TIME = -60 * 10^9

hold_results(outbox, steps; took_ns = NO_TIME) =
    foreach(step -> hold(outbox, "RESULT", took_ns, Header("step" => step)), steps)
steps_of(shown) = [header["step"] for header in shown]

@testset "messages are numbered as they are sent" begin
    with_outbox() do outbox, shown
        RosettaWorker.send(outbox, "HELLO", Header("tasks" => []))
        hold_results(outbox, 0:0)
        RosettaWorker.send(outbox, "ENDED", Header("re" => 4))
        @test [header["type"] for header in shown] == ["HELLO", "RESULT", "ENDED"]
        @test [header["id"] for header in shown] == 0:2
        @test (shown[2]["step"], shown[3]["re"]) == (0, 4)
    end
end

@testset "arrays go with their message" begin
    record = joinpath(mktempdir(), "record")
    with_outbox(record = record) do outbox, shown
        RosettaWorker.send(outbox, "VALUES", Header(), ["x" => Float32[1, 2]])
    end
    sent = message("VALUES", 0, Header(), "x" => Float32[1, 2])
    expected = write_tape(joinpath(mktempdir(), "expected"), 'W' => sent)
    @test read(record) == read(expected)
end

@testset "half of the credit is sent, less is held back" begin
    for (credit, sent) in (0 => 1:1, 1 => 1:1, 2 => 1:1, 3 => 1:2, 4 => 1:2, 5 => 1:3, 8 => 1:4)
        with_outbox(credit = credit) do outbox, shown
            hold_results(outbox, 1:(last(sent) - 1))
            @test isempty(shown)
            hold_results(outbox, last(sent))
            @test steps_of(shown) == sent
        end
    end
end

@testset "what would be too old after another step like this isn't held back" begin
    with_outbox(credit = 1000) do outbox, shown
        hold_results(outbox, 1:1; took_ns = HELD_NS)
        @test isempty(shown)
        hold_results(outbox, 2:2; took_ns = HELD_NS + 1)
        @test steps_of(shown) == 1:2
        hold_results(outbox, 3:4)
        outbox.oldest_ns -= HELD_NS
        @test steps_of(shown) == 1:2
        hold_results(outbox, 5:5; took_ns = 1)
        @test steps_of(shown) == 1:5
        hold_results(outbox, 6:6; took_ns = 1)  # is the oldest now
        @test steps_of(shown) == 1:5
    end
end

@testset "flushed once, it is sent once" begin
    with_outbox() do outbox, shown
        hold_results(outbox, 1:2)
        flush(outbox)
        flush(outbox)
        @test steps_of(shown) == 1:2
    end
end

@testset "a reader that went away isn't the backend's fault" begin
    for (failure, seen) in (
        Base.IOError("write: broken pipe", -32) => WorkerError, ArgumentError("x") => ArgumentError,
    )
        path = write_tape(joinpath(mktempdir(), "empty"))
        tape = RosettaWorker.Tape(path, header -> throw(failure))
        @test thrown(() -> RosettaWorker.send(Outbox(tape), "ENDED", Header())) isa seen
        @test thrown(() -> hold_results(Outbox(tape), 1:1)) isa seen
        close(tape)
    end
end
