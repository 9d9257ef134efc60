"""What all charts share: their theme, and the script that draws them in the report (Vega, Vega-Lite, Vega-Embed)."""

from __future__ import annotations

import argparse
import json
import resource
from functools import cache
from pathlib import Path
from typing import Any

from saitan.files import beside
from saitan.workflow.step import Failure, run_step

_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
# Okabe and Ito's colours (safe for the colour-blind), their yellow, too faint on white, replaced by greys.
_PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d", "#999999"]
COLORS = len(_PALETTE)
# A script of charts without this line was cut.
SCRIPT_END = "// the end of Vega-Embed"
_PALETTE_DARK = ["#4ea3de", "#f0803c", "#2fc199", "#e29ac4", "#f2b632", "#8fd0f5", "#d0d0d0", "#8a8a8a"]


def theme(*, dark: bool = False) -> dict[str, Any]:
    """Vega-Lite's `config` for our charts; the report puts the dark one in its place where the page is dark."""
    ink, grid = ("#d7dce2", "#333b45") if dark else ("#1b1f24", "#e3e6ea")
    labels = {"labelFont": _FONT, "titleFont": _FONT, "labelColor": ink, "titleColor": ink}
    return {
        "background": "transparent" if dark else "white",
        "font": _FONT,
        "view": {"stroke": grid},
        "axis": {
            **labels,
            "labelFontSize": 13,
            "titleFontSize": 14,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "labelSeparation": 6,
            "gridColor": grid,
            "domainColor": ink,
            "tickColor": ink,
        },
        "legend": {
            **labels,
            "orient": "top",
            "labelFontSize": 13,
            "titleFontSize": 13,
            "symbolStrokeWidth": 2.5,
            "symbolSize": 120,
            "labelLimit": 300,
            "columns": 5,
            "offset": 8,
        },
        "header": {**labels, "labelFontSize": 14, "titleFontSize": 13},
        "title": {"font": _FONT, "color": ink, "fontSize": 16, "anchor": "start", "offset": 12},
        "range": {"category": _PALETTE_DARK if dark else _PALETTE},
        "text": {"color": ink, "font": _FONT},
        "rule": {"color": ink},
    }


def vega_lite_version() -> str:
    """Altair's own version of Vega-Lite, "6.4", as vl-convert names it."""
    from altair import SCHEMA_VERSION

    return SCHEMA_VERSION.removeprefix("v").rsplit(".", 1)[0]


def identity_of(spec: Path) -> str | None:
    """The identity of the configuration that a chart was drawn for; None where it bears none.

    Raises Failure for a damaged file.
    """
    try:
        return json.loads(spec.read_text(encoding="utf-8")).get("usermeta", {}).get("saitan", {}).get("identity")
    except (ValueError, AttributeError) as error:
        raise Failure(f"{spec}: cannot be read: {error}; remove it and run again") from None


# Bytes that V8, which vl-convert draws with, reserves as it starts: it ends the process where it cannot.
_RESERVED = 2**36


def check_room() -> None:
    """Raise Failure where a limit of the address space leaves no room to draw charts in."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit <= _RESERVED:
        reserved = f"what draws charts reserves {_RESERVED / 1e9:.0f} GB of it"
        right = "`ulimit -v unlimited`, or experiments without `figure`, is right"
        raise Failure(f"the address space is limited to {limit / 1e9:.1f} GB (ulimit -v), and {reserved}: {right}")


@cache
def charts_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; made in two seconds. Raises Failure as `check_room` does."""
    import vl_convert

    check_room()
    return f"{vl_convert.javascript_bundle(vl_version=vega_lite_version())}\n{SCRIPT_END}\n"


def write_script(arguments: argparse.Namespace) -> None:
    with beside(arguments.output) as path:
        path.write_text(charts_script(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help=".js to write")
    run_step(write_script, parser)


if __name__ == "__main__":
    main()
