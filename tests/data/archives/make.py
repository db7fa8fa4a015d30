"""Writes sample.tar with Python's tarfile, which the library WebDataset uses, in the format of pax."""
import io
import os
import struct
import tarfile

bmp = struct.pack("<2sIII3I2H6I4x", b"BM", 58, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
members = {"000000.bmp": bmp, "000000.cls": b"1", "ein Name mit ö.bmp": bmp, "ein Name mit ö.json": b'{"label": "cat"}'}
with tarfile.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.tar"), "w") as tar:
    for name, content in members.items():
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
