"""
The worker side of Rosetta: everything that a Julia backend needs to take part, and nothing more.

It is the counterpart of Python's `rosetta_worker`, and knows no framework. It needs the standard
library only, so that it can be used in every framework's own environment, and libzmq, which is
looked for when a coordinator is to be joined. `run.jl` starts a worker; `backends.jl` says what a
backend is.

One thread receives, computes and sends: while a message is waited for nothing else runs.
"""
module RosettaWorker

# Nothing here is worth optimising: what takes time is libzmq's, Base's or the backend's. A worker
# starts a second earlier.
Base.Experimental.@optlevel 1

"Version of the protocol that is spoken here (protocol/SPEC.md)."
const PROTOCOL = "1.0"

include("errors.jl")
include("zmq.jl")
include("ordered_maps.jl")
using .OrderedMaps: OrderedMap

include("messagepack.jl")
include("json.jl")
include("wire.jl")
include("shared_memory.jl")
include("networks.jl")
include("checks.jl")
include("backends.jl")
include("connection_file.jl")
include("connection.jl")
include("recorded.jl")
include("console.jl")
include("tape.jl")
include("inbox.jl")
include("outbox.jl")
include("parts.jl")
include("session.jl")
include("process.jl")
include("options.jl")
include("main.jl")

include("precompile.jl")

end
