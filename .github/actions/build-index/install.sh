#!/usr/bin/env bash
# Installs acx and puts it on the job's PATH: built from the action's own commit, or a release's program whose SHA-256
# is the one that was given. Whatever is in doubt ends with an error, never with another program.
set -euo pipefail

fail() {
  printf '::error title=acx::%s\n' "$1"
  exit 2
}

root=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd -P)
folder="$RUNNER_TEMP/acx/bin"
mkdir -p "$folder"

if [ -z "$VERSION" ]; then
  [ -z "$SHA256" ] || fail "The input sha256 belongs to a release, and no version is given."
  rust=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' "$root/Cargo.toml")
  [ -n "$rust" ] || fail "The action's Cargo.toml names no rust-version."
  # Cargo takes settings, compilers among them, from the folder it runs in and from those above: it must not be the
  # checkout, which may be a stranger's.
  cd "$root"
  rustup toolchain install "$rust" --profile minimal --no-self-update
  CARGO_TARGET_DIR="$RUNNER_TEMP/acx/target" \
    cargo "+$rust" install --locked --bin acx --path "$root" --root "$RUNNER_TEMP/acx"
else
  [[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
    fail "The input version: expected a release such as v1.2.3."
  [[ $SHA256 =~ ^[0-9a-f]{64}$ ]] ||
    fail "The input sha256: expected the 64 hexadecimal digits that the release's SHA256SUMS has for the program."
  [ "$RUNNER_OS" = Linux ] ||
    fail "Releases are for Linux: leave the input version empty to build acx from source."
  case "$RUNNER_ARCH" in
    X64) arch=x86_64 ;;
    ARM64) arch=aarch64 ;;
    *) fail "There is no release for this processor: leave the input version empty to build acx from source." ;;
  esac
  # The runner keeps an action at _actions/OWNER/REPO/REF.
  [[ $GITHUB_ACTION_PATH =~ /_actions/([A-Za-z0-9-]+)/([A-Za-z0-9._-]+)/ ]] ||
    fail "A release can be used where the action is OWNER/REPO/.github/actions/build-index@SHA, not a path."
  url="$GITHUB_SERVER_URL/${BASH_REMATCH[1]}/${BASH_REMATCH[2]}/releases/download"
  url="$url/$VERSION/acx-$VERSION-$arch-unknown-linux-musl"
  download="$RUNNER_TEMP/acx/download"
  # Redirects stay with the scheme of the server, which is https.
  curl --fail --silent --show-error --location --proto "=${GITHUB_SERVER_URL%%:*}" --max-filesize 268435456 \
    --max-time 300 --retry 3 --output "$download" "$url" ||
    fail "The release's program could not be downloaded."
  found=$(sha256sum "$download")
  found=${found%% *}
  if [ "$found" != "$SHA256" ]; then
    rm -f "$download"
    fail "The release's program has the SHA-256 $found, expected $SHA256: it is not used."
  fi
  chmod 755 "$download"
  mv "$download" "$folder/acx"
fi

"$folder/acx" --version
printf '%s\n' "$folder" >>"$GITHUB_PATH"
