# Two steps of each optimiser by hand, with the learning rate changed between them.

function two_steps(described)
    parameter = Backend.Parameter{Float64,1}("p", [1.0, -2.0], [0.5, 0.0])
    optimiser = Backend.Optimiser{Float64}(described, [parameter])
    Backend.update!(optimiser)
    first_step = copy(parameter.value)
    parameter.gradient .= [-1.0, 0.0]
    optimiser.learning_rate = 0.1
    Backend.update!(optimiser)
    return first_step, parameter.value
end

@testset "SGD has its learning rate outside the velocity" begin
    first_step, second_step = two_steps(SGD)
    @test first_step ≈ [1 - 0.01 * 0.5, -2]
    @test second_step ≈ [first_step[1] - 0.1 * (0.9 * 0.5 - 1), -2]
end

@testset "Adam has epsilon outside the corrected root" begin
    first_step, second_step = two_steps(merge(ADAM, Dict("epsilon" => 0.1)))
    @test first_step ≈ [1 - 0.001 * 0.5 / (0.5 + 0.1), -2]
    m, v = 0.9 * 0.05 + 0.1 * -1, 0.999 * 0.001 * 0.25 + 0.001
    corrected = (m / (1 - 0.9^2)) / (sqrt(v / (1 - 0.999^2)) + 0.1)
    @test second_step ≈ [first_step[1] - 0.1 * corrected, -2]
end

@testset "Adam goes on moving what has no gradient any more" begin
    parameter = Backend.Parameter{Float32,1}("p", [1.0f0], [1.0f0])
    optimiser = Backend.Optimiser{Float32}(ADAM, [parameter])
    Backend.update!(optimiser)
    held = parameter.value[1]
    parameter.gradient[1] = 0
    Backend.update!(optimiser)
    @test parameter.value[1] < held
end

@testset "an unknown optimiser is refused" begin
    @test_throws ArgumentError Backend.Optimiser{Float32}(Dict("kind" => "adamw"), [])
end
