"""What a GPU can do at best (config/ceilings.yaml): the denominators of a share of the limit."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, RootModel, TypeAdapter

from saitan.workflow.config_model import Model
from saitan.workflow.yaml_files import Title, read_checked


class Ceiling(Model):
    """rate: amount a second, as measured; says: of what, in a few words."""

    rate: float = Field(gt=0, allow_inf_nan=False)
    says: Title


class Ceilings(RootModel[dict[str, dict[str, Ceiling]]]):
    """Name of a GPU -> kind of work -> its ceiling."""

    root: dict[str, dict[str, Ceiling]] = {}

    def kinds(self) -> set[str]:
        """The kinds of work that there is a ceiling for on any GPU."""
        return {kind for ceilings in self.root.values() for kind in ceilings}

    def of(self, gpu: str | None) -> dict[str, Ceiling]:
        """The ceilings of a GPU; none for one that was not measured, and for a CPU."""
        return self.root.get(gpu or "", {})


def read_ceilings(path: Path) -> Ceilings:
    """The file's content. Raises Failure naming line and key of what is wrong."""
    return read_checked(path, TypeAdapter(Ceilings), {})
