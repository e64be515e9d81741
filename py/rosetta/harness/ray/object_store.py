"""Brings batches to actors by way of Ray's object store: one `put`, as many readers as wanted.

    python object_store.py ACTORS FOLDER

For each line "COUNT ACTORS BYTES DIFFERENT WINDOW" on standard input, COUNT batches, DIFFERENT ones
in rotation, are put and read by each of the first ACTORS actors, with at most WINDOW calls that
aren't answered yet; a line says how long it took.
"""

import json
import sys
import time

import numpy as np
import ray


@ray.remote(num_cpus=0)
class Reader:
    def take(self, batch):
        return len(batch)


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=2**29,
        _temp_dir=folder,
    )
    readers = [Reader.remote() for _ in range(count)]
    ray.get([reader.take.remote(np.zeros(1, np.uint8)) for reader in readers])
    print(json.dumps({"ray": ray.__version__}), flush=True)
    for line in sys.stdin:
        batches, actors, size, different, window = map(int, line.split())
        arrays = [np.full(size, n, np.uint8) for n in range(different)]
        started = time.perf_counter_ns()
        put = [ray.put(arrays[n % different]) for n in range(batches)]
        for reader in readers[:actors]:
            under_way = []
            for batch in put:
                if len(under_way) == window:
                    ray.get(under_way.pop(0))
                under_way.append(reader.take.remote(batch))
            ray.get(under_way)
        took_ns = time.perf_counter_ns() - started
        print(json.dumps({"ns": took_ns}), flush=True)
    ray.shutdown()


main()
