"""Keep executed chapters in a folder named by everything their output depends on besides their own cells.

Jupyter Book keys its cache on a chapter's code alone: after an edit of the library a warm build would show old output.
"""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def key(root: Path = ROOT) -> str:
    """A digest of the library, the lock, the stored results, and the data in use."""
    digest = hashlib.sha256()
    files = [root / "requirements.txt", root / "constraints.txt"]
    files += sorted((root / "attnlib").rglob("*.py")) + sorted((root / "book/results").rglob("*.*"))
    for path in files:
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    data = os.environ.get("ATTNLIB_DATA")
    for path in sorted(Path(data).glob("*.parquet")) if data else ():
        stat = path.stat()
        digest.update(f"{path.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def path(root: Path = ROOT) -> Path:
    """The folder the build and the tests share."""
    return root / "_build" / "cache" / key(root)


def setup(app):
    def use(app, config):
        config.nb_execution_cache_path = str(path())

    app.connect("config-inited", use)
    return {"parallel_read_safe": True}
