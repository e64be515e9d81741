# What every session needs, inferred once, when the package is precompiled.

precompile(main, (Vector{String},))
precompile(start, (String, String, Int))
precompile(Zmq.receive_at_once, (Zmq.Socket,))
precompile(MessagePack.unpack, (Vector{UInt8}, Int))
precompile(MessagePack.pack, (Header,))
for (channel, frame) in (Connection => Zmq.Frame, Tape => Vector{UInt8})
    precompile(run, (Session{channel}, Header))
    precompile(take, (Session{channel}, Message))
    precompile(read_message, (Inbox{channel}, Vector{frame}, Int))
    precompile(hold, (Outbox{channel}, String, Int, Header))
    for handler in values(HANDLERS)
        precompile(handler, (Session{channel}, Header, Arrays))
    end
end
