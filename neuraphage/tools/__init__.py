"""The tools a model may call: files, search, commands and control. `registry.default_toolbox` lists them."""
