"""Build scans and resamples from a table of predictions, as the public functions do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.inputs.cases import read_cases
from rocframe.inputs.roles import Roles, bind_roles
from rocframe.kernel.scan import RandomDraws, Scan, Seed, stream_keys

if TYPE_CHECKING:
    import polars as pl

    from rocframe.inputs.cases import Cases


def cases_of(table: pl.DataFrame, **roles: Any) -> Cases:
    """Read the columns `label` and `score`, and the columns of other roles."""
    bound = bind_roles(table.lazy(), table.schema, Roles(label="label", score="score", **roles), ())
    (cases,) = read_cases(table.select(bound.inputs), bound)
    return cases


def scan_of(table: pl.DataFrame, **roles: Any) -> Scan:
    """Sort and scan the predictions."""
    cases = cases_of(table, **roles)
    return Scan.from_cases(cases)


def draws_of(scan: Scan, n_boot: int, seed: int = 1, cluster: Any = None) -> RandomDraws:
    """Return the draws of `n_boot` replicates from a seed."""
    keys = stream_keys(scan.rows.keys)
    return RandomDraws(n_draws=n_boot, seed=Seed.parse(seed), keys=keys, cluster=cluster)
