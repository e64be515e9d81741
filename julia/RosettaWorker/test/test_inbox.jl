using RosettaWorker: AT_ONCE, Inbox, next_message, read_message

"A channel whose messages are there already, or else have to be waited for."
mutable struct Letters
    there::Vector{Any}
    later::Vector{Any}
end

RosettaWorker.receive_at_once(letters::Letters) = take_first!(letters.there)

function RosettaWorker.receive(letters::Letters)
    Libc.systemsleep(0.03)
    return take_first!(letters.later)
end

take_first!(list) = isempty(list) ? nothing : popfirst!(list)

inbox_of(there...; later = []) = Inbox(Letters(collect(Any, there), later), ("BATCH", "END"))
batches(ids) = [message("BATCH", id) for id in ids]
left(inbox) = length(inbox.channel.there)

never() = error("nothing is to be waited for")
take_all!(inbox, count) = [next_message(never, inbox) for _ in 1:count]
ids(messages) = [get(message.header, "id", nothing) for message in messages]

@testset "batches that are there are taken in together, and given out in their order" begin
    inbox = inbox_of(batches(1:3)...)
    @test next_message(never, inbox).header["id"] == 1
    @test left(inbox) == 0
    @test ids(take_all!(inbox, 2)) == [2, 3]
end

@testset "so many at once, and no more" begin
    inbox = inbox_of(batches(1:(AT_ONCE + 2))...)
    next_message(never, inbox)
    @test left(inbox) == 2
    @test ids(take_all!(inbox, AT_ONCE - 1)) == 2:AT_ONCE
    @test left(inbox) == 2
    @test ids(take_all!(inbox, 2)) == [AT_ONCE + 1, AT_ONCE + 2]
end

@testset "what follows another message, or one that can't be read, is left for later" begin
    for other in (message("END", 2), message("NOVELTY", 2), [UInt8[0xc1]])
        inbox = inbox_of(message("BATCH", 1), other, message("BATCH", 3))
        next_message(never, inbox)
        @test left(inbox) == 1
        @test ids(take_all!(inbox, 2))[2] == 3
    end
end

@testset "only the first was waited for, and before that the caller was told" begin
    inbox, told = inbox_of(; later = batches(1:2)), Ref(0)
    tell() = (push!(inbox.channel.there, message("BATCH", 3)); told[] += 1)
    waited = next_message(tell, inbox)
    @test (waited.header["id"], told[]) == (1, 1)
    @test waited.wait_ns >= 30_000_000
    @test next_message(never, inbox).wait_ns == 0
end

@testset "the time that the caller takes before the wait is none of it" begin
    inbox = inbox_of(; later = batches(1:1))
    waited = next_message(() -> Libc.systemsleep(3), inbox)
    @test 30_000_000 <= waited.wait_ns < 3 * 10^9
end

@testset "the end of a tape is nothing" begin
    @test next_message(() -> nothing, inbox_of()) === nothing
end

@testset "arrays are read; of a message that isn't known only the header" begin
    array = "x" => Float32[1 2]
    inbox = inbox_of(message("BATCH", 1, Header(), array), message("NOVELTY", 2, Header(), array))
    known, unknown = take_all!(inbox, 2)
    @test known.arrays == [array] && known.error === nothing
    @test isempty(unknown.arrays) && unknown.header["type"] == "NOVELTY"
end

@testset "arrays lie in the memory that the session has" begin
    described = [Header("name" => "x", "dtype" => "uint8", "shape" => [2], "offset_bytes" => 64)]
    batch = message("BATCH", 1, Header("arrays" => described))
    inbox = inbox_of(batch, batch)
    inbox.memory = fill(0x05, 66)
    @test next_message(never, inbox).arrays == ["x" => [0x05, 0x05]]
    inbox = inbox_of(batch)
    @test next_message(never, inbox).error isa WireError
end

"A frame that there is no memory for."
mutable struct Huge
    released::Bool
end

Base.length(::Huge) = 1
RosettaWorker.copy_bytes!(::Array, ::Huge) = throw(OutOfMemoryError())
RosettaWorker.release(frame::Huge) = (frame.released = true)

@testset "whatever is wrong with a message keeps its place, and its frames are released" begin
    frames = [Huge(false)]
    huge = read_message(inbox_of(), frames, 7)
    @test huge.error isa OutOfMemoryError && huge.wait_ns == 7
    @test frames[1].released
    inbox = inbox_of(message("BATCH", 1), [UInt8[0xc1]], message("BATCH", 3))
    codes = [message.error === nothing ? "" : message.error.code for message in take_all!(inbox, 3)]
    @test codes == ["", "bad_header", ""]
end
