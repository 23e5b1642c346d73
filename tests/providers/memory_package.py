"""A package that brings a memory, as a package index would install it."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, name: str, target: str, package: str = "fake-memory") -> Path:
    """Make `folder` look like site-packages with a package that brings the provider `name`; returns it."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    info.joinpath("entry_points.txt").write_text(f"[vademecum.providers]\n{name} = {target}\n", encoding="utf-8")
    return folder
