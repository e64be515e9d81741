# `julia julia/RosettaWorker/test/runtests.jl`: the tests, one file for a source file.

push!(LOAD_PATH, joinpath(@__DIR__, "..", ".."))

using Test
using RosettaWorker
using RosettaWorker: Arrays, Header, Json, MessagePack, WireError, WorkerError, Zmq

"The exception that `f()` throws; fails when it throws none."
function thrown(f)
    try
        f()
    catch error
        return error
    end
    return error("nothing was thrown")
end

"(code, re) of a refusal."
refusal(f) = (error = thrown(f); (error.code, error.re))

"Named arrays of any types. (A vector of the pairs would promote them to one type.)"
named(pairs...) = Arrays(collect(Pair{String,Array}, pairs))

"The frames of a message, as they come from a tape."
message(kind, id, fields = Header(), arrays...) = Vector{UInt8}[
    copy(reinterpret(UInt8, vec(frame))) for frame in
    RosettaWorker.encode(merge(Header("type" => kind, "id" => id), fields), named(arrays...))
]

"A tape of those messages, each sent by the coordinator unless a sender stands before it."
function write_tape(path, messages...)
    open(path, "w") do file
        write(file, RosettaWorker.MAGIC)
        for entry in messages
            sender, frames = entry isa Pair ? entry : ('C' => entry)
            write(file, UInt8(sender), htol(UInt32(length(frames))))
            foreach(frame -> write(file, htol(UInt64(length(frame))), frame), frames)
        end
    end
    return path
end

@testset "RosettaWorker" begin
    for name in ("errors", "zmq", "ordered_maps", "messagepack", "json", "wire", "shared_memory",
                 "networks", "checks", "backends", "connection_file", "connection", "tape",
                 "recorded", "console", "inbox", "outbox", "parts", "options", "process",
                 "main")
        @testset "$name" begin
            include("test_$name.jl")
        end
    end
end
