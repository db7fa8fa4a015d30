"""Writes the pictures of this folder with Pillow: four colours, which a camera held on its side stored turned."""
import os

import numpy as np
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
