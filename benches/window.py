#!/usr/bin/env python3
"""Measures the window on a virtual screen: the first frame, the first frame that shows content, the
processor while nothing happens, and memory beside that of an empty window.

    window.py [--gander target/release/gander] [--data benches/data] [--renderer glow wgpu]

Needs Xvfb. Gander prints the moments itself when GANDER_TIMINGS is set: seconds since 1970, before and
after, so that the start of the process is counted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def status(pid, key):
    """A line of /proc/PID/status, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1000
    return 0.0


def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def window(gander, renderer, files, display, idle):
    """Starts it, waits, measures, ends it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "DISPLAY": display,
            "GANDER_TIMINGS": "1",
            "GANDER_RENDERER": renderer,
            "XDG_CONFIG_HOME": home,
            "XDG_DATA_HOME": home,
        }
        environment.pop("WAYLAND_DISPLAY", None)
        start = time.time()
        process = subprocess.Popen([gander, *files], env=environment, stderr=subprocess.PIPE, text=True)
        moments = {}
        wanted = {"first frame", "first content"} if files else {"first frame"}
        try:
            while not wanted <= set(moments):
                line = process.stderr.readline()
                if not line:
                    sys.exit(f"{gander} ended: {process.wait()}")
                name, _, at = line.strip().rpartition(" ")
                if name in wanted:
                    moments[name] = (float(at) - start) * 1000
            time.sleep(idle)  # jobs end, the index is built
            before = ticks(process.pid)
            time.sleep(10)
            busy = (ticks(process.pid) - before) / os.sysconf("SC_CLK_TCK") / 10 * 100
            memory = {key: status(process.pid, key) for key in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}
        finally:
            process.terminate()
            process.wait()
    return moments, busy, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gander", default="target/release/gander")
    parser.add_argument("--data", type=Path, default=Path("benches/data"))
    parser.add_argument("--renderer", nargs="+", default=["glow", "wgpu"])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    display = ":97"
    screen = subprocess.Popen(["Xvfb", display, "-screen", "0", "1920x1200x24"], stderr=subprocess.DEVNULL)
    time.sleep(1)
    cases = {
        "empty": [],
        "2 GB CSV": [options.data / "trips.csv"],
        "13 GB safetensors": [options.data / "model_13gb.safetensors"],
        "both": [options.data / "model_13gb.safetensors", options.data / "trips.csv"],
    }
    print("| renderer | open | first frame, ms | first content, ms | idle, % | RSS, MB | anonymous, MB | files, MB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    try:
        for renderer in options.renderer:
            for name, files in cases.items():
                runs = [window(options.gander, renderer, [str(f) for f in files], display, 6) for _ in range(options.repeat)]
                middle = lambda pick: statistics.median(pick(run) for run in runs)
                content = f"{middle(lambda r: r[0]['first content']):.0f}" if files else "–"
                print(
                    f"| {renderer} | {name} | {middle(lambda r: r[0]['first frame']):.0f} | {content} "
                    f"| {middle(lambda r: r[1]):.1f} | {middle(lambda r: r[2]['VmRSS']):.0f} "
                    f"| {middle(lambda r: r[2]['RssAnon']):.0f} | {middle(lambda r: r[2]['RssFile']):.0f} |",
                    flush=True,
                )
    finally:
        screen.terminate()


if __name__ == "__main__":
    main()
