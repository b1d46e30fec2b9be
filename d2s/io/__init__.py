"""Data sets, the order in which they are read, and the loader that reads them in batches."""

from d2s.io.collate import default_collate_fn
from d2s.io.dataloader import DataLoader
from d2s.io.dataset import Dataset, IterableDataset, Subset, TensorDataset, random_split
from d2s.io.sampler import BatchSampler, RandomSampler, Sampler, SequenceSampler
from d2s.io.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "TensorDataset",
    "WorkerInfo",
    "default_collate_fn",
    "get_worker_info",
    "random_split",
]
