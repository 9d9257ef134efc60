#!/usr/bin/env bash
# A Slurm of one node on this machine, as root: slurm.sh start PLACE CORES PORT, slurm.sh stop PLACE. All is in PLACE, but for
# a link to its slurm.conf in /etc/slurm, as the steps of a job do not get SLURM_CONF; where there is one already, nothing is
# started. Two ports are used, PORT and the next. More cores than there are may be said.
set -euo pipefail
place=$2 conf=/etc/slurm/slurm.conf

if [ "$1" = stop ]; then
    for daemon in slurmd slurmctld munged; do
        [ ! -e "$place/run/$daemon.pid" ] || kill "$(cat "$place/run/$daemon.pid")" || true
    done
    [ "$(readlink "$conf")" != "$place/slurm.conf" ] || rm "$conf"
    exit
fi

[ ! -e "$conf" ] || { echo "$conf: there is a Slurm already" >&2; exit 1; }
cores=$3 port=$4 host=$(hostname -s)
mkdir -p "$place"/{state,spool,munge,run}
head -c 1024 /dev/urandom > "$place/munge/key"
chmod 700 "$place/munge"
chmod 400 "$place/munge/key"
cat > "$place/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/run/munge.socket
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/run/slurmctld.pid
SlurmdPidFile=$place/run/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=64000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
munged --force --key-file="$place/munge/key" --socket="$place/run/munge.socket" --pid-file="$place/run/munged.pid" \
    --log-file="$place/munged.log" --seed-file="$place/munge/seed"
ln -sfn "$place/slurm.conf" "$conf"
slurmctld -i
slurmd -N "$host"
for _ in $(seq 60); do
    if sinfo -h -o %T | grep -q idle; then exit; fi
    sleep 0.5
done
sinfo
exit 1
