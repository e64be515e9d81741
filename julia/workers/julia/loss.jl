"""
    softmax_cross_entropy!(dlogits, logits, labels) -> loss

The mean loss of a batch; `dlogits` becomes its gradient by the logits.

    loss = -(1 / N) Σ_n log p[label_n, n]     p[k, n] = exp(logits[k, n]) / Σ_j exp(logits[j, n])
    dlogits = (p - onehot(labels)) / N

logits class × sample; labels counted from 0. The sample's largest logit is subtracted first, which
changes nothing but keeps exp from overflowing; the logarithm is natural.
"""
function softmax_cross_entropy!(dlogits::Matrix{T}, logits::Matrix{T}, labels) where {T}
    samples = size(logits, 2)
    loss = 0.0
    @inbounds for sample in 1:samples
        largest, correct = logits[1, sample], labels[sample] + 1
        for class in axes(logits, 1)
            largest = max(largest, logits[class, sample])
        end
        total = zero(T)
        for class in axes(logits, 1)
            dlogits[class, sample] = exp(logits[class, sample] - largest)
            total += dlogits[class, sample]
        end
        loss += log(total) - (logits[correct, sample] - largest)
        for class in axes(logits, 1)
            probability = dlogits[class, sample] / total
            dlogits[class, sample] = (probability - (class == correct)) / samples
        end
    end
    return loss / samples
end
