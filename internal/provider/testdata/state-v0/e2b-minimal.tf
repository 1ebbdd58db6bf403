resource "datalayer_e2b_template" "t" {
  name = "minimal"
  base = "base.example.com/base@sha256:1641d3398f28c5d8c56a11eaf46341df535c3f83e470a34c8da282d9a66ec959"
}
