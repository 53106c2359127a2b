# Runs inside of the machine that dev/vm boots, as root: local steps on control groups of version 2.
set -uo pipefail
mkdir /opt/airside; cp /share/airside /share/airside-shim /opt/airside/
cp /share/*.yml /home/ada/; chmod a+r /home/ada/*.yml
failed=0
# as_ada COMMAND: in a session of hers.
as_ada() { su - ada -c "XDG_RUNTIME_DIR=/run/user/1000 $1"; }
delegated="systemd-run --user --scope -q -p Delegate=yes /opt/airside/airside run --log-level warn"
expect() { # WHAT STATUS COMMAND...
  local what=$1 wanted=$2 got=0; shift 2
  echo "== $what"
  "$@" || got=$?
  [[ $got == "$wanted" ]] && echo "ok: $what" || { echo "FAILED: $what (exit status $got, wanted $wanted)"; failed=1; }
}
loginctl enable-linger ada
until [[ -S /run/user/1000/bus ]]; do sleep 1; done

cd /home/ada
expect "root, version 2" 0 /opt/airside/airside run hello.yml
expect "an ordinary user without a group of its own" 2 as_ada "/opt/airside/airside run hello.yml"
expect "an ordinary user" 0 as_ada "$delegated hello.yml"
expect "an ordinary user's users, limits, network and rights" 0 as_ada "$delegated world.yml"
exit $failed
