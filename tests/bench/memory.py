"""How much memory a process holds (proc(5))."""

from pathlib import Path


def resident_mb(pid: int) -> float:
    """Resident memory of a process in millions of bytes."""
    return _mb(pid, "VmRSS:")


def peak_mb(pid: int) -> float:
    """The most memory a process ever held, in millions of bytes."""
    return _mb(pid, "VmHWM:")


def _mb(pid: int, name: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith(name)]
    return int(line.split()[1]) * 1024 / 1e6
