import {
  to       = datalayer_e2b_template.analysis
  identity = { template_id = "k3v9q0c2w7x1z5b8n4m6" }
}
