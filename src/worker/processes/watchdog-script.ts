/**
 * The watchdog's program, for any POSIX shell. Its arguments: the parent of all replica folders, the token of its
 * worker, the grace period in seconds. Its input is a pipe whose other end only the worker holds. The first line is
 * what `ps` shows.
 */
export const watchdogScript = String.raw`# The watchdog of a Flotilla worker: should the worker die, it ends the engines that no later worker adopts.
folder=$1 token=$2 grace=$3

# The marks of the engines that live. They are kept here, because the folder may be deleted.
marks=' '
forget() {
  case $marks in *" $1 "*) marks=${'$'}{marks%% $1 *}' '${'$'}{marks#* $1 } ;; esac
}

# The end of the input without the word done is the worker's death, however sudden.
while read -r word mark; do
  case $word in
    done) exit 0 ;;
    engine) forget "$mark"; marks="$marks$mark " ;;
    ended) forget "$mark" ;;
  esac
done

# A worker that takes over writes a token of its own. A folder that is gone belongs to no other worker.
is_taken() {
  owner=
  { read -r owner <"$folder/owner"; } 2>/dev/null
  [ -n "$owner" ] && [ "$owner" != "$token" ]
}
must_be_mine() {
  is_taken && exit 0
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
    # Signals go to this number: 1 would be init, -1 every process.
    case $pid in '' | 0* | 1 | *[!0-9]*) continue ;; esac
    [ -n "$start" ] && [ -n "$mark" ] && [ "$boot" = "$this_boot" ] || continue
    "$1"
  done
}

ask_to_end() {
  forget "$mark"; marks="$marks$mark "
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

# Calls $1 with the pid of every process that carries one of the marks in $2 in its environment: those that left their
# group, and all of an engine that no file names.
each_marked() {
  for file in $(grep -ls FLOTILLA_ENGINE= /proc/[0-9]*/environ); do
    mark=$(tr '\0' '\n' 2>/dev/null <"$file" | sed -n 's/^FLOTILLA_ENGINE=//p')
    pid=${'$'}{file#/proc/} pid=${'$'}{pid%/environ}
    [ -n "$mark" ] || continue
    case $2 in *" $mark "*) "$1" "$pid" ;; esac
  done
}
end() { kill -TERM "$1" && found=1; }
end_now() { kill -KILL "$1"; }
count() { found=1; }
kill_mine() { must_be_mine; kill -KILL "$1"; }

# Ends the engines that no identity in the folder names: no worker can ever adopt them, even if another one owns the folder now.
end_unnamed() {
  known=' ' unnamed=' '
  for file in "$folder"/*/identity; do
    mark=
    { read -r _; read -r _; read -r _; read -r mark; } 2>/dev/null <"$file"
    known="$known$mark "
  done
  for mark in $marks; do
    case $known in *" $mark "*) ;; *) unnamed="$unnamed$mark " ;; esac
  done
  [ "$unnamed" = ' ' ] && return 0
  found=
  each_marked end "$unnamed"
  tries=25
  while [ "$tries" -gt 0 ] && [ -n "$found" ]; do
    sleep 0.2 2>/dev/null || sleep 1
    tries=$((tries - 1))
    found=
    each_marked count "$unnamed"
  done
  # Twice, for what was started while the first round was at it.
  each_marked end_now "$unnamed"
  each_marked end_now "$unnamed"
}

while [ "$grace" -gt 0 ] && ! is_taken; do
  sleep 1
  grace=$((grace - 1))
done
end_unnamed
must_be_mine
this_boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.bootsessionuuid)
seen=' '
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
each_marked kill_mine "$marks"
each_marked kill_mine "$marks"
`
