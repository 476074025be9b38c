"""The files of a TU set, inside their zip archive or in a folder."""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO

CHUNK = 1 << 24  # bytes of text read at a time
LAYOUT = "Use an archive in the layout of the TU Dortmund collection"
# A file: its name without the folder, its bytes, and what opens it.
Member = tuple[str, int, Callable[[], IO[bytes]]]


@dataclass
class TUFiles:
    """The files of one data set, by their parts: ``A``, ``graph_indicator`` and so on."""

    path: Path
    name: str
    members: dict[str, Member]  # by file name in lower case
    progress: Callable[[float], None] | None
    done: int = 0

    @cached_property
    def total(self) -> int:
        """Bytes of all files, 1 at least."""
        return max(1, sum(size for _, size, _ in self.members.values()))

    def file(self, part: str) -> str:
        """The name of the file of a part."""
        return f"{self.name}_{part}.txt"

    def has(self, part: str) -> bool:
        """Whether there is such a file."""
        return self.file(part).lower() in self.members

    def where(self, part: str) -> str:
        """The file and where it is, for messages."""
        return f"{self.file(part)} in {self.path}"

    def listing(self) -> str:
        """The files there are, for messages."""
        return ", ".join(sorted(name for name, *_ in self.members.values())) or "none of its files"

    def lines(self, part: str) -> Iterator[bytes]:
        """The text of a file in pieces that end with a newline."""
        rest = b""
        _, _, opened = self.members[self.file(part).lower()]
        with _unpacking(self.path), opened() as stream:
            while piece := stream.read(CHUNK):
                self.done += len(piece)
                if self.progress is not None:
                    self.progress(min(1.0, self.done / self.total))
                text = rest + piece if rest else piece
                cut = text.rfind(b"\n") + 1
                rest = text[cut:]
                if len(rest) > CHUNK:
                    raise ValueError(
                        f"{self.where(part)}: expected lines of text, got one of more than {CHUNK} "
                        f"bytes. {LAYOUT}."
                    )
                if cut:
                    yield text[:cut]
        if rest:
            yield rest + b"\n"


@contextmanager
def open_tu(
    path: Path, name: str | None = None, progress: Callable[[float], None] | None = None
) -> Iterator[TUFiles]:
    """The files of a set, of which those that every set has are there; see `read_tu`."""
    path = Path(path)
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.is_file()]
        members: list[Member]
        members = [(f.name, f.stat().st_size, partial(io.FileIO, f)) for f in files]
        yield _checked(path, name, members, progress)
        return
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected the archive of {name or 'a TU set'} at {path}, got no such file. "
            "Check the path, or the folder given as mirror."
        )
    with _unpacking(path):
        archive = zipfile.ZipFile(path)
    with archive:
        members = []
        for member in archive.infolist():
            _check_inside(path, member)
            if not member.is_dir():
                file = PurePosixPath(member.filename).name
                members.append((file, member.file_size, partial(archive.open, member)))
        yield _checked(path, name, members, progress)


def _checked(
    path: Path,
    name: str | None,
    found: list[Member],
    progress: Callable[[float], None] | None,
) -> TUFiles:
    name = name or _only_name(path, [file for file, *_ in found])
    members: dict[str, Member] = {}
    for member in found:
        file = member[0]
        if not file.lower().startswith(f"{name}_".lower()):
            continue
        if file.lower() in members:
            raise ValueError(
                f"{path} must hold every file once, got {file} twice, in different folders or "
                "spelled with other capitals. Remove one of them."
            )
        members[file.lower()] = member
    files = TUFiles(path, name, members, progress)
    for part in ("A", "graph_indicator"):
        if not files.has(part):
            raise ValueError(
                f"{path} lacks the file {files.file(part)}: expected it among the files of "
                f"{name}, got {files.listing()}. {LAYOUT}."
            )
    return files


def _only_name(path: Path, files: list[str]) -> str:
    end = "_a.txt"
    found = [file for file in files if file.lower().endswith(end) and not file.startswith(".")]
    names = sorted({file[: -len(end)] for file in found})
    if len(names) != 1:
        got = ", ".join(f"{name}_A.txt" for name in names) if names else "no such file"
        raise ValueError(
            f"Expected one TU set in {path}, with a file NAME_A.txt, got {got}. {LAYOUT}."
        )
    return names[0]


@contextmanager
def _unpacking(archive: Path) -> Iterator[None]:
    """Whatever the readers of zip files raise, as one clear error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the archive's; bzip2 gives no number
        raise ValueError(
            f"{archive} is damaged or truncated: expected a complete zip archive, got "
            f"{type(error).__name__}: {error}. Delete it and fetch it again."
        ) from error
    except (NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{archive} cannot be unpacked: expected a plain zip archive (stored, deflate, bzip2 "
            f"or LZMA, no password), got {error}. Pack it again."
        ) from error


def _check_inside(archive: Path, member: zipfile.ZipInfo) -> None:
    # Nothing is extracted here, but users unpack what we have accepted.
    path = member.orig_filename.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
        raise ValueError(
            f"{archive} is unsafe: expected members inside one folder, got the path "
            f"{member.orig_filename!r}, which leaves it. Do not unpack it; get it from elsewhere."
        )
