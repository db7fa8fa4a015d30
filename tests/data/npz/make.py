"""Writes the archives of this folder with NumPy: small sets with the names that MedMNIST and Keras use."""
import os

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))


def count(shape, dtype, scale=1):
    return (np.arange(np.prod(shape)).reshape(shape) * scale).astype(dtype)


np.savez_compressed(
    os.path.join(here, "medmnist.npz"),
    train_images=count((4, 3, 2, 3), np.uint8),
    train_labels=count((4, 1), np.uint8),
    val_images=count((2, 3, 2, 3), np.uint8) + 100,
    val_labels=count((2, 1), np.uint8),
    test_images=count((1, 3, 2, 3), np.uint8) + 200,
    test_labels=count((1, 1), np.uint8),
)
np.savez(
    os.path.join(here, "keras.npz"),
    x_train=count((5, 2, 2), np.float64, 0.25),
    y_train=np.array([0, 2, 1, 2, 0], np.uint16),
    x_test=count((2, 2, 2), np.float64, 0.5),
    y_test=np.array([1, 2], np.uint16),
)
np.savez(
    os.path.join(here, "several.npz"),
    volumes=count((3, 5, 5, 5), np.uint8),
    labels=np.array([[1, 0], [0, 1], [1, 1]], np.uint8),
    below=np.array([0, -1, 1]),
    short=np.array([0, 1]),
)
np.savez(
    os.path.join(here, "ranks.npz"),
    x_train=count((3, 2), np.float32),
    y_train=count((3, 5), np.float32),
    x_test=count((2, 2), np.float32),
    y_test=count((2, 5, 7), np.float32),
    more_train=count((3, 2), np.float32),
    column_train=count((3, 1), np.float32),
    more_test=count((2, 2), np.float32),
    column_test=count((2,), np.float32),
)
