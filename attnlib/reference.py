"""The model written the usual way, in PyTorch over padded sequences, for tests and chapters to compare against."""

import numpy as np
import torch
from torch import nn

from .attention import Attention, Gradients
from .corpus import Corpus


class PaddedAttention(nn.Module):
    """f(X) = softmax(p' E_X') E_X v on padded token ids, gradients by autograd."""

    def __init__(self, model: Attention):
        super().__init__()
        self.E, self.p, self.v = (nn.Parameter(torch.tensor(x)) for x in (model.E, model.p, model.v))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """ids and mask (n, T) to f (n,)."""
        X = nn.functional.embedding(ids, self.E)  # (n, T, d): the array the closed forms never build
        attention = torch.softmax((X @ self.p).masked_fill(~mask, -torch.inf), dim=1)
        return (attention.unsqueeze(-1) * X).sum(dim=1) @ self.v


def pad(corpus: Corpus) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids (n, T), each token as often as it is counted, and the mask of the places in use."""
    C, lengths = corpus.counts, corpus.lengths.astype(int)
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(mask.shape, dtype=np.int64)
    ids[mask] = np.repeat(C.indices, C.data.astype(int))
    return torch.from_numpy(ids), torch.from_numpy(mask)


def autograd_gradients(model: Attention, corpus: Corpus, batch: int = 1000) -> Gradients:
    """The gradients of the loss by backpropagation, `batch` documents at a time."""
    module = PaddedAttention(model)
    ids, mask = pad(corpus)
    y = torch.tensor(corpus.labels, dtype=module.E.dtype)
    for part in torch.arange(len(corpus)).split(batch):
        f = module(ids[part], mask[part])
        (nn.functional.softplus(-y[part] * f).sum() / len(corpus)).backward()
    return Gradients(*(parameter.grad.numpy() for parameter in (module.E, module.p, module.v)))
