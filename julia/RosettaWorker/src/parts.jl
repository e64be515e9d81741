# The parts of one step, for a backend that tells when each is done.

"When the parts of the step under way were done; 0: it hasn't told."
mutable struct Parts
    forward_at::Int
    backward_at::Int
end

Parts() = Parts(0, 0)

"`part` is done now: `:forward` (the loss included), and later `:backward`."
function done!(parts::Parts, part::Symbol)
    if part == :forward
        parts.forward_at = now_ns()
    elseif part == :backward
        parts.backward_at = now_ns()
    end
    return
end

"`forward_ns` and `backward_ns` of the step that began at `started`; empty if it told neither."
function times!(parts::Parts, started::Int)
    forward_at, backward_at = parts.forward_at, parts.backward_at
    parts.forward_at = parts.backward_at = 0
    0 in (forward_at, backward_at) && return Header()
    return Header("forward_ns" => forward_at - started, "backward_ns" => backward_at - forward_at)
end

times!(::Nothing, ::Int) = Header()
