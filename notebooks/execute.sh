#!/usr/bin/env bash
# Runs the notebooks anew, in place, at the scales at which they are committed, and
# then takes the README's screenshot. Their times are part of what they say: the
# machine should have nothing else to do. Some 15 minutes on two cores, 12 of them
# for nir, the only one at the paper's scale, which wants `dace data fetch wiki` first.
#
#   bash notebooks/execute.sh                 all
#   bash notebooks/execute.sh quickstart nir  these
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
[ $# -gt 0 ] || names=(quickstart your-problem gallery problems search similarity farm any-solver paper-figures paper-tables
    paper-why paper-generating paper-worth paper-instances paper-appendices nir)
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -o "$tools/dace" ./kernel
export PATH="$tools:$PATH" # farm starts workers
for name in "${names[@]}"; do
    if [ -r /proc/loadavg ]; then
        read -r load _ </proc/loadavg
        awk -v load="$load" 'BEGIN { exit load < 0.5 }' || # of what ran before, too
            [ "${ANYWAY:-}" ] || { echo "waiting until the machine is idle (load $load; ANYWAY=1 does not wait)" >&2; }
        while [ -z "${ANYWAY:-}" ] && awk '{ exit $1 < 0.5 }' /proc/loadavg; do sleep 5; done
    fi
    parameters=()
    export GODEBUG=cpu.avx512f=off # trained networks have the same digits on all processors with FMA
    [ "$name" != nir ] || { parameters=(-p scale=paper) && unset GODEBUG; }
    before=$SECONDS
    "$tools/dace" run -q "notebooks/$name.ipynb" -o "notebooks/$name.ipynb" "${parameters[@]}"
    echo "$name: $((SECONDS - before)) s"
done
if [[ " ${names[*]} " = *" quickstart "* ]]; then
    "$tools/dace" install -quiet -prefix "$tools"
    JUPYTER_PATH="$tools/share/jupyter" install/jupyterlab/run.sh screenshot
fi
go test -count=1 ./notebooks
