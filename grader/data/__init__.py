"""The MNIST files on disk: reading them, telling good ones from bad ones, the held-out images, the full set.

Importing this package imports neither torch, torchvision nor numpy, so that every command may check the data first.
"""

from grader.data.download import download_full
from grader.data.heldout import load_heldout, perturb
from grader.data.idx import IdxError, read_idx
from grader.data.root import DataError, check_root, find_embedded_root

__all__ = [
    "DataError",
    "IdxError",
    "check_root",
    "download_full",
    "find_embedded_root",
    "load_heldout",
    "perturb",
    "read_idx",
]
