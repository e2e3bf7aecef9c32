"""How much memory a process holds (proc(5))."""

from pathlib import Path


def resident_mb(pid: int) -> float:
    """Resident memory of a process in millions of bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024 / 1e6
