"""What the peer scripts share: rows as bench/gpubench prints them."""

import json
import sys
import time


def quantile(samples, q):
    """Interpolates between the two nearest samples, as gpubench does."""
    s = sorted(samples)
    at = q * (len(s) - 1)
    i = int(at)
    return s[i] if i + 1 == len(s) else s[i] + (at - i) * (s[i + 1] - s[i])


def row(suite, what, who, unit, samples, note=""):
    """Prints one figure: the median of samples with its spread."""
    print(json.dumps({
        "suite": suite, "what": what, "who": who, "median": quantile(samples, 0.5),
        "p10": quantile(samples, 0.1), "p90": quantile(samples, 0.9), "unit": unit, "note": note,
    }), flush=True)


def attempt(name, fn):
    """Runs one measurement; one that cannot run does not stop the others."""
    try:
        fn()
    except Exception as e:  # the peer's own failure, to be shown and passed over
        print(f"{name}: not measured: {type(e).__name__}: {e}", file=sys.stderr)


def device_seconds(torch, calls, samples, warm, most=1):
    """Times each call by events, in turn, after a warm-up.

    A sample is as many calls in a row as fit 2 ms, `most` of them at most.
    """
    for call in calls:
        call()
    torch.cuda.synchronize()
    start, rounds = time.monotonic(), 0
    while rounds == 0 or time.monotonic() < start + warm:
        for call in calls:
            call()
        torch.cuda.synchronize()
        rounds += 1
    one = (time.monotonic() - start) / rounds / len(calls)
    in_row = min(most, max(1, int(2e-3 / one)))
    times = [[] for _ in calls]
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(samples):
        for i, call in enumerate(calls):
            begin.record()
            for _ in range(in_row):
                call()
            end.record()
            end.synchronize()
            times[i].append(begin.elapsed_time(end) / 1e3 / in_row)
    return times


def host_seconds(torch, calls, samples, warm, clock=time.perf_counter):
    """Times each call on the CPU, in turn, after a warm-up."""
    until = time.monotonic() + warm
    while time.monotonic() < until:
        for call in calls:
            call()
    times = [[] for _ in calls]
    for _ in range(samples):
        for i, call in enumerate(calls):
            begin = clock()
            call()
            times[i].append(clock() - begin)
    return times
