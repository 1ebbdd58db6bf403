resource "datalayer_package_lock" "l" {
  requirements    = ["six"]
  python_version  = "3.13"
  python_platform = "x86_64-manylinux_2_28"
}
