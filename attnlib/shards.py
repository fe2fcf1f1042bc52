"""Beyond one machine: documents are independent, so a gradient over all of them is a sum over shards of them.

Each process holds a shard of the corpus and a copy of (E, p, v). The gradient in E has |S| d entries, but none of them
travels: with a and omega of the shard, weighted by its share of the documents,

    -grad_E L = a v' + omega p',    -grad_p L = E' omega,    -grad_v L = E' a,

so the sums of these two vectors over the vocabulary are all that a step needs from outside. One all-reduce of 2 |S|
numbers, and one of three (the loss, the documents judged right, whether someone pressed Ctrl-C), and every process
takes the same step. In a ring of w processes each sends 2 (w - 1) / w times that: for 20,000 tokens less than 640 kB a
step, whether there are 10^5 documents or 10^9, and whether d is 128 or 12,800. Documents cost time only where they are
kept: w machines hold w times the documents at the same seconds a step, as long as reading their counts (24 nnz / w
bytes of memory) takes longer than sending 32 |S| bytes. What is not divided is the update of E, O(|S| d) in every
process; its rows could be shared out for the same bytes, by scattering the sums of a and omega and gathering z and
gamma. The vocabulary is agreed on before: `train` refuses processes that begin with different words or parameters.
"""

import contextlib
import os
import zlib
from dataclasses import dataclass

import numpy as np

from .corpus import Corpus


@dataclass
class Team:
    """The processes of one training: this one's rank, how many there are, and what this one has sent so far."""

    rank: int = 0
    world: int = 1
    messages: int = 0
    sent: int = 0  # bytes of numbers on the wire; frames and headers come on top

    def sum(self, x: np.ndarray) -> np.ndarray:
        """The sum of every process's x, the same in all of them to the last bit; alone, x itself."""
        return x if self.world == 1 else self.reduce(x, "SUM")

    def shard(self, corpus: Corpus) -> Corpus:
        """This process's stretch of the documents; all of them are in exactly one."""
        if self.world == 1:
            return corpus
        if len(corpus) < self.world:
            raise ValueError(f"{len(corpus)} documents cannot be shared by {self.world} processes: start fewer")
        first, last = (k * len(corpus) // self.world for k in (self.rank, self.rank + 1))
        return Corpus(corpus.counts[first:last], corpus.labels[first:last], corpus.vocabulary)

    def agree(self, what: str, *parts) -> None:
        """Refuse, in every process, to go on if `parts` (bytes or arrays) differ anywhere."""
        mark = 0.0
        for part in parts if self.world > 1 else ():
            mark = float(zlib.crc32(part, int(mark)))
        if self.world > 1 and self.reduce(np.array([mark, -mark]), "MAX").sum() != 0:
            raise ValueError(f"the {self.world} processes have different {what}: start them with the same arguments")

    def wait(self) -> None:
        """Until every process is here."""
        self.sum(np.zeros(1))

    def reduce(self, x: np.ndarray, operation: str) -> np.ndarray:
        """The all-reduce of torch.distributed on a copy of x."""
        import torch  # here, because most users are alone
        import torch.distributed as distributed

        x = np.array(x)
        try:
            distributed.all_reduce(torch.from_numpy(x), getattr(distributed.ReduceOp, operation))
        except RuntimeError as error:
            raise ConnectionError(f"another process of this training is gone or silent ({error})") from error
        self.messages += 1
        self.sent += 2 * (self.world - 1) * x.nbytes // self.world
        return x


ALONE = Team()


@contextlib.contextmanager
def join():
    """The team that `torchrun` started this process in, talking by gloo, or `ALONE`."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield ALONE
        return
    try:
        import torch.distributed as distributed
    except ImportError as error:
        raise ValueError("several processes need PyTorch: pip install 'attnlib[reference]'") from error
    distributed.init_process_group("gloo")
    try:
        yield Team(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
