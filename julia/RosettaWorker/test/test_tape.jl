using RosettaWorker: Tape, receive, receive_at_once, send

const TAPE_FOLDER = mktempdir()
tape_path(name) = joinpath(TAPE_FOLDER, name)

quiet(header) = nothing
words(f) = (error = thrown(f); @test(error isa WorkerError); error.sentence)

function all_of(path)
    tape = Tape(path, quiet)
    try
        return [receive(tape) for _ in 1:3]
    finally
        close(tape)
    end
end

@testset "the coordinator's messages come in order, and the worker's are passed over" begin
    first, last = message("WELCOME", 0), [message("BATCH", 1); [UInt8[]]; [UInt8[1, 2]]]
    path = write_tape(tape_path("a"), first, 'W' => message("READY", 0), last)
    @test all_of(path) == [first, last, nothing]
end

@testset "nothing of a tape is there before it is asked for" begin
    tape = Tape(write_tape(tape_path("one"), message("BATCH", 0)), quiet)
    @test receive_at_once(tape) === nothing
    @test receive(tape) == message("BATCH", 0)
    close(tape)
end

@testset "a recording holds both sides, and can be played" begin
    question, reply = message("END", 1), Header("type" => "ENDED", "id" => 0, "re" => 1)
    path, shown = write_tape(tape_path("b"), question), []
    tape = Tape(path, header -> push!(shown, header); record = tape_path("copy"))
    receive(tape)
    send(tape, reply, named("x" => Float32[1 2]))
    close(tape)
    @test shown == [reply]
    both = write_tape(tape_path("both"), question,
                      'W' => message("ENDED", 0, Header("re" => 1), "x" => Float32[1 2]))
    @test read(tape_path("copy")) == read(both)
    @test all_of(tape_path("copy")) == [question, nothing, nothing]
end

@testset "what isn't a whole tape is said in one sentence" begin
    path = write_tape(tape_path("whole"), message("WELCOME", 0))
    whole = read(path)
    for length in (17, 20, 24, 28, Base.length(whole) - 1)
        write(tape_path("cut"), whole[1:length])
        @test endswith(words(() -> all_of(tape_path("cut"))), "ends in the middle of a message")
    end
    for (position, byte, sentence) in (
        (1, 0x00, "is not a tape"), (17, UInt8('X'), "is damaged at byte 21"),
        (20, 0xff, "is damaged at byte 21"), (29, 0xff, "is damaged: a frame of"),
    )
        damaged = copy(whole)
        damaged[position] = byte
        write(tape_path("damaged"), damaged)
        @test occursin(sentence, words(() -> all_of(tape_path("damaged"))))
    end
    @test occursin("No such file", words(() -> Tape(tape_path("nowhere"), quiet)))
    @test occursin("at once", words(() -> Tape(path, quiet; record = path)))
    @test read(path) == whole
    @test occursin("tape: ", words(() -> Tape(path, quiet; record = TAPE_FOLDER)))
end
