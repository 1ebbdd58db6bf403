# Short locks alone: Linux takes no argument of more than 128 KiB, some 1600 lines.
terraform import datalayer_package_lock.analysis "$(cat requirements.lock)"
