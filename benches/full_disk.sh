#!/bin/bash
# Runs `gander convert BIG.csv out.parquet` into a file system that is too small, and checks
# that it fails with a sentence, that the out.parquet that was there before is byte for byte
# the same, and that no temporary file stays.
#
#   benches/full_disk.sh [BIG.csv] [SIZE]      SIZE of the tmpfs, 16m by default
#
# Mounting wants root, or user namespaces: without root the script runs itself in one.
set -u
. "$(dirname "$0")/lib.sh"
source=${1:-$root/benches/data/trips.csv}
size=${2:-16m}
[ -f "$source" ] || { echo "$source: not there; make_data.py makes it" >&2; exit 2; }
if [ "$(id -u)" -ne 0 ]; then
    exec unshare --map-root-user --mount "$0" "$@"
fi
folder=$(mktemp -d)
mount -t tmpfs -o "size=$size" none "$folder" || { rmdir "$folder"; exit 2; }
trap 'umount "$folder" && rmdir "$folder"' EXIT
failed=0

check() {
    # $1 what, $2 the names that may be there, $3 the checksum of out.parquet or nothing
    # shellcheck disable=SC2086
    "$gander" convert "$source" "$folder/out.parquet" ${3:+$overwrite} > "$log" 2>&1
    status=$?
    [ $status -eq 1 ] || { echo "$1: exit status $status, not 1"; failed=1; }
    [ -s "$log" ] || { echo "$1: no sentence on stderr"; failed=1; }
    grep -qi 'panick' "$log" && { echo "$1: it panicked"; failed=1; }
    echo "$1: $(tail -1 "$log")"
    if [ -n "$3" ] && [ "$(sum_of "$folder/out.parquet")" != "$3" ]; then
        echo "$1: out.parquet is not what it was"
        failed=1
    fi
    for name in $(left_over "$folder" $2); do
        echo "$1: left over: $name ($(stat -c %s "$folder/$name") bytes)"
        rm -rf "${folder:?}/$name"
        failed=1
    done
}

log=$(mktemp)
check "nothing there before" "" ""
printf 'a,b\n1,x\n2,y\n' > "$folder/small.csv"
"$gander" convert "$folder/small.csv" "$folder/out.parquet" || { echo "the small conversion failed"; failed=1; }
rm -f "$folder/small.csv"
check "an output there before" "out.parquet" "$(sum_of "$folder/out.parquet")"
rm -f "$log"
[ $failed -eq 0 ] && echo "fine"
exit $failed
