#!/bin/sh
# Stands before cargo and go, and is called as they are: asks for all tests, also after a failure, and for their names.
name=${0##*/}
own=${0%/*}
real=
before=$IFS
IFS=:
for directory in $PATH; do
  if [ "$directory" != "$own" ] && [ -x "$directory/$name" ]; then
    real=$directory/$name
    break
  fi
done
IFS=$before
if [ -z "$real" ]; then
  echo "$name: not found" >&2
  exit 127
fi

# The word after which something is added, and what; unless one of these words is there.
words=
case $name in
cargo)
  after=
  for word; do
    case $word in
    +* | -*) continue ;;
    test | t) after=$word ;;
    nextest) after=run ;;
    esac
    break
  done
  more=--no-fail-fast
  words=' --no-fail-fast --fail-fast --ff --nff --max-fail --help --no-run --list '
  ;;
go)
  after=
  [ "$1" = test ] && after=test
  more=-v
  words=' -v -v=true -v=false -json -c -list -help --help '
  ;;
esac
if [ -n "$after" ]; then
  for word; do
    [ "$word" = -- ] && break
    case $words in *" ${word%%=*} "*) after= ;; esac
  done
fi
if [ -z "$after" ]; then
  exec "$real" "$@"
fi
count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  count=$((count - 1))
  set -- "$@" "$word"
  if [ "$word" = "$after" ]; then
    set -- "$@" "$more"
    after=
  fi
done
exec "$real" "$@"
