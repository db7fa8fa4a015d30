"""Writes the pictures of this folder with Pillow and tifffile: four colours, which a camera held on its side stored
turned. Of the others, pages.tiff has two pages, small.tiff a reduced copy, and channels.tiff one of infrared."""
import os

import numpy as np
import tifffile
from PIL import Image

pixels = np.zeros((16, 16, 3), np.uint8)
pixels[:8, :8], pixels[:8, 8:], pixels[8:, :8], pixels[8:, 8:] = (250, 10, 10), (10, 250, 10), (10, 10, 250), (250, 250, 250)
exif = Image.Exif()
exif[0x0112] = 6  # to be turned by 90° to the right
folder = os.path.dirname(os.path.abspath(__file__))
for name, options in {
    "turned.jpg": {"quality": 95},
    "progressive.jpg": {"quality": 95, "progressive": True},
    "turned.png": {},
    "turned.webp": {"lossless": True},
    "turned.tiff": {},
}.items():
    Image.fromarray(pixels).save(os.path.join(folder, name), exif=exif, **options)

rgb = {"photometric": "rgb", "metadata": None, "software": False}
turned = {"extratags": [(274, "H", 1, 6, True)]}
tifffile.imwrite(os.path.join(folder, "tiles.tiff"), pixels, tile=(16, 16), bigtiff=True, **turned, **rgb)
for name, kind in {"pages.tiff": 0, "small.tiff": 1}.items():
    with tifffile.TiffWriter(os.path.join(folder, name)) as file:
        file.write(pixels, **turned, **rgb)
        file.write(pixels[::2, ::2], subfiletype=kind, **rgb)
infrared = np.dstack([pixels, pixels[..., 0]])
tifffile.imwrite(os.path.join(folder, "channels.tiff"), infrared, extrasamples=["unspecified"], **rgb)
