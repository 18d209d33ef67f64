-- wrk … -s wrk.lua URL -- FILE: asks with one token of the file after the other, and over again.

local requests, place = {}, 0

function init(arguments)
    for token in io.lines(arguments[1]) do
        requests[#requests + 1] = wrk.format("GET", nil, {
            ["Accept"] = "application/json",
            ["Authorization"] = "Bearer " .. token,
        })
    end
end

function request()
    place = place % #requests + 1
    return requests[place]
end

function done(summary)
    local errors = summary.errors
    io.write(string.format("completed=%d microseconds=%d failed=%d\n", summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
