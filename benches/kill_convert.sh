#!/bin/bash
# Kills `gander convert BIG.csv out.parquet` with SIGKILL at random moments and checks that
# the out.parquet that was there before is byte for byte the same, or is the new one, whole.
#
#   benches/kill_convert.sh [BIG.csv] [TIMES] [FOLDER]
#
# Without BIG.csv the CSV of benches/data. FOLDER (a temporary one by default) gets the
# output. Exit status 1 if an output was damaged. Left-over temporary files are reported:
# no program can remove its own after a SIGKILL.
set -u
. "$(dirname "$0")/lib.sh"
source=${1:-$root/benches/data/trips.csv}
times=${2:-20}
folder=${3:-$(mktemp -d)}
[ -f "$source" ] || { echo "$source: not there; make_data.py makes it" >&2; exit 2; }
mkdir -p "$folder"
out=$folder/out.parquet
RANDOM=20240131

printf 'a,b\n1,x\n2,y\n' > "$folder/small.csv"
rm -f "$out"
"$gander" convert "$folder/small.csv" "$out" || { echo "the first conversion failed" >&2; exit 1; }
rm -f "$folder/small.csv"
before=$(sum_of "$out")

# How long the whole takes decides when to kill.
started=$(date +%s%N)
"$gander" convert "$source" "$folder/whole.parquet" || { echo "the whole conversion failed" >&2; exit 1; }
whole=$(( ($(date +%s%N) - started) / 1000000 ))
after=$(sum_of "$folder/whole.parquet")
rm -f "$folder/whole.parquet"
echo "the whole conversion takes $whole ms"

damaged=0 killed=0 late=0 left=0
for round in $(seq "$times"); do
    wait_ms=$(( (RANDOM * 32768 + RANDOM) % (whole + whole / 20 + 1) ))
    "$gander" convert "$source" "$out" $overwrite > "$folder/log" 2>&1 &
    child=$!
    sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
    if kill -KILL $child 2> /dev/null; then killed=$((killed + 1)); else late=$((late + 1)); fi
    wait $child 2> /dev/null
    status=$?
    now=$(sum_of "$out" 2> /dev/null)
    if [ "$now" != "$before" ] && [ "$now" != "$after" ]; then
        damaged=$((damaged + 1))
        echo "round $round: killed after $wait_ms ms: out.parquet is neither the old one nor the new one"
    fi
    if [ $status -ne 137 ] && [ $status -ne 0 ]; then
        echo "round $round: exit status $status: $(tail -1 "$folder/log")"
        damaged=$((damaged + 1))
    fi
    for name in $(left_over "$folder" out.parquet log); do
        left=$((left + 1))
        echo "round $round: killed after $wait_ms ms: left over: $name ($(stat -c %s "$folder/$name") bytes)"
        rm -rf "${folder:?}/$name"
    done
    # A conversion that was done before the kill replaced the file: put the old one back.
    if [ "$now" != "$before" ]; then
        rm -f "$out"
        printf 'a,b\n1,x\n2,y\n' > "$folder/small.csv"
        "$gander" convert "$folder/small.csv" "$out"
        rm -f "$folder/small.csv"
        before=$(sum_of "$out")
    fi
done
echo "$times rounds: $killed killed, $late done before, $damaged damaged, $left temporary files left over"
[ $# -ge 3 ] || rm -rf "$folder"
[ $damaged -eq 0 ]
