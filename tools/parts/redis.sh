# A private Redis on the loopback address, data under the state folder.

# start_redis FOLDER PORT: hz is how often an idle server wakes up a second, to remove expired keys among others. Ten
# times, the default, costs more CPU time than an idle service.
start_redis() {
    mkdir -p "$1"
    start redis redis-server --bind 127.0.0.1 --port "$2" --dir "$1" --save "60 1" --hz 1 --daemonize no
    await redis 10 redis_answers "$2"
}

redis_answers() { redis-cli -h 127.0.0.1 -p "$1" ping >/dev/null 2>&1; }
