"""Writes digits.txt beside this file, from the data set that scikit-learn ships:

    pip install scikit-learn && python3 gen.py
"""

import pathlib

from sklearn.datasets import load_digits

SCALE = "0123456789abcdefg"  # of a pixel, from 0 to 16

images = load_digits()
with open(pathlib.Path(__file__).with_name("digits.txt"), "w") as out:
    for label, pixels in zip(images.target, images.data):
        out.write(f"{label} {''.join(SCALE[int(p)] for p in pixels)}\n")
