"""The function `windows`: assign predictions to time windows, which may overlap."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache, partial
from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rocframe.errors import ColumnTypeError, OptionValueError, RepeatedNameError
from rocframe.frames import as_input_frame, collect_frame, lazy_plan, private_names
from rocframe.inputs.roles import resolve_column
from rocframe.options import check_choice, public
from rocframe.schemas.table_type import WINDOW, WINDOW_COLUMNS, WINDOW_END

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import Column

Length: TypeAlias = str | timedelta | int
Closed = Literal["left", "right", "both", "none"]
Incomplete = Literal["keep", "drop"]
WIDE_INTEGERS = {pl.UInt64, pl.Int128, pl.UInt128}  # integers that Int64 may not hold


@public
def windows(
    predictions: FrameT,
    /,
    time: Column,
    *,
    every: Length,
    period: Length | None = None,
    offset: Length | None = None,
    closed: Closed = "left",
    incomplete: Incomplete = "keep",
) -> FrameT:
    """Assign predictions to time windows of equal length, such as weeks.

    With the new columns `window` and `window_end`, other functions compute one result per window
    (`by="window"`), and `drift` compares the windows (`over="window"`). Windows overlap if `period`
    is longer than `every`; a row is then repeated for each window that contains it.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    time : str or Expr
        The time of a row: a Date, a Datetime, or an integer, such as the number of a batch.
    every : str, timedelta or int
        Distance between the starts of two windows, such as `"1w"`; for integers, an int. The units
        are those of polars: `"ns"`, `"us"`, `"ms"`, `"s"`, `"m"`, `"h"`, `"d"`, `"w"`, `"mo"`,
        `"q"` and `"y"`; for a Date, days and longer units.
    period : str, timedelta or int, default None
        Length of a window, such as `"4w"`. None: the value of `every`.
    offset : str, timedelta or int, default None
        Shift of the starts of all windows, such as `"2d"` for weeks from Wednesday. For windows of
        months, quarters or years: less than 28 days, or whole months.
    closed : {"left", "right", "both", "none"}, default "left"
        Ends that belong to a window. `"left"`: window <= time < window_end. `"right"`: window <
        time <= window_end. `"both"` and `"none"`: both ends or none.
    incomplete : {"keep", "drop"}, default "keep"
        Overlapping windows at the end of the data: all are kept, or those that end after the last
        step of length `every` with rows are left out.

    Returns
    -------
    DataFrame or LazyFrame
        All columns of the table, followed by `window` and `window_end`, the start and the end of
        the window, with the dtype of `time`; for integers, Int64. Each row occurs once for each
        window that contains it, in the order of the table. Both columns are null if the time is
        null. Rows in no window are left out, and windows without rows do not occur.

    Raises
    ------
    RocframeError
        If the column or an option is invalid, or if the table has a column of the result.

    See Also
    --------
    drift : Compare the AUC of each window with a reference.
    compress : Merge rows with equal label and score.

    Notes
    -----
    The windows are those of `group_by_dynamic` of polars, the same for all groups. They start at
    multiples of `every`, plus `offset`, from 1970-01-01, or for weeks from Monday, 1970-01-05. The
    first window contains the earliest time.

    In time zones with clock changes, windows start and end at local times. A time that a clock
    change skips is replaced by the time of the change; of a time that occurs twice, the first is
    used. If `every` is shorter than a day and all clock changes since 1970 are multiples of it,
    such as `"1h"`, hours and shorter units are elapsed time instead. A skipped end of a `period` in
    days is then an error, except for changes by one hour.

    Overlapping windows share rows: do not combine them in one result or one test, and name `window`
    in `by` of each function.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> from datetime import date
    >>> days = [date(2026, 1, 5), date(2026, 1, 6), date(2026, 1, 13), date(2026, 1, 14)]
    >>> columns = {"day": days, "label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.4]}
    >>> weeks = rf.windows(pl.DataFrame(columns), "day", every="1w", period="2w")
    >>> areas = rf.auc(weeks, "label", "score", by=["window", "window_end"])
    >>> areas.select("window", "window_end", "auc", "n_pos", "n_neg")
    shape: (2, 5)
    ┌────────────┬────────────┬──────┬───────┬───────┐
    │ window     ┆ window_end ┆ auc  ┆ n_pos ┆ n_neg │
    │ ---        ┆ ---        ┆ ---  ┆ ---   ┆ ---   │
    │ date       ┆ date       ┆ f64  ┆ i64   ┆ i64   │
    ╞════════════╪════════════╪══════╪═══════╪═══════╡
    │ 2026-01-05 ┆ 2026-01-19 ┆ 0.75 ┆ 2     ┆ 2     │
    │ 2026-01-12 ┆ 2026-01-26 ┆ 0.5  ┆ 1     ┆ 1     │
    └────────────┴────────────┴──────┴───────┴───────┘
    """
    check_choice("closed", closed, get_args(Closed))
    check_choice("incomplete", incomplete, get_args(Incomplete))

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        name, expr, dtype = _time_column(plan, schema, time)
        plan_dtype = dtype
        step = parse_length("every", every, dtype)
        length = step if period is None else parse_length("period", period, dtype)
        shift = None if offset is None else parse_length("offset", offset, dtype, negative=True)
        _check_offset(offset, shift, step)
        zone = time_zone_of_windows(dtype, step)
        private = private_names(["time", "member", "start", "end"], (*schema, *WINDOW_COLUMNS))
        key, member, start, end = private.values()
        rows = plan.with_columns(expr.alias(key))
        # The windows are assigned to the distinct times, of which a log by day has few.
        times = rows.select(pl.col(key).alias(member)).drop_nulls().unique().sort(member)
        check = partial(_check_times, name=name, lengths=[step, length, shift or ""])
        times = times.with_columns(pl.col(member).map_batches(check, return_dtype=pl.self_dtype()))
        times = times.with_columns(pl.col(member).alias(WINDOW))
        if isinstance(dtype, pl.Datetime) and zone is not None:
            times = _with_local_times(times, member, dtype, zone, closed)
            dtype = pl.Datetime(dtype.time_unit)

        def group(times: pl.LazyFrame) -> pl.LazyFrame:
            return times.group_by_dynamic(
                WINDOW,
                every=step,
                period=length,
                offset=shift,
                closed=closed,
                include_boundaries=True,
            ).agg(member)

        grouped = group(times)
        if zone is None and isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            grouped = times.map_batches(
                lambda frame: _collect_windows(group(frame.lazy()), every, dtype.time_zone),
                schema=grouped.collect_schema(),
            )
        spans = grouped.with_columns(
            pl.col("_upper_boundary").cast(dtype).alias(WINDOW_END)
        ).with_columns(
            (
                pl.col(name)
                if zone is None
                else pl.col(name).map_batches(
                    partial(in_time_zone, zone=zone), return_dtype=plan_dtype
                )
            ).alias(new)
            for name, new in ((WINDOW, start), (WINDOW_END, end))
        )
        if zone is not None:
            # A clock change can skip a day. A window of this day only is empty, and a longer window
            # from this day has the start of the next window.
            spans = spans.filter(pl.col(start) < pl.col(end))
            spans = spans.unique(start, keep="last", maintain_order=True)
        window_rows = spans.explode(member)
        if zone is not None and closed != "left":
            window_rows = window_rows.filter(pl.col(member).is_between(start, end, closed))
            window_rows = window_rows.unique([start, member], maintain_order=True)
        if incomplete == "drop":
            last = pl.col(WINDOW).max()
            window_rows = window_rows.filter(pl.col(WINDOW_END) <= _next_start(last, step, dtype))
        return (
            rows.join(
                window_rows.select(
                    member, pl.col(start).alias(WINDOW), pl.col(end).alias(WINDOW_END)
                ),
                left_on=key,
                right_on=member,
                how="left",
                maintain_order="left_right",
            )
            .filter(pl.col(WINDOW).is_not_null() | pl.col(key).is_null())
            .drop(key)
        )

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def _time_column(
    plan: pl.LazyFrame, schema: pl.Schema, time: Column
) -> tuple[str, pl.Expr, pl.DataType]:
    """Return name, expression and dtype of the times; the dtype is Int64 for all integers."""
    name, expr, dtype = resolve_column(plan, schema, "time", time)
    is_index = dtype.is_integer() and dtype not in WIDE_INTEGERS
    if not (is_index or dtype.base_type() in {pl.Date, pl.Datetime}):
        hint = "Expected a Date, a Datetime or an integer."
        if dtype == pl.String or dtype.is_numeric():
            conversion = ".str.to_date()" if dtype == pl.String else ".cast(pl.Int64)"
            hint += f" Convert it, for example with pl.col({name!r}){conversion}."
        raise ColumnTypeError.compose("time", name, dtype, hint)
    for new in WINDOW_COLUMNS:
        if new in schema:
            raise RepeatedNameError.in_predictions(new, schema)
    if is_index:
        expr, dtype = expr.cast(pl.Int64), pl.Int64()
    return name, expr, dtype


# polars does not support lengths that mix months, weeks, days and shorter units, such as "1d12h".
DAYS = r"[0-9]+[dw]|(?:[0-9]+(?:mo|[qy]))+"
DAY_LENGTH = re.compile(DAYS)
LENGTH = re.compile(rf"{DAYS}|(?:[0-9]+(?:ns|us|ms|[smh]))+")
UNIT = re.compile("([0-9]+)([a-z]+)")
SECOND, DAY = 10**9, 86400 * 10**9
NANOSECONDS = {
    "i": 1,
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": DAY,
    "w": 7 * DAY,
    "mo": 30 * DAY,
    "q": 91 * DAY,
    "y": 365 * DAY,
}
# Longer windows could end at a time that polars cannot represent.
MAX_YEARS = 100
MAX_STEP = 10**18
MAX_DIGITS = 100  # Python converts numbers of at most a few thousand digits


def parse_length(
    argument: str, value: object, dtype: pl.DataType, *, negative: bool = False
) -> str:
    """Return a length as polars writes it, such as "1w" or "3i"; `dtype` is that of the time."""
    if dtype.is_integer():
        valid = isinstance(value, Integral) and not isinstance(value, bool)
        expected = "an int, because the times are integers"
        if isinstance(value, Integral) and abs(int(value)) > MAX_STEP:
            valid, expected = False, f"an int from {-MAX_STEP:,} to {MAX_STEP:,}"
        text = f"{value}i" if valid else ""
        hint = f"Use, for example, {argument}=7."
    else:
        text = value if isinstance(value, str) else ""
        if isinstance(value, timedelta):
            text = timedelta_text(value)
        days = dtype == pl.Date
        pattern = DAY_LENGTH if days else LENGTH
        valid = pattern.fullmatch(text.removeprefix("-")) is not None
        units = '"d", "w", "mo", "q" or "y"'
        expected = f"a number and one of the units {units}, because the times are dates"
        if not days:
            expected = f'a number and a unit, which may be "s", "m", "h", {units}'
        hint = f'Use, for example, {argument}="1w".'
        nanoseconds = _nanoseconds(text) if valid else 0
        unit = dtype.time_unit if isinstance(dtype, pl.Datetime) else "ns"
        if nanoseconds > MAX_YEARS * NANOSECONDS["y"]:
            valid, expected = False, f"a length of at most {MAX_YEARS} years"
        elif nanoseconds % NANOSECONDS[unit]:
            valid, expected = False, f'a multiple of "1{unit}", the time unit of the column'
            hint = f'Round {argument}= to this unit, or use .dt.cast_time_unit("ns") for the times.'
    if valid and not negative and (text.startswith("-") or not re.search("[1-9]", text)):
        valid, expected = False, "a length above 0"
    if not valid:
        raise OptionValueError.compose(argument, value, f"expected {expected}", hint)
    return text


MONTHS = re.compile("(?:[0-9]+(?:mo|[qy]))+")


def _check_offset(offset: object, shift: str | None, step: str) -> None:
    """Raise an error if windows of months would start on a day that some months do not have.

    Their starts would then depend on the first month of the table.
    """
    if shift is None or not MONTHS.fullmatch(step) or MONTHS.fullmatch(shift.lstrip("-")):
        return
    if not 0 <= _nanoseconds(shift) < 28 * DAY or shift.startswith("-"):
        problem = "windows of months would start on a day that some months do not have"
        hint = 'Use an offset from "0d" to "27d", or whole months, such as "1mo".'
        raise OptionValueError.compose("offset", offset, problem, hint)


def _nanoseconds(length: str) -> float:
    """Return the approximate duration of a valid length; an integer is a number of nanoseconds."""
    return sum(
        (int(digits) if len(digits) <= MAX_DIGITS else inf) * NANOSECONDS[unit]
        for digits, unit in UNIT.findall(length)
    )


def timedelta_text(length: timedelta) -> str:
    """Return a timedelta as polars writes it; whole days are calendar days."""
    sign, length = ("-", -length) if length < timedelta(0) else ("", length)
    if length % timedelta(days=1):
        return f"{sign}{length // timedelta(microseconds=1)}us"
    return f"{sign}{length.days}d"


def time_zone_of_windows(dtype: pl.DataType, every: str) -> str | None:
    """Return the time zone of the times if windows are computed from local times, otherwise None.

    If `every` divides all clock changes, windows of elapsed time start at the same local times.
    """
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    is_elapsed = zone is not None and not DAY_LENGTH.fullmatch(every)
    if is_elapsed and not np.any(utc_offsets(str(zone)) * SECOND % int(_nanoseconds(every))):
        return None
    return zone


@cache
def utc_offsets(zone: str) -> NDArray[np.int64]:
    """Return all differences from UTC of a time zone since 1970, in seconds, minus the first."""
    offsets = np.unique(_utc_offset(np.arange(0, 2**31, DAY // SECOND), zone))
    changes: NDArray[np.int64] = offsets - offsets[0]
    return changes


def _utc_offset(seconds: NDArray[np.int64], zone: str) -> NDArray[np.int64]:
    """Return the difference of local time and UTC at times in seconds since 1970, in seconds."""
    local = pl.Series(seconds * 1000).cast(pl.Datetime("ms", zone)).dt.replace_time_zone(None)
    offset: NDArray[np.int64] = local.dt.epoch("s").to_numpy() - seconds
    return offset


def _clock_change(low: pl.Series, high: pl.Series, zone: str) -> pl.Series:
    """Return the time of the clock change between two times, for each pair of times."""
    before, after = (times.dt.epoch("s").to_numpy() for times in (low, high))
    offset = _utc_offset(before, zone)
    while np.any(after - before > 1):  # clocks change at whole seconds
        middle = (before + after) // 2
        is_before = _utc_offset(middle, zone) == offset
        before, after = np.where(is_before, middle, before), np.where(is_before, after, middle)
    return pl.Series(after * 1000).cast(pl.Datetime("ms", zone)).cast(low.dtype)


def in_time_zone(local: pl.Series, zone: str) -> pl.Series:
    """Return local times in a time zone; a skipped time becomes the time of the clock change.

    If a local time occurs twice, it is the first of the two.
    """
    times = _earliest(local, zone)
    skipped = (times.is_null() & local.is_not_null()).arg_true()
    if len(skipped):
        day_before = _earliest(local.gather(skipped).dt.offset_by("-1d"), zone)
        times = times.scatter(
            skipped, _clock_change(day_before, day_before + timedelta(hours=24), zone)
        )
    return times


def _earliest(local: pl.Series, zone: str) -> pl.Series:
    """Return the first time with each local time; null if a clock change skips it."""
    return local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")


def rising_local_times(times: pl.Series, zone: str) -> pl.Series:
    """Return the highest local time until each time.

    After the clocks are set back, this is the last local time before the change. The result is at
    least a local time if and only if `times` is not before what `in_time_zone` returns for it.
    """
    local = times.dt.replace_time_zone(None)
    first = _earliest(local, zone)
    repeated = (first < times).arg_true()
    if len(repeated):
        first = first.gather(repeated)
        since = _clock_change(first, times.gather(repeated), zone) - first
        assert isinstance(times.dtype, pl.Datetime)
        last = (local.gather(repeated) + since).dt.offset_by(f"-1{times.dtype.time_unit}")
        local = local.scatter(repeated, last)
    return local


def _collect_windows(windows: pl.LazyFrame, every: Length, zone: str | None) -> pl.DataFrame:
    """Collect the windows of times with a time zone; `every` is the value of this option.

    polars raises an error if a clock change of more than one hour skips the end of a window.
    """
    try:
        return collect_frame(windows)
    except (pl.exceptions.ComputeError, pl.exceptions.PanicException):
        raise OptionValueError.compose(
            "every",
            every,
            f"a clock change in the time zone {zone} skips the start or the end of a window",
            'Give all lengths in days or longer units, such as "1d", or all in hours or shorter '
            'units, such as "24h".',
        ) from None


def _check_times(times: pl.Series, name: str, lengths: Sequence[str]) -> pl.Series:
    """Return sorted times; raise an error if polars may not be able to represent their windows."""
    dtype = times.dtype
    unit = NANOSECONDS[dtype.time_unit if isinstance(dtype, pl.Datetime) else "us"]
    scale = DAY // unit if dtype == pl.Date else 1  # polars converts dates to microseconds
    # The duration of months and years is not constant, and local times differ from UTC.
    span = 2 * (_nanoseconds("".join(lengths)) + DAY)
    limit = 2**63 - span // (1 if dtype.is_integer() else unit)
    for time in times.to_physical()[[0, -1]] if len(times) else ():
        if abs(time * scale) > limit:
            edge, exceeds = ("smallest", "start before") if time < 0 else ("largest", "end after")
            problem = f"a window could {exceeds} the {edge} time that polars supports"
            hint = f"Remove the rows with the {edge} times with .filter()."
            raise OptionValueError.compose("time", name, problem, hint)
    return times


def _with_local_times(
    times: pl.LazyFrame, member: str, dtype: pl.Datetime, zone: str, closed: Closed
) -> pl.LazyFrame:
    """Replace the times in the column `window` by local times, and sort the table by them.

    `member` is a column with the same times. If a clock change skips the local end of a window, the
    time of the change is equal to the end and has a higher local time. Unless windows contain only
    their left end, such times get a second row with the first skipped local time.
    """
    time, unit = pl.col(member), f"1{dtype.time_unit}"
    local = time.map_batches(
        partial(rising_local_times, zone=zone), return_dtype=pl.Datetime(dtype.time_unit)
    )
    result = times.with_columns(local.alias(WINDOW))
    if closed == "left":
        return result
    skipped = time.dt.offset_by(f"-{unit}").dt.replace_time_zone(None).dt.offset_by(unit)
    # Clocks change at whole seconds, and windows of local times end at whole seconds.
    whole_seconds = time.to_physical() % (NANOSECONDS["s"] // NANOSECONDS[dtype.time_unit]) == 0
    others = times.filter(whole_seconds, skipped < time.dt.replace_time_zone(None))
    return pl.concat([result, others.with_columns(skipped.alias(WINDOW))]).sort(WINDOW)


def _next_start(start: pl.Expr, step: str, dtype: pl.DataType) -> pl.Expr:
    """Return the start of the next window after a window that starts at `start`."""
    return start + int(step[:-1]) if dtype.is_integer() else start.dt.offset_by(step)
