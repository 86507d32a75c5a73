/**
 * The watchdog's whole program, for any POSIX shell. Its arguments: the folder with a folder for each replica, the token of
 * its worker, the grace period in seconds. Its input is a pipe whose other end only the worker has. The first line is what
 * `ps` shows.
 */
export const watchdogScript = String.raw`# The watchdog of a Flotilla worker: should the worker die, it ends the engines that nobody takes over.
folder=$1 token=$2 grace=$3

# The end of the input without that word is the worker's death, however sudden.
while read -r word; do [ "$word" = done ] && exit 0; done

# A worker that takes over writes a token of its own.
must_be_mine() {
  owner=
  { read -r owner <"$folder/owner"; } 2>/dev/null
  [ "$owner" = "$token" ] || exit 0
}

start_of() {
  if [ -r /proc/self/stat ]; then
    stat=$(cat "/proc/$1/stat" 2>/dev/null)
    set -- ${'$'}{stat##*)}
    echo "${'$'}{20}"
  else
    set -- $(TZ=UTC LC_ALL=C ps -o lstart= -p "$1" 2>/dev/null)
    echo "$*"
  fi
}

# Calls $1 for every engine of this boot, with pid, start and mark set.
each_engine() {
  for file in "$folder"/*/identity; do
    pid= start= boot= mark=
    { read -r pid; read -r start; read -r boot; read -r mark; } 2>/dev/null <"$file"
    # A number is what signals are sent to: 1 would be the system, -1 everybody.
    case $pid in '' | 0* | 1 | *[!0-9]*) continue ;; esac
    [ -n "$start" ] && [ -n "$mark" ] && [ "$boot" = "$this_boot" ] || continue
    "$1"
  done
}

ask_to_end() {
  marks="$marks$mark "
  [ "$(start_of "$pid")" = "$start" ] || return 0
  must_be_mine
  kill -TERM "-$pid" && seen="$seen$pid "
}

# Only groups that were there a moment ago; a new process of that number means that the group is empty.
kill_group() {
  case $seen in *" $pid "*) ;; *) return 0 ;; esac
  now=$(start_of "$pid")
  [ -z "$now" ] || [ "$now" = "$start" ] || return 0
  must_be_mine
  kill -KILL "-$pid"
}

is_any_left() {
  for pid in $seen; do kill -0 "-$pid" && return 0; done
  return 1
}

# Those that left their group carry their engine's mark in their environment.
kill_marked() {
  for file in $(grep -ls FLOTILLA_ENGINE= /proc/[0-9]*/environ); do
    mark=$(tr '\0' '\n' 2>/dev/null <"$file" | sed -n 's/^FLOTILLA_ENGINE=//p')
    pid=${'$'}{file#/proc/} pid=${'$'}{pid%/environ}
    [ -n "$mark" ] || continue
    case $marks in *" $mark "*) must_be_mine; kill -KILL "$pid" ;; esac
  done
}

while [ "$grace" -gt 0 ]; do
  must_be_mine
  sleep 1
  grace=$((grace - 1))
done
must_be_mine
this_boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.bootsessionuuid)
seen=' ' marks=' '
each_engine ask_to_end
# 5 s; where sleep knows whole seconds only, 25.
tries=25
while [ "$tries" -gt 0 ] && is_any_left; do
  sleep 0.2 2>/dev/null || sleep 1
  tries=$((tries - 1))
done
each_engine kill_group
[ "$marks" = ' ' ] && exit 0
# Twice, for what was started while the first round was at it.
kill_marked
kill_marked
`
