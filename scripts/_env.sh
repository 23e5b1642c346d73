# Sourced by the other scripts: makes and refreshes .venv with nothing but python3, venv and pip.
# Invariant: the environment is installed again whenever pyproject.toml changes, and only then.
find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    "$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null || continue
    echo "$candidate"
    return 0
  done
  echo "vademecum needs Python 3.11 or newer; none was found on PATH. Install it, or set PYTHON=/path/to/python3." >&2
  return 1
}

ensure_env() { # ensure_env EXTRAS  e.g. ensure_env "[dev]"
  local extras="$1" python stamp
  python="$(find_python)"
  stamp="$(cat pyproject.toml <(echo "$extras") | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')"
  if [ -f .venv/stamp ] && grep -qxF "$stamp" .venv/stamp && [ -x .venv/bin/python ]; then return 0; fi
  echo "Making the environment in .venv (a minute the first time) ..." >&2
  [ -x .venv/bin/python ] || "$python" -m venv .venv || {
    echo "Could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2
    return 1
  }
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".$extras" || {
    echo "Installing the dependencies failed: see above. The package index must be reachable once." >&2
    return 1
  }
  echo "$stamp" >> .venv/stamp
}
