# Shared by the scripts in this folder: messages, and what can be installed on this system.

readonly EXIT_ENVIRONMENT=4

say() {
    printf '%s\n' "$*"
}

lack() {
    printf '%s\n' "$*" >&2
    exit "$EXIT_ENVIRONMENT"
}

# Print the command prefix that lets apt-get install, or fail where there is none.
apt_prefix() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -eq 0 ]; then
        printf 'env'
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        printf 'sudo -n env'
    else
        return 1
    fi
}

# apt_install PACKAGE…: install without questions; apt's own words are shown only when it fails.
apt_install() {
    local prefix log
    prefix=$(apt_prefix) || return 1
    log=$(mktemp)
    if $prefix DEBIAN_FRONTEND=noninteractive apt-get update -q >"$log" 2>&1 &&
        $prefix DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
        rm -f "$log"
    else
        tail -n 5 "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# digest FILE…: one sha256 over the contents.
digest() {
    cat "$@" | if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1
}

# is_done NAME DIGEST / mark_done NAME DIGEST: a step that ran to its end on these inputs is not run again.
is_done() {
    [ "$(cat ".venv/stamps/$1" 2>/dev/null)" = "$2" ]
}

mark_done() {
    mkdir -p .venv/stamps
    printf '%s' "$2" >".venv/stamps/$1"
}
