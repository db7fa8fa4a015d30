"""save_file over PyTorch tensors."""

from safetensors import numpy


def save_file(tensors, path):
    numpy.save_file({name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}, path)
