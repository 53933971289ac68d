"""Reader threads keep draining a child's pipes, so that one that prints without end neither blocks nor fills the parent's memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import IO


@dataclass
class Drain:
    """Reads a pipe to its end, closes it, and keeps what is wanted of it."""

    stream: IO[bytes]
    limit: int
    ring: bool
    data: bytearray = field(default_factory=bytearray)
    total: int = 0
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin reading in a thread."""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        with self.stream:
            while chunk := self.stream.read1(65536):  # type: ignore[attr-defined] # both kinds of pipes are BufferedReaders
                self.total += len(chunk)
                if self.ring:
                    self.data += chunk
                    if len(self.data) > 4 * self.limit:
                        del self.data[: -self.limit]
                elif self.total <= self.limit:
                    self.data += chunk
