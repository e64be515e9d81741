# `julia run.jl FOLDER --connect FILE` or `julia run.jl FOLDER --tape FILE`: run one worker.

# The folder that this package lies in is an environment of its own, so that the package is found
# and precompiled without a registry, whatever project Julia was started with.
push!(LOAD_PATH, dirname(@__DIR__))

using RosettaWorker: RosettaWorker

exit(RosettaWorker.main(ARGS))
