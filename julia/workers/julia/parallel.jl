# Threads: Julia's own where there are enough of them, else those of the BLAS.
#
# Samples are independent of each other between one sum over the batch and the next, so a thread of
# Julia can take a part of the batch through a whole layer (the GRU: through all time steps) without
# ever waiting for the others. The BLAS would have to meet its threads in every product.

"Number of Julia threads that a step computes with."
const WORKERS = Ref(1)

"""
    use_threads(threads)

Compute with `threads` threads. Julia's number is fixed when the process starts
(`JULIA_NUM_THREADS`); if it is too small, the products alone are threaded, by the BLAS.
"""
function use_threads(threads::Int)
    WORKERS[] = threads <= Threads.nthreads() ? threads : 1
    BLAS.set_num_threads(WORKERS[] == threads ? 1 : threads)
    return nothing
end

"""
    in_parts(f, count; least = 1)

Call `f(worker, range)` for the parts of `1:count`, one for each of at most `WORKERS[]` workers, all
at the same time; no part is shorter than `least`. Workers are numbered from 1. The parts depend on
`count` and the number of workers alone, so sums over them are the same in every run.
"""
function in_parts(f::F, count::Int; least::Int = 1) where {F}
    workers = clamp(count ÷ least, 1, WORKERS[])
    workers == 1 && return f(1, 1:count)
    Threads.@threads for worker in 1:workers
        f(worker, part(count, worker, workers))
    end
    return nothing
end

"The range of `1:count` that is the `worker`th of `workers` nearly equal ones."
part(count::Int, worker::Int, workers::Int) =
    (count * (worker - 1)) ÷ workers + 1:(count * worker) ÷ workers

# A part of some hundred microseconds is worth a thread of its own: waking one that sleeps takes tens
# of them, and on a busy machine much more.

"Least number of elements in a part of a loop over them."
const LONG_LOOP = 131_072

"Least number of multiplications in a part of a product."
const LARGE_PRODUCT = 8_000_000

"""
    multiply!(c, transpose_a, a, transpose_b, b)

c = op(a) · op(b), where op is the identity for 'N' and the transpose for 'T', as in the BLAS. Each
worker computes some columns of c.
"""
function multiply!(c, transpose_a::Char, a, transpose_b::Char, b)
    T = eltype(c)
    inner = size(a, transpose_a == 'N' ? 2 : 1)
    least = cld(LARGE_PRODUCT, size(c, 1) * inner)
    in_parts(size(c, 2); least = least) do _, columns
        b_part = transpose_b == 'N' ? view(b, :, columns) : view(b, columns, :)
        BLAS.gemm!(transpose_a, transpose_b, one(T), a, b_part, zero(T), view(c, :, columns))
    end
    return c
end
