resource "datalayer_environment" "e" {
  name           = "full"
  version        = "2.1"
  base           = "base.example.com/base@sha256:1641d3398f28c5d8c56a11eaf46341df535c3f83e470a34c8da282d9a66ec959"
  repository     = "registry.example.com/team/env"
  python_version = "3.13"

  lock = <<-EOT
    six==1.17.0 \
        --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 \
        --hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81
  EOT

  base_packages = { pip = "25.1.1" }
  env           = { B = "2", A = "1" }

  files = [
    { path = "/srv/b", content_base64 = "Yg==", mode = "755" },
    { path = "/home/datalayer/content/a", content = "a" },
  ]

  apt_packages = ["tree"]
  post_install = [{ command = "true" }, { command = "id -u >/srv/uid || true", network = false }]
  platforms    = ["linux/amd64"]
  labels       = { "org.opencontainers.image.title" = "full" }

  base_registry = { username = "puller", password_wo = "unused" }
  registry      = { username = "writer", password_wo = "unused", password_wo_version = 3 }

  rebuild_trigger = { month = "2026-01" }
  deletion_policy = "retain"
  timeouts        = { create = "30m", read = "1m", update = "2m", delete = "3m" }
}
