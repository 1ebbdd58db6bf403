# A lock is imported by its text. It is taken as it is, and nothing is resolved.
terraform import datalayer_package_lock.analysis "$(cat requirements.lock)"
