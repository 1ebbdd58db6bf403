# The Jupyter Server behind the code-interpreter server, which reaches it over loopback without a token and without the
# cookie that protects browsers from forged requests.
c = get_config()  # noqa: F821
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = 8888
c.ServerApp.port_retries = 0
c.ServerApp.open_browser = False
c.ServerApp.root_dir = "/home/datalayer/content"
c.ServerApp.disable_check_xsrf = True
c.IdentityProvider.token = ""
# Output of a cell is read as fast as it comes; Jupyter's own limit is for browsers.
c.ServerApp.iopub_data_rate_limit = 1_000_000_000
