# What kill_convert.sh and full_disk.sh share; sourced, not run.

root=$(cd "$(dirname "$0")/.." && pwd)
# The option that lets a conversion replace a file; empty if none is needed.
overwrite=${OVERWRITE---overwrite}
gander=${GANDER:-$root/target/release/gander}
[ -x "$gander" ] || { echo "$gander: not there; build it, or set GANDER" >&2; exit 2; }

sum_of() {
    sha256sum "$1" | cut -d' ' -f1
}

# Files of the folder $1 that are not among the names that follow.
left_over() {
    folder=$1
    shift
    for found in $(ls -A "$folder"); do
        known=no
        for name in "$@"; do
            [ "$found" = "$name" ] && known=yes
        done
        [ $known = yes ] || echo "$found"
    done
}
