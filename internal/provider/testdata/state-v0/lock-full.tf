resource "datalayer_package_lock" "l" {
  requirements = ["# what the team uses", "Six >= 1.16", "idna"]
  constraints  = ["idna<4"]

  base          = "base.example.com/base@sha256:1641d3398f28c5d8c56a11eaf46341df535c3f83e470a34c8da282d9a66ec959"
  base_registry = { username = "puller", password_wo = "unused", password_wo_version = 2 }

  index = {
    url                 = "https://pypi.org/simple"
    password_wo_version = 1
    extra_urls          = ["https://pypi.org/simple/"]
  }

  only_binary     = true
  exclude_newer   = "2026-11-01T00:00:00+01:00"
  upgrade_trigger = { month = "2026-11" }
  timeouts        = { create = "10m", update = "5m" }
}
