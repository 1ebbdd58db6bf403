# Installs Debian packages ("$@") and leaves nothing behind that differs from one build to the next.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# apt-get takes a name that it does not know for a regular expression, and installs all that matches.
set -- -o APT::Cmd::Pattern-Only=true -y --no-install-recommends install -- "$@"
if [ -e /run/secrets/datalayer-ca-bundle ]; then
	set -- -o Acquire::https::CaInfo=/run/secrets/datalayer-ca-bundle "$@"
	apt-get -o Acquire::Retries=3 -o Acquire::https::CaInfo=/run/secrets/datalayer-ca-bundle update
else
	apt-get -o Acquire::Retries=3 update
fi
apt-get -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/cache/ldconfig/aux-cache \
	/var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log
