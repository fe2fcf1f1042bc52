"""Read by `make lab`, which names this folder in JUPYTER_CONFIG_PATH."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import contents  # noqa: E402

(HERE.parent / "book/contents.md").write_text(contents.table_of_contents(), encoding="utf-8")
c = get_config()  # noqa: F821
c.ServerApp.contents_manager_class = contents.BookContents
c.LabApp.default_url = "/lab/tree/contents.md"
