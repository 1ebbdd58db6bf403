# A lock is imported by its text. It is taken as it is, and nothing is resolved.
import {
  to = datalayer_package_lock.analysis
  id = file("requirements.lock")
}
