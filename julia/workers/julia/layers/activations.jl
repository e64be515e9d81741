# σ and tanh, of which a GRU needs two and one for each of its units in every time step.
#
# The versions for Float32 have no branches, so that a `@simd` loop computes them for eight or
# sixteen elements at a time. They are right to 4 units in the last place.

"The logistic function, σ(x) = 1 / (1 + e⁻ˣ)."
sigmoid(x::AbstractFloat) = 1 / (1 + exp(-x))
@inline sigmoid(x::Float32) = 1 / (1 + branchless_exp(-x))

"The hyperbolic tangent."
hyperbolic_tangent(x::AbstractFloat) = tanh(x)

@inline function hyperbolic_tangent(x::Float32)
    magnitude = abs(x)
    # tanh a = 1 - 2 / (e²ᵃ + 1) cancels for small a: there x + x³ P(x²), with the coefficients of
    # tanhf in Moshier's Cephes library.
    far = copysign(1 - 2 / (branchless_exp(2magnitude) + 1), x)
    square = x * x
    polynomial = @evalpoly(square,
        -3.33332819422f-1, 1.33314422036f-1, -5.37397155531f-2, 2.06390887954f-2, -5.70498872745f-3)
    near = muladd(polynomial * square, x, x)
    return ifelse(magnitude < 0.625f0, near, far)
end

"""
    branchless_exp(x::Float32)

eˣ, with `x` brought into the range where the result is a normal number. x = k·ln 2 + r with an
integer k and |r| ≤ ln 2 / 2, and eˣ = 2ᵏ eʳ; the polynomial and ln 2 in two parts are those of
expf in Moshier's Cephes library. NaN stays NaN.
"""
@inline function branchless_exp(x::Float32)
    x = ifelse(x < -87.0f0, -87.0f0, x)
    x = ifelse(x > 88.0f0, 88.0f0, x)
    k = round(x * 1.442695f0)
    r = muladd(k, -6.93359375f-1, x)
    r = muladd(k, 2.12194440f-4, r)
    polynomial = @evalpoly(r,
        5.0000001201f-1, 1.6666665459f-1, 4.1665795894f-2,
        8.3334519073f-3, 1.3981999507f-3, 1.9875691500f-4)
    power = reinterpret(Float32, (unsafe_trunc(Int32, k) + Int32(127)) << 23)  # 2ᵏ, by its exponent
    return muladd(polynomial, r * r, r + 1) * power
end
