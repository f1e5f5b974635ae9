"""One agent in each framework, with that framework's own kind of test model, which makes calls as told.

Each module has `run(workspace, calls, contract_name)`: what the model was shown of each call.
They are imported where their framework is installed, and nowhere else.
"""
