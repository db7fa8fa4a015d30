"""The two functions of safetensors that the comparisons use, for machines where only Debian's PyTorch can be had.

The format: eight bytes with the length of a JSON header (little endian), the header, then the tensors' bytes. The header
names each tensor's type, shape and where its bytes begin and end.
"""
