# By template and build; or by the template's id, as sweep prints it, or its name, which take the newest ready build of
# this provider. The build's tag tells the cache key, so equal content is not built again.
terraform import datalayer_e2b_template.analysis k3v9q0c2w7x1z5b8n4m6:9c0c6a1e-2a53-4a35-8f0b-0b1f8b5d6c11
terraform import datalayer_e2b_template.analysis k3v9q0c2w7x1z5b8n4m6
terraform import datalayer_e2b_template.analysis analysis
