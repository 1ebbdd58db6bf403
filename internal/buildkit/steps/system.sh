# Makes the user and the folders of sandbox-contract/v1. The builder has found that no other account stands in their way.
set -eu
umask 022
if ! cut -d: -f3 /etc/group | grep -qx 100; then
	groupadd --gid 100 users
fi
if ! cut -d: -f1 /etc/passwd | grep -qx datalayer; then
	shell=/bin/bash
	test -x "$shell" || shell=/bin/sh
	useradd --no-log-init --uid 1000 --gid 100 --home-dir /home/datalayer --create-home --shell "$shell" datalayer
fi
install -d -o 1000 -g 100 -m 0755 /home/datalayer /home/datalayer/content
install -d -o 0 -g 0 -m 0755 /opt /opt/datalayer /opt/datalayer/bin
# TZ says so too, but not every launcher passes the image's variables on.
ln -snf /usr/share/zoneinfo/Etc/UTC /etc/localtime
echo Etc/UTC >/etc/timezone
