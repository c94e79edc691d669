#!/usr/bin/env bash
# Runs acx on a registry: "check" judges, "build" writes, and pushes where a remote is named; "share" judges a share.
set -euo pipefail

fail() {
  printf '::error title=acx::%s\n' "$1"
  exit 2
}

# Names are a stranger's choice, and a runner takes some lines of a log for commands.
plain() {
  printf '%s' "$1" | LC_ALL=C tr -c 'A-Za-z0-9._/@+ -' '?'
}

# The commit that a pull request is held against. GitHub judges a merge that it makes itself, whose first parent is the
# target branch as it is by then: newer than the base that the event names, where others have published meanwhile.
base_commit() {
  local head named
  named=$(git -C "$REGISTRY" rev-parse --verify --quiet --end-of-options "$BASE^{commit}") || return
  head=$(git -C "$REGISTRY" rev-parse --verify --quiet HEAD) || return
  if [[ ${GITHUB_REF:-} == refs/pull/*/merge && ${GITHUB_SHA:-} == "$head" ]] &&
    git -C "$REGISTRY" rev-parse --verify --quiet 'HEAD^2' >/dev/null &&
    git -C "$REGISTRY" merge-base --is-ancestor "$named" 'HEAD^1'; then
    git -C "$REGISTRY" rev-parse --verify 'HEAD^1'
  else
    printf '%s\n' "$named"
  fi
}

# Says so where files were changed that builds write, and how to take that back.
generated_files_are_untouched() {
  local base=$1 head=HEAD since list name spec count=0
  local specs=() patterns=()
  # Where a function's result is asked for, bash does not stop in it by itself.
  since=$(git -C "$REGISTRY" merge-base "$base" HEAD) || fail "The base and HEAD have no history in common."
  list=$(mktemp "$RUNNER_TEMP/acx-generated.XXXXXX") || fail "There is no place for temporary files."
  for spec in index.json registry/index.json 'index/*/*.json' 'registry/index/*/*.json' '*.lance'; do
    patterns=(":(glob)$spec")
    case "$spec" in
      '*.lance')
        patterns=(':(glob)**/*.lance' ':(glob)**/*.lance/**')
        spec="'*.lance' '*.lance/*'"
        ;;
      *'*'*) spec="'$spec'" ;;
    esac
    git -C "$REGISTRY" diff -z --name-only --no-renames --relative "$since" HEAD -- "${patterns[@]}" >"$list" ||
      fail "git cannot compare HEAD with the base."
    [ -s "$list" ] || continue
    specs+=("$spec")
    while IFS= read -r -d '' name; do
      count=$((count + 1))
      [ "$count" -gt 20 ] || printf 'generated: %s\n' "$(plain "$name")"
    done <"$list"
  done
  rm -f "$list"
  [ "$count" -gt 0 ] || return 0
  if git -C "$REGISTRY" rev-parse --verify --quiet 'HEAD^2' >/dev/null; then head='HEAD^2'; fi
  since=$(git -C "$REGISTRY" merge-base "$base" "$head") || since=$base
  printf '%s\n' \
    "$count generated files are changed. The registry writes index.json, its shards and the .lance folders itself, after a merge." \
    "Put them back as they were, in the registry's folder of your branch:" \
    "" \
    "  git restore --source=$since --staged --worktree -- ${specs[*]}" \
    "  git commit -m 'Leave the generated files to the registry'" \
    ""
  printf '::error title=Generated files::%s\n' \
    "This changes files that the registry writes itself. The log of this step tells how to put them back."
  return 1
}

args=(build-index --format github --no-cache)
while IFS= read -r file; do
  [ -z "$file" ] || args+=(--report "$file")
done <<<"$REPORT"

status=0
case "$MODE" in
  check)
    [ -z "$PUSH" ] || fail "The input push belongs to the mode build."
    if [ -n "$BASE" ]; then
      base=$(base_commit) ||
        fail "The input base names no commit of the checkout: check out the whole history, with fetch-depth 0."
      generated_files_are_untouched "$base" || status=1
      # The commit is judged and not the checkout, so that no filter stands between.
      args+=(--dry-run --base "$base" --rev HEAD)
    else
      args+=(--check)
    fi
    ;;
  build)
    [ -z "$BASE" ] || fail "The input base belongs to the mode check."
    [ -n "$ACX_INDEX_KEY" ] ||
      fail "The input index-key is empty: there is no secret of the name that the workflow takes it from, or it is not for this branch."
    if [ -n "$PARTS" ]; then
      found=0
      for file in "$PARTS"/*; do
        [ -f "$file" ] || continue
        args+=(--merge "$file")
        found=1
      done
      [ "$found" = 1 ] || fail "The input parts: the folder holds no parts."
    fi
    if [ -n "$PUSH" ]; then
      args+=(
        --push "$PUSH"
        --author "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
        --trailer "Workflow-run: $GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
      )
    fi
    ;;
  share)
    [ -z "$PUSH$BASE" ] || fail "The inputs push and base belong to other modes than share."
    [ -n "$SHARE" ] && [ -n "$PART" ] || fail "The mode share needs the inputs share and part."
    # As a commit, so that no filter stands between; so does the build that joins the parts.
    args+=(--rev HEAD --shard "$SHARE" --partial "$PART")
    ;;
  *) fail "The input mode: expected check, build or share." ;;
esac
[ -z "$PARTS" ] || [ "$MODE" = build ] || fail "The input parts belongs to the mode build."
[ -z "$SHARE$PART" ] || [ "$MODE" = share ] || fail "The inputs share and part belong to the mode share."
case "$ON_REJECT" in
  exclude | fail) args+=(--on-reject "$ON_REJECT") ;;
  *) fail "The input on-reject: expected exclude or fail." ;;
esac

if [ -n "$TOKEN" ] && [ -n "$PUSH" ]; then
  # As configuration of this process alone: nothing of it is written to the checkout.
  basic=$(printf 'x-access-token:%s' "$TOKEN" | base64 | tr -d '\n')
  printf '::add-mask::%s\n' "$basic"
  export GIT_CONFIG_COUNT=1
  export GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader"
  export GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $basic"
fi
unset TOKEN

ran=0
acx "${args[@]}" -- "$REGISTRY" || ran=$?
if [ "$ran" -ge 2 ]; then
  printf '::error title=acx::%s\n' "acx could not do its work, and this is no verdict. The log of this step tells why."
fi
# A verdict of acx counts as it is; what was found here makes a failure of a success.
if [ "$ran" -ne 0 ]; then status=$ran; fi
exit "$status"
