resource "datalayer_e2b_template" "t" {
  name           = "full"
  base           = "base.example.com/base@sha256:1641d3398f28c5d8c56a11eaf46341df535c3f83e470a34c8da282d9a66ec959"
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
  post_install = [{ command = "true" }, { command = "id -u >/srv/uid || true", network = true }]

  cpu_count        = 4
  memory_mb        = 4096
  tags             = ["stable", "v2.1"]
  move_default_tag = false
  force            = true
  public           = true
  start_command    = "/opt/datalayer/code-interpreter/start"
  ready_command    = "curl --fail --silent http://localhost:49999/health"
  code_interpreter = { source = "https://mirror.example.com/code-interpreter/{commit}" }

  base_registry = { username = "puller", password_wo = "unused", password_wo_version = 3 }

  rebuild_trigger = { month = "2026-01" }
  deletion_policy = "retain"
  timeouts        = { create = "30m", read = "1m", update = "40m", delete = "3m" }
}
