#!/usr/bin/env bash
# A release from a clean checkout, in one command; docs/releasing.md says what a person does before and after.
#
#   recipes/release.sh ORG              makes everything, and shows what would be pushed to the Hub
#   PUSH=yes recipes/release.sh ORG     pushes it too: ORG/luna, ORG/luna-mini, ORG/luna2-heads, …
#   recipes/release.sh --packages       makes wheel, sdist, SBOM and checksums alone
#
# A step whose output is whole is left out: a stopped run resumes with the same command. From the environment:
#
#   OUT             folder of the release (dist/release)
#   LYNX, GGUF      folders of trained models with their cards, as recipes/run_all.sh makes them, and of
#                   GGUF files with theirs; each is pushed under its own name (none)
#   ROWS            rows of the HaluBench build (14900); 0 makes none. MOONLYNX_DATA: folder of the sources' files
#   KEY             private key in PEM form to sign with; without it by Sigstore, as who runs this or as the
#                   CI job that does; "none" signs nothing
#   PYTHON          of the environment that holds moonlynx[data,card] (python3)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3} out=${OUT:-dist/release} rows=${ROWS:-14900} org=${1:-}
if [ $# -ne 1 ] || [[ $org != --packages && ($org != [A-Za-z0-9]* || $org == */*) ]]; then
  echo "usage: $0 ORG, or $0 --packages; the comments on top say what the environment may set" >&2
  exit 2
fi
mkdir -p "$out/hub" "$out/packages"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$root/src/moonlynx/_version.py")

moonlynx() { "$python" -m moonlynx "$@"; }
step() { # OUTPUT COMMAND...: runs the command unless its output, which it writes last, is there
  if [ -e "$1" ]; then
    echo "== ${1#"$out/"}: done before"
  else
    echo "== ${1#"$out/"}"
    "${@:2}"
  fi
}

# One version everywhere; what is pushed has a dated entry in the changelog.
wrong=
grep -q "^## $version — [0-9]" "$root/CHANGELOG.md" || wrong+=" CHANGELOG.md"
grep -q "^version: $version\$" "$root/CITATION.cff" || wrong+=" CITATION.cff"
grep -q "^appVersion: \"$version\"\$" "$root/serve/deploy/chart/Chart.yaml" || wrong+=" Chart.yaml"
if [ -n "$wrong" ]; then
  echo "not of version $version, or without its date:$wrong" >&2
  [ "${PUSH:-}" != yes ] || exit 2
fi

# The tools, and the packages; the wheel judges in an environment that held nothing, which the SBOM lists.
tools() {
  "$python" -m venv "$out/tools"
  "$out/tools/bin/pip" install --quiet --requirement "$root/recipes/release.txt"
  touch "$1"
}
packages() {
  "$out/tools/bin/python" -m build --outdir "$out/packages.part" "$root"
  mv "$out/packages.part"/* "$out/packages/"
}
sbom() {
  local PYTHONPATH= # no other copy of the package
  rm -rf "$out/empty"
  "$python" -m venv --without-pip "$out/empty"
  "$out/tools/bin/python" -m pip --python "$out/empty/bin/python" install --quiet "$out/packages"/*.whl
  "$out/empty/bin/python" -I -m moonlynx judge --context "It opened in 1932." --answer "It opened in 1932."
  "$out/tools/bin/cyclonedx-py" environment --pyproject "$root/pyproject.toml" --mc-type library \
    --output-reproducible --output-file "$1" "$out/empty/bin/python"
}
step "$out/tools/.done" tools "$out/tools/.done"
step "$out/packages/moonlynx-$version-py3-none-any.whl" packages
step "$out/packages/moonlynx-$version.cdx.json" sbom "$out/packages/moonlynx-$version.cdx.json"
(cd "$out/packages" && sha256sum -- *.whl *.tar.gz *.json > SHA256SUMS)
[ "$org" != --packages ] || exit 0

# What goes to the Hub, each a folder with its card.
copy() { # FOLDER NAME
  mkdir -p "$out/hub/$2.part"
  cp -R "$1"/. "$out/hub/$2.part"
  mv "$out/hub/$2.part" "$out/hub/$2"
}
step "$out/hub/luna" copy "$root/judge/weights/luna" luna
step "$out/hub/luna-mini" copy "$root/judge/weights/luna-mini" luna-mini
step "$out/hub/luna2-heads" copy "$root/judge/weights/luna2" luna2-heads
results=$(ls -d "$root"/docs/results/*-luna2-heads/results.json | tail -1)
moonlynx card --weights "$out/hub/luna2-heads" --run "$results" --output "$out/hub/luna2-heads/README.md"
for adapter in "$root"/judge/weights/luna2-adapters/*/; do
  name=luna2-$(basename "$adapter" | tr _ -)
  step "$out/hub/$name" copy "$adapter" "$name"
done
for folder in ${LYNX:-} ${GGUF:-}; do
  name=$(basename "${folder%/model}")
  step "$out/hub/$name" copy "$folder" "$name"
done
if [ "$rows" -gt 0 ]; then
  step "$out/hub/halubench/manifest.json" moonlynx halubench build --rows "$rows" \
    ${MOONLYNX_DATA:+--data "$MOONLYNX_DATA"} --output "$out/hub/halubench"
fi

# A signature of every file's SHA-256 in each folder (OpenSSF Model Signing): anyone verifies it, with no key of ours.
sign() { # FOLDER
  local by=(sigstore --use_ambient_credentials)
  [ -n "${CI:-}" ] || by=(sigstore)
  [ -z "${KEY:-}" ] || by=(key --private_key "$KEY")
  "$out/tools/bin/model_signing" sign "${by[@]}" --signature "$1/model.sig" "$1"
}
for folder in "$out/packages" "$out"/hub/*/; do
  [ "${KEY:-}" = none ] || step "${folder%/}/model.sig" sign "${folder%/}"
done

show=(--dry-run)
[ "${PUSH:-}" != yes ] || show=()
for folder in "$out"/hub/*/; do
  echo "== $org/$(basename "$folder")"
  moonlynx push "${folder%/}" "$org/$(basename "$folder")" --tag "v$version" "${show[@]}"
done
echo "== the packages are in $out/packages; CI uploads them to PyPI when the tag v$version is pushed"
