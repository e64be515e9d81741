# Whether a worker's answers are those that a tape holds (protocol/SPEC.md, section 8).
#
# The tolerances are the specification's, and the same that a proof has: right workers agree four
# times as well and better, wrong ones don't. What no tolerance is known for is left out, and said.

using Printf: @sprintf

const FIRST_LOSS = 1e-6
const LATER_LOSS = 1e-6
const LATER_LOSS_ROUGH = 2e-5
const STEPS_OF_LOSSES = 10
# Networks with convolutions are rough: rounding flips choices of ReLU and of pooling.
const STEPS_OF_LOSSES_ROUGH = 5

const FIRST_LOGITS = 2e-6
const LATER_LOGITS = 2e-5
const FIRST_CHANGE = 6e-4
const LATER_CHANGE = 5e-3
const STEPS_OF_VALUES = 4

"What a worker computes that declares nothing."
const DEFAULT_FORMS = Dict("adam" => "torch", "momentum" => "outside", "gru" => "cudnn")

"The answers of one kind: how many were compared, and the worst of them."
mutable struct Comparison
    name::String
    compared::Int
    left_out::OrderedMap{String,Int}
    worst::Float64
    sentence::String
end

Comparison(name) = Comparison(name, 0, OrderedMap{String,Int}(), -1.0, "")

"One more quantity, which is right when its deviation isn't above the tolerance."
function add!(comparison::Comparison, where_, deviation, tolerance)
    share = iszero(deviation) ? 0.0 : deviation / tolerance
    share = isnan(share) ? Inf : share
    if share > comparison.worst
        comparison.worst = share
        numbers = @sprintf("deviates by %.2g of at most %g", deviation, tolerance)
        comparison.sentence = ": $where_ $numbers"
    end
end

"An answer that is another one altogether."
function differ!(comparison::Comparison, sentence)
    comparison.worst < Inf || return
    comparison.worst, comparison.sentence = Inf, ": $sentence"
end

"Whether nothing that was compared lies above its tolerance."
is_right(comparison::Comparison) = comparison.worst <= 1

"What came of it, in sentences."
function verdict_lines(comparison::Comparison)
    lines = String[]
    name = comparison.name
    if comparison.compared > 0
        verdict = is_right(comparison) ? "are" : "are not"
        counted = "$(comparison.compared) compared$(comparison.sentence)"
        push!(lines, "the $name $verdict the recorded ones, $counted")
    end
    for (reason, count) in comparison.left_out
        push!(lines, "$name not compared, $count: $reason")
    end
    return lines
end

const COMPARED = (
    "READY" => "names and shapes", "RESULT" => "losses", "PREDICTIONS" => "predictions",
    "VALUES" => "parameters", "other" => "answers",
)

"Follows a session and compares each answer with the recorded one, where there is one."
mutable struct Recorded
    found::OrderedMap{String,Comparison}
    forms::Vector{Dict{String,String}}  # of the recorder and of this worker
    asked::Any  # header and arrays of the last SETUP
    task::Header
    dropout::Bool
    initial::Arrays
    steps::Int
end

Recorded() = Recorded(
    OrderedMap{String,Comparison}(kind => Comparison(name) for (kind, name) in COMPARED),
    [], nothing, Header(), false, Arrays(), 0,
)

"Whether no answer is another than the recorded one."
is_right(recorded::Recorded) = all(is_right, values(recorded.found))

"The HELLO on the tape and the worker's own: the forms that they declare."
function greeted!(recorded::Recorded, theirs::Header, own::Header)
    recorded.forms = [merge(DEFAULT_FORMS, get(hello, "forms", Header())) for hello in (theirs, own)]
end

"The worker gave this answer, after it was compared."
function answered!(recorded::Recorded, header::Header)
    if header["type"] == "READY" && recorded.asked !== nothing
        setup, recorded.initial = recorded.asked
        recorded.task, recorded.steps = setup["task"], 0
        recorded.dropout = get(setup, "dropout", false) == true
    end
    recorded.steps += header["type"] == "RESULT"
end

"A recorded answer is none."
function unreadable!(recorded::Recorded, sentence)
    recorded.found["other"].compared += 1
    differ!(recorded.found["other"], sentence)
end

"Compare an answer with the one that the tape holds."
function compare!(recorded::Recorded, header::Header, arrays::Arrays, theirs::Header, others::Arrays)
    kind = haskey(recorded.found, theirs["type"]) ? theirs["type"] : "other"
    comparison = recorded.found[kind]
    if header["type"] != theirs["type"] || get(header, "code", "") != get(theirs, "code", "")
        comparison.compared += 1
        differ!(comparison, "$(named(header)) where $(named(theirs)) was recorded")
    elseif kind != "other"
        reason = reason_to_leave_out(recorded, kind)
        if reason === nothing
            comparison.compared += 1
            LOOKS[kind](comparison, recorded, header, arrays, theirs, others)
        else
            comparison.left_out[reason] = get(comparison.left_out, reason, 0) + 1
        end
    end
end

# --- what is compared -----------------------------------------------------------------------------

function compare_ready!(to::Comparison, ::Recorded, header, _, theirs, __)
    for key in ("parameter_count", "parameters")
        header[key] == get(theirs, key, nothing) || differ!(to, "READY has another `$key`")
    end
end

function compare_result!(to::Comparison, recorded::Recorded, header, _, theirs, __)
    loss, wanted = header["loss"], theirs["loss"]
    later = is_rough(recorded) ? LATER_LOSS_ROUGH : LATER_LOSS
    numbers = @sprintf("%.9g where %.9g was recorded", loss, wanted)
    deviation = loss == wanted || (isnan(loss) && isnan(wanted)) ? 0.0 : share(loss - wanted, wanted)
    tolerance = recorded.steps > 0 ? later : FIRST_LOSS
    add!(to, "step $(header["step"]) with $numbers", deviation, tolerance)
end

function compare_predictions!(to::Comparison, recorded::Recorded, _, arrays, __, others)
    found, wanted = lookup(arrays, "logits"), lookup(others, "logits")
    if wanted === nothing || size(found) != size(wanted)
        return differ!(to, "logits of another shape")
    end
    largest = isempty(wanted) ? 0.0 : maximum(abs, wanted)
    deviation = share(isempty(wanted) ? 0.0 : maximum(abs, minus(found, wanted)), largest)
    tolerance = recorded.steps > 0 ? LATER_LOGITS : FIRST_LOGITS
    add!(to, "a logit $(steps_done(recorded.steps))", deviation, tolerance)
end

function compare_values!(to::Comparison, recorded::Recorded, _, arrays, __, others)
    shapes(arrays) = [(name, size(array)) for (name, array) in arrays]
    shapes(arrays) == shapes(others) || return differ!(to, "other parameters")
    steps = recorded.steps
    tolerance = steps > 1 ? LATER_CHANGE : steps == 1 ? FIRST_CHANGE : 0.0
    for ((name, found), (_, wanted)) in zip(arrays, others)
        initial = lookup(recorded.initial, name)
        change = initial === nothing ? wanted : minus(wanted, initial)
        deviation = share(norm(minus(found, wanted)), norm(change))
        add!(to, "the change of $name $(steps_done(steps))", deviation, tolerance)
    end
end

const LOOKS = Dict{String,Function}(
    "READY" => compare_ready!, "RESULT" => compare_result!,
    "PREDICTIONS" => compare_predictions!, "VALUES" => compare_values!,
)

minus(a, b) = Float64.(a) .- Float64.(b)
norm(values) = isempty(values) ? 0.0 : sqrt(sum(abs2, values))

"The share of a difference in the whole: 0 when there is none, infinite in nothing."
share(difference, whole) = iszero(difference) ? 0.0 : abs(Float64(difference)) / abs(Float64(whole))

# --- what is left out -----------------------------------------------------------------------------

"Why answers of this kind can't be compared at this point; nothing when they can."
function reason_to_leave_out(recorded::Recorded, kind)
    kind == "READY" && return nothing
    has_changed = recorded.steps > 0
    if recorded.dropout && has_dropout(recorded) && (has_changed || kind == "RESULT")
        return "dropout is on, and each worker draws masks of its own"
    end
    for form in relevant_forms(recorded)
        has_changed && !isempty(recorded.forms) || continue
        theirs, own = recorded.forms
        theirs[form] == own[form] ||
            return "recorded by a worker whose form of $form is $(theirs[form])"
    end
    limit = STEPS_OF_VALUES
    if kind == "RESULT"
        limit = (is_rough(recorded) ? STEPS_OF_LOSSES_ROUGH : STEPS_OF_LOSSES) - 1
    end
    return recorded.steps > limit ? "too many steps after SETUP, rounding has grown" : nothing
end

layers_of(recorded::Recorded) = get(recorded.task, "layers", [])

is_rough(recorded::Recorded) = any(layer -> get(layer, "kind", "") == "conv", layers_of(recorded))

has_dropout(recorded::Recorded) = any(layers_of(recorded)) do layer
    get(layer, "kind", "") == "dropout" && get(layer, "rate", 0) != 0
end

function relevant_forms(recorded::Recorded)
    kind = get(get(recorded.task, "optimiser", Header()), "kind", "")
    return kind == "adam" ? ["adam"] : kind == "sgd" ? ["momentum"] : String[]
end

named(header::Header) =
    join([header["type"]; [header[key] for key in ("code", "message") if haskey(header, key)]], ' ')

steps_done(count) =
    count == 0 ? "before any step" : count == 1 ? "after 1 step" : "after $count steps"
