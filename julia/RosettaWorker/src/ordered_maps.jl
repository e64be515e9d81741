"A map that keeps the order of its keys, which the standard library has none of."
module OrderedMaps

"""
    OrderedMap{K,V}(key => value, ...)
    OrderedMap{K,V}(pairs)

Keys stand in the order in which they first came. Nothing is ever taken out.
"""
struct OrderedMap{K,V} <: AbstractDict{K,V}
    order::Vector{K}
    values::Dict{K,V}

    OrderedMap{K,V}() where {K,V} = new{K,V}(K[], Dict{K,V}())
end

OrderedMap{K,V}(pairs::Pair...) where {K,V} = OrderedMap{K,V}(pairs)

function OrderedMap{K,V}(pairs) where {K,V}
    map = OrderedMap{K,V}()
    for (key, value) in pairs
        map[key] = value
    end
    return map
end

function Base.setindex!(map::OrderedMap{K}, value, key) where {K}
    haskey(map.values, key) || push!(map.order, convert(K, key))
    map.values[key] = value
    return map
end

Base.get(map::OrderedMap, key, default) = get(map.values, key, default)
Base.haskey(map::OrderedMap, key) = haskey(map.values, key)
Base.length(map::OrderedMap) = length(map.order)

function Base.iterate(map::OrderedMap, position = 1)
    position > length(map.order) && return nothing
    key = map.order[position]
    return key => map.values[key], position + 1
end

# Base would return a Dict.
Base.merge(map::OrderedMap{K,V}, others::AbstractDict...) where {K,V} =
    merge!(OrderedMap{K,V}(map), others...)
Base.copy(map::OrderedMap{K,V}) where {K,V} = OrderedMap{K,V}(map)
Base.empty(::OrderedMap, ::Type{K}, ::Type{V}) where {K,V} = OrderedMap{K,V}()

end
