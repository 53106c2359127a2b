# Shared by the scripts in dev/: where things are kept, and how they speak. Sourced, never run.
#
# Everything a build or a test makes is kept outside the tree, under one directory, so that a clone
# stays clean and several clones share the slow parts.

AIRSIDE_CACHE=${AIRSIDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airside}
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$AIRSIDE_CACHE/target}
export AIRSIDE_CACHE CARGO_TARGET_DIR

DEV=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$*"; exit 1; }

# usage: prints the comment that opens the calling script, without its first line.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

# timed WHAT COMMAND...: runs a command and says how many minutes it took.
timed() {
  local what=$1 begin=$SECONDS status=0; shift
  "$@" || status=$?
  say "$(minutes $((SECONDS - begin))) min  $what$( ((status == 0)) || echo " (failed)")"
  return $status
}

minutes() { awk -v s="$1" 'BEGIN { printf "%.1f", s / 60 }'; }
