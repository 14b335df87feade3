#!/usr/bin/env python3
"""Damaged files through the command line: mutants.py BINARY COUNT [--seed N] [--jobs N] [--made FOLDER] FOLDER…

Takes files up to 300 kB under the folders, changes bytes, words, lengths, numbers, order and neighbours of COUNT copies,
and runs `tree`, `stats` and `show` on each. With --made, the files of that folder are taken as they are instead (what
`GANDER_MUTANTS=FOLDER cargo test --test main mutants_are_written` writes: files whose inner layers were changed and
made valid again).

Each process may take 1 GB of memory (its peak is measured; 4 GB of address data end it) and 3 s (of the processor, or of
the clock when a second run is as slow). Prints every file that ended in a signal, a panic, a `bug`, or beyond these,
and keeps it under KEEP (a temporary folder by default). Exit status 1 if there are any. Python's standard library only.
"""
import argparse, collections, concurrent.futures, json, os, random, resource, shutil, subprocess, sys, tempfile, threading, time

SECONDS, BYTES, PATIENCE = 3.0, 1 << 30, 120
WORDS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**60 + 7, 2**63 - 1, 2**63, 2**64 - 1]


# Of panics that are caught a backtrace is printed only for who asks for one.
QUIET = {name: value for name, value in os.environ.items() if name != 'RUST_BACKTRACE'}
RUNNING, LOCK = {}, threading.Lock()


def watch():
    """Ends what runs for minutes by the clock, whatever else the machine does."""
    while True:
        time.sleep(1)
        with LOCK:
            for p, began in list(RUNNING.items()):
                if time.time() - began > PATIENCE:
                    p.kill()


def damage(data, others, rnd):
    """Changes a copy in one to sixteen places."""
    b = bytearray(data)
    for _ in range(rnd.choice([1, 1, 2, 4, 16])):
        if not b:
            return b'\0'
        i, kind = rnd.randrange(len(b)), rnd.randrange(9)
        if rnd.random() < 0.4:
            i = rnd.randrange(min(len(b), 512))
        if kind == 0:
            b[i] ^= 1 << rnd.randrange(8)
        elif kind == 1:
            b[i] = rnd.choice([0, 1, 127, 128, 255])
        elif kind == 2:
            w = rnd.choice([2, 4, 8])
            v = rnd.choice(WORDS + [rnd.getrandbits(64), len(b), 2 * len(b)])
            b[i:i + w] = (v % (1 << 8 * w)).to_bytes(w, rnd.choice(['little', 'big']))
        elif kind == 3:
            del b[i:i + rnd.choice([1, 4, 16, 256])]
        elif kind == 4:
            j, n = rnd.randrange(len(b)), rnd.choice([1, 8, 64, 512])
            b[i:i] = b[j:j + n]
        elif kind == 5:
            b = b[:max(1, i)]
        elif kind == 6:
            j, n = rnd.randrange(len(b)), rnd.choice([4, 16, 128])
            b[i:i + n] = b[j:j + n]
        elif kind == 7:
            digits = [k for k in range(max(0, i - 200), min(len(b), i + 200)) if 48 <= b[k] <= 57]
            if digits:
                k = rnd.choice(digits)
                b[k:k + 1] = b'9' * rnd.choice([2, 5, 10, 19, 20])
        else:
            o = open(rnd.choice(others), 'rb').read()
            if o:
                j = rnd.randrange(len(o))
                b[i:i + 64] = o[j:j + 64]
    return bytes(b) or b'\0'


def holds(file, text):
    """Whether a file holds a text, piece by piece: what this program takes counts for the processes that it starts."""
    end = b''
    while piece := file.read(1 << 20):
        if text in end + piece:
            return True
        end = piece[-len(text):]
    return False


def run(binary, command, path):
    """(what is wrong or None, seconds of the processor, peak bytes, status)"""
    args = {'tree': ['tree', path, '--json'], 'stats': ['stats', path, '--json'], 'show': ['show', path, '--json']}[command]
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    began = time.time()
    p = subprocess.Popen([binary, *args], stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=QUIET)
    with LOCK:
        RUNNING[p] = began
    _, status, usage = os.wait4(p.pid, 0)
    with LOCK:
        del RUNNING[p]
    p.returncode = 0
    clock, cpu = time.time() - began, usage.ru_utime + usage.ru_stime
    killer = f'over {PATIENCE} s, {cpu:.1f} s of the processor' if clock > PATIENCE else None
    peak = usage.ru_maxrss * 1024
    err.seek(0)
    words = err.read(20000).decode('utf8', 'replace')
    out.seek(0)
    bug = holds(out, b'"bug"')
    code = os.waitstatus_to_exitcode(status)
    wrong = None
    if killer:
        wrong = killer
    elif code not in (0, 1, 2):
        wrong = f'status {code}: {words[-300:]}'
    elif 'panicked' in words or bug or 'a mistake in Gander' in words:
        wrong = 'panic or bug: ' + words[:300]
    elif peak > BYTES:
        wrong = f'{peak >> 20} MiB'
    elif cpu > SECONDS:
        wrong = f'{cpu:.1f} s'
    return wrong, cpu, clock, peak, code


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('binary'); a.add_argument('count', type=int); a.add_argument('folders', nargs='*')
    a.add_argument('--seed', type=int, default=1); a.add_argument('--jobs', type=int, default=1)
    a.add_argument('--made'); a.add_argument('--keep', default=os.path.join(tempfile.gettempdir(), 'mutants'))
    o = a.parse_intermixed_args()
    os.makedirs(o.keep, exist_ok=True)
    # Inherited by what is started.
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=watch, daemon=True).start()
    files = []
    for base in o.folders:
        for d, _, names in os.walk(base):
            for n in names:
                p = os.path.join(d, n)
                if os.path.isfile(p) and 0 < os.path.getsize(p) < 300_000 and not n.endswith(('.py', '.md', 'golden.txt', '.sh', 'truth.json')):
                    files.append(p)
    files.sort()
    by = collections.defaultdict(list)
    for f in files:
        by[os.path.splitext(f)[1].lower()].append(f)
    kinds = sorted(by)
    work = tempfile.mkdtemp(prefix='mutants')
    made = sorted(os.path.join(d, n) for d, _, ns in os.walk(o.made) for n in ns) if o.made else []
    if o.made:
        # Folders that are documents are named *.doc
        made = sorted(os.path.join(o.made, n) for n in os.listdir(o.made))
        o.count = min(o.count, len(made))

    def one(n):
        rnd = random.Random(o.seed * 1_000_003 + n)
        if made:
            path = origin = made[n]
        else:
            kind = rnd.choice(kinds)
            origin = rnd.choice(by[kind])
            path = os.path.join(work, f'{n}{kind}')
            with open(path, 'wb') as f:
                f.write(damage(open(origin, 'rb').read(), files, rnd))
        found = []
        for command in ('tree', 'stats', 'show'):
            r = run(o.binary, command, path)
            wrong = r[0]
            if wrong is None and r[2] > SECONDS:
                again = run(o.binary, command, path)
                wrong = again[0] or (f'{again[2]:.1f} s of the clock, twice, {again[1]:.1f} s of the processor' if again[2] > SECONDS and again[1] > SECONDS / 2 else None)
            if wrong:
                found.append((command, wrong))
            status[r[4]] += 1
            top['seconds'] = max(top.get('seconds', 0), r[1]); top['bytes'] = max(top.get('bytes', 0), r[3])
        if found:
            kept = os.path.join(o.keep, f'{o.seed}-{os.path.basename(path)}' if not made else os.path.basename(path))
            if not os.path.exists(kept):
                (shutil.copytree if os.path.isdir(path) else shutil.copyfile)(path, kept)
            for command, wrong in found:
                print(f'{command} {kept} (of {origin}): {wrong}', flush=True)
        if not made:
            os.remove(path)
        return len(found)

    status, top, began = collections.Counter(), {}, time.time()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        faults = sum(pool.map(one, range(o.count)))
    shutil.rmtree(work, ignore_errors=True)
    print(f"{o.count} files through tree, stats and show in {time.time() - began:.0f} s: {faults} faults; statuses {dict(status)}; "
          f"at most {top.get('seconds', 0):.1f} s of the processor and {top.get('bytes', 0) >> 20} MiB")
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
