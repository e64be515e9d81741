# What readers of the numbers should know about the arithmetic.

"Texts by name: precision, layout, threads, BLAS, and what the code is compiled for."
function disclosures()
    return merge!(
        Dict(
            "precision" => "float32",
            "layout" => "column × row × channel × sample (NCHW reversed, in the same bytes)",
            "julia_threads" => "$(WORKERS[]) of $(Threads.nthreads())",
            "cpu_target" => Sys.CPU_NAME,
        ),
        blas_disclosures(),
    )
end

"""
What the BLAS tells about itself. Its functions are looked up by name, with OpenBLAS's suffix for
64-bit integers and without; another BLAS tells its file only.
"""
function blas_disclosures()
    file = blas_file()
    found = Dict("blas" => basename(file))
    library = Libdl.dlopen(file; throw_error = false)
    library === nothing && return found
    config = blas_function(library, "openblas_get_config")
    kernel = blas_function(library, "openblas_get_corename")
    threads = blas_function(library, "openblas_get_num_threads")
    config == C_NULL || (found["blas"] = unsafe_string(ccall(config, Cstring, ())))
    kernel == C_NULL || (found["blas_kernel"] = unsafe_string(ccall(kernel, Cstring, ())))
    threads == C_NULL || (found["blas_threads"] = string(ccall(threads, Cint, ())))
    return found
end

function blas_function(library, name::String)
    for symbol in (name * "64_", name)
        address = Libdl.dlsym(library, symbol; throw_error = false)
        address === nothing || return address
    end
    return C_NULL
end

"The BLAS library's file or name; Julia 1.7 and later can load several, the first one is in front."
blas_file() =
    isdefined(BLAS, :get_config) ? BLAS.get_config().loaded_libs[1].libname : Base.libblas_name
