# The windows of an image as columns of a matrix, and back ("im2col" and "col2im").
#
# With stride 1 and an output of the input's size, the column for one element of the kernel is one
# channel of the image, shifted by a number of pixels to the right and down: all of it lies in one
# piece in memory, and only what the shift carries over an edge has to be cleared.

"""
    copy_windows!(windows, x, sample, k)

Set `windows` (place × k·k·channels) to the k × k windows of one sample of `x` (column × row ×
channel × sample), whose surroundings are zero.
"""
function copy_windows!(windows::Matrix, x::Array, sample::Int, k::Int)
    width, height, channels, _ = size(x)
    column = 0
    for channel in 1:channels, down in offsets(k), right in offsets(k)
        column += 1
        start = width * height * (column - 1)
        source = width * height * (channel - 1 + channels * (sample - 1))
        places = copied_places(width, height, right, down)
        clear!(windows, start + 1:start + first(places) - 1)
        clear!(windows, start + last(places) + 1:start + width * height)
        shifted = source + first(places) + right + width * down
        copyto!(windows, start + first(places), x, shifted, length(places))
        clear_edge!(windows, start, width, height, right)
    end
    return windows
end

"""
    add_windows!(dx, dwindows, sample, k)

The reverse of `copy_windows!`: set each pixel of one sample of `dx` to the sum of all elements of
`dwindows` whose counterparts were copied from it. Changes `dwindows`.
"""
function add_windows!(dx::Array, dwindows::Matrix, sample::Int, k::Int)
    width, height, channels, _ = size(dx)
    before = width * height * channels * (sample - 1)
    clear!(dx, before + 1:before + width * height * channels)
    column = 0
    for channel in 1:channels, down in offsets(k), right in offsets(k)
        column += 1
        start = width * height * (column - 1)
        target = before + width * height * (channel - 1) + right + width * down
        clear_edge!(dwindows, start, width, height, right)
        @inbounds @simd ivdep for place in copied_places(width, height, right, down)
            dx[target + place] += dwindows[start + place]
        end
    end
    return dx
end

"How far the elements of a row (or column) of the kernel are from its centre."
offsets(k::Int) = -(k ÷ 2):k ÷ 2

"""
The places of a column, in the order of the image's pixels, whose pixel `right` and `down` of them
lies in the image. At the ends of the rows that includes places whose pixel lies in the row before
or behind.
"""
function copied_places(width, height, right, down)
    shift = right + width * down
    above, below = width * clamp(-down, 0, height), width * clamp(down, 0, height)
    from = max(above + 1, 1 - shift)
    to = min(width * height - below, width * height - shift)
    return from <= to ? (from:to) : (above + 1:above)
end

"Clear the places of a column whose pixel to the right (left, if negative) is beyond the edge."
function clear_edge!(windows, start, width, height, right)
    edge = right < 0 ? (1:min(-right, width)) : (max(width - right, 0) + 1:width)
    @inbounds for row in 0:height - 1, place in edge
        windows[start + width * row + place] = 0
    end
    return nothing
end

function clear!(array, range)
    @inbounds @simd for i in range
        array[i] = 0
    end
    return nothing
end
