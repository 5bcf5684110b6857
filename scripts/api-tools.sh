# shellcheck shell=bash disable=SC2034 # used by the scripts that source this file
# Sourced after lib.sh: which tools prove the HTTP API, and where they are.

spectral_package=@stoplight/spectral-cli@6.16.3
spectral_place=$LAMPLIGHTER_CACHE/tools/spectral-6.16.3
spectral=$spectral_place/node_modules/.bin/spectral

schemathesis_package=schemathesis==4.32.5
schemathesis_place=$LAMPLIGHTER_CACHE/tools/schemathesis-4.32.5
schemathesis=$schemathesis_place/bin/schemathesis
