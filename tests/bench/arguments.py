"""What a script of this folder would run with some arguments: arguments.py SCRIPT.py OPTION…

PyTorch, NumPy and safetensors are not asked: stand-ins without any function take their places, so that wrong arguments are
found on a machine without them. The script's arguments() reads them and returns, after its options, the names of what they
ask for."""

import importlib.util
import os
import sys
import types


class StandIn(types.ModuleType):
    """Has every name, can be called and used as a decorator, and adds nothing to a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)

    def __call__(self, *_arguments, **_options):
        return self

    def __mro_entries__(self, _bases):
        return ()


def main():
    path = sys.argv[1]
    for name in ("torch", "torch.nn", "torch.nn.functional", "numpy", "safetensors", "safetensors.torch", "safetensors.numpy"):
        sys.modules[name] = StandIn(name)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    print(*script.arguments(sys.argv[2:])[1])


if __name__ == "__main__":
    main()
