import itertools
from bisect import bisect_right
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

MONDAY = date(2026, 1, 5)
DAYS = pl.DataFrame({"day": [MONDAY + timedelta(days=i) for i in range(20)], "row": range(20)})
BERLIN = ZoneInfo("Europe/Berlin")


def midnight(day, zone=None):
    return datetime.combine(day, time(), zone)


def counts(table):
    return table.group_by("window", "window_end").agg(pl.len()).sort("window")


def polars_counts(table, every, period, **options):
    dtype = table.schema["time"]
    return (
        table.drop_nulls("time")
        .sort("time")
        .group_by_dynamic("time", every=every, period=period, include_boundaries=True, **options)
        .agg(pl.len())
        .select(
            pl.col("time").alias("window"),
            pl.col("_upper_boundary").cast(dtype).alias("window_end"),
            "len",
        )
    )


@st.composite
def times(draw):
    kind = draw(st.sampled_from(["date", "datetime", "zone", "integer"]))
    size = {"min_size": 0, "max_size": 30}
    if kind == "integer":
        values, lengths, suffix = draw(st.lists(st.integers(-30, 60), **size)), [1, 3, 4, 10], "i"
        dtype = draw(st.sampled_from([pl.Int8, pl.Int32, pl.Int64]))
        lengths = [f"{length}{suffix}" for length in lengths]
    else:
        first, last = midnight(date(2026, 3, 1)), midnight(date(2026, 4, 20))
        values = draw(st.lists(st.datetimes(first, last), **size))
        lengths = ["1d", "3d", "1w", "2w", "1mo"]
        dtype = pl.Date if kind == "date" else pl.Datetime(draw(st.sampled_from(["ms", "us"])))
        if kind == "datetime":
            lengths += ["6h", "36h", "1h30m", "90m"]
    series = pl.Series("time", values, strict=False)
    if kind == "integer":
        series = series.cast(dtype)
    elif kind == "zone":
        series = (
            pl.Series("time", values, dtype)
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone("Europe/Berlin")
        )
    else:
        series = pl.Series("time", values, pl.Datetime("us")).cast(dtype)
    return pl.DataFrame([series]), lengths


@given(times(), st.data())
def test_the_windows_are_those_of_group_by_dynamic(table_and_lengths, data):
    table, lengths = table_and_lengths
    every, period = (data.draw(st.sampled_from(lengths)) for _ in range(2))
    closed = data.draw(st.sampled_from(["left", "right", "both", "none"]))
    offset = data.draw(st.sampled_from([None, *lengths]))
    integer = table.schema["time"].is_integer()
    given_lengths = [
        None if length is None else int(length[:-1]) if integer else length
        for length in (every, period, offset)
    ]
    got = rf.windows(
        table,
        "time",
        every=given_lengths[0],
        period=given_lengths[1],
        offset=given_lengths[2],
        closed=closed,
    )
    if integer:
        table = table.cast(pl.Int64)
    expected = polars_counts(table, every, period, offset=offset, closed=closed)
    assert_frame_equal(counts(got), expected, check_dtypes=False)
    low, high, at = got["window"], got["window_end"], got["time"].cast(table.schema["time"])
    above = low <= at if closed in {"left", "both"} else low < at
    below = at <= high if closed in {"right", "both"} else at < high
    assert (above & below).all()


def test_windows_of_days_are_calendar_days_when_the_clock_changes():
    hours = pl.datetime_range(
        midnight(date(2026, 3, 28)),
        midnight(date(2026, 3, 31)),
        "1h",
        closed="left",
        time_zone="Europe/Berlin",
        eager=True,
    )
    rows = pl.DataFrame({"time": hours})
    table = rf.windows(rows, "time", every="1d", period="2d")
    assert_frame_equal(rf.windows(rows, "time", every=timedelta(days=1), period="2d"), table)
    expected = {  # the clock changes on 29 March: this day has 23 hours
        date(2026, 3, 28): 47,
        date(2026, 3, 29): 47,
        date(2026, 3, 30): 24,
    }
    assert counts(table).rows() == [
        (midnight(day, BERLIN), midnight(day + timedelta(days=2), BERLIN), n)
        for day, n in expected.items()
    ]


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(
    ("zone", "first", "skipped"),
    [
        ("Africa/Cairo", date(2026, 4, 22), date(2026, 4, 24)),
        ("America/Havana", date(2026, 3, 6), date(2026, 3, 8)),
        ("Pacific/Apia", date(2011, 12, 28), date(2011, 12, 30)),
    ],
)
def test_a_day_without_a_midnight_starts_at_the_clock_change(zone, first, skipped, closed):
    hours = pl.datetime_range(
        midnight(first), midnight(first + timedelta(days=5)), "1h", time_zone="UTC", eager=True
    ).dt.convert_time_zone(zone)
    table = rf.windows(pl.DataFrame({"time": hours}), "time", every="1d", closed=closed)
    assert table["time"].to_list() == hours.to_list()
    ends = table.select("window", "window_end").unique().sort("window")
    gaps = ends["window"].shift(-1) - ends["window_end"]
    assert gaps.drop_nulls().to_list() == [timedelta(0)] * (len(ends) - 1)
    start = ends.filter(pl.col("window").dt.date() == skipped)["window"].to_list()
    assert start == ([] if "Apia" in zone else [datetime.combine(skipped, time(1), ZoneInfo(zone))])


def instant(day, zone):
    """Return the first time of a day; a midnight that is skipped is the time of the change."""
    return midnight(day, ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize("closed", ["left", "right", "both", "none"])
@pytest.mark.parametrize(
    ("zone", "first"),
    [
        ("America/Sao_Paulo", date(2018, 11, 1)),  # midnight of 4 November is skipped
        ("America/Havana", date(2026, 10, 29)),  # midnight of 1 November occurs twice
        ("Pacific/Apia", date(2011, 12, 27)),  # 30 December is skipped
    ],
)
def test_the_windows_of_a_row_are_those_that_contain_its_time(zone, first, closed):
    start = instant(first, zone)
    hours = [start + timedelta(hours=i) for i in range(24 * 7)]
    table = pl.DataFrame({"time": pl.Series(hours).dt.convert_time_zone(zone)})
    above = {"left": datetime.__le__, "both": datetime.__le__}.get(closed, datetime.__lt__)
    below = {"right": datetime.__le__, "both": datetime.__le__}.get(closed, datetime.__lt__)
    for length in (1, 3):
        # A longer window from a day that is skipped has the start of the next window.
        days = [first + timedelta(i) for i in range(8)]
        windows = {instant(day, zone): instant(day + timedelta(length), zone) for day in days}
        expected = [
            (hour, low, high)
            for hour in hours
            for low, high in windows.items()
            if low < high and above(low, hour) and below(hour, high)
        ]
        found = rf.windows(table, "time", every="1d", period=f"{length}d", closed=closed)
        found = found.select(pl.all().dt.convert_time_zone("UTC"))
        assert found.filter(pl.col("window") >= start).rows() == expected


@pytest.mark.parametrize(("every", "period"), [("1d", "1d"), ("24h", "24h")])
def test_windows_of_days_or_of_hours_may_end_at_a_time_that_is_skipped(frame, every, period):
    start = instant(date(2026, 3, 28), "Antarctica/Troll")
    hours = pl.Series([start + timedelta(hours=i) for i in range(48)])
    table = frame({"time": hours.dt.convert_time_zone("Antarctica/Troll")})
    assert rf.windows(table, "time", every=every, period=period).lazy().collect().height == 48


EVERY = {"1h": 60, "90m": 90, "36h": 2160}


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_windows_of_hours_start_at_the_same_local_times_all_year_and_for_each_part(zone):
    """Each start is the first time at which the local time is at least a multiple of the length."""
    first = midnight(date(2026, 1, 1), UTC)
    minutes = range(-3 * 1440, 366 * 1440, 15)
    instants = [first + timedelta(minutes=m) for m in minutes]
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    local = [
        (at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - epoch) // timedelta(minutes=1)
        for at in instants
    ]
    hours = pl.Series(instants[3 * 96 :: 4]).dt.convert_time_zone(zone)
    table = pl.DataFrame({"time": hours})
    offset = pl.col("time").dt.dst_offset()
    changes = table.filter((offset != offset.shift(36)) | (offset != offset.shift(-36)))
    for every, length in EVERY.items():
        highest = list(itertools.accumulate((m // length for m in local), max))
        if every == "1h" and "Lord_Howe" not in zone:  # an hour that occurs twice has two windows
            highest = [(m // length, m - minute) for m, minute in zip(local, minutes, strict=True)]
        steps = zip(instants[1:], itertools.pairwise(highest), strict=True)
        starts = [at for at, (before, after) in steps if before != after]
        index = [bisect_right(starts, at) - 1 for at in instants[3 * 96 :: 4]]
        expected = [(starts[i], starts[i + 1]) for i in index if i + 1 < len(starts)]
        assert len(expected) > 365 * 24 - 36
        found = rf.windows(table, "time", every=every)
        in_utc = found.select(pl.col("window", "window_end").dt.convert_time_zone("UTC"))
        assert in_utc.rows()[: len(expected)] == expected
        spans = pl.DataFrame({"window": starts[:-1], "window_end": starts[1:]})
        spans = spans.select(pl.all().dt.convert_time_zone(zone))
        for part in (table[:4000], table[4000:], table[6001:6007]):
            whole = found.filter(pl.col("time").is_in(part["time"].implode()))
            assert_frame_equal(rf.windows(part, "time", every=every), whole)
        for closed in ("left", "right", "both", "none"):
            low, time, high = pl.col("window"), pl.col("time"), pl.col("window_end")
            above = low <= time if closed in {"left", "both"} else low < time
            below = time <= high if closed in {"right", "both"} else time < high
            later = time > changes["time"][0]  # the first time of a table is in one window only
            got = rf.windows(changes, "time", every=every, closed=closed).filter(later)
            expected_rows = changes.join(spans, how="cross").filter(above & below & later)
            assert_frame_equal(got, expected_rows, check_row_order=False)


@pytest.mark.parametrize("closed", ["left", "right", "both", "none"])
@pytest.mark.parametrize(("every", "period", "offset"), [(3, 7, -5), (3, 3, 8), (2, 5, 20)])
def test_the_first_window_is_the_last_one_that_starts_before_the_earliest_time(
    every, period, offset, closed
):
    values = [-4, -1, 0, 5, 6, 11]
    table = rf.windows(
        pl.DataFrame({"t": values}), "t", every=every, period=period, offset=offset, closed=closed
    )
    above = {"left": int.__le__, "both": int.__le__}.get(closed, int.__lt__)
    below = {"right": int.__le__, "both": int.__le__}.get(closed, int.__lt__)
    first = values[0] // every * every + offset
    while not above(first, values[0]):
        first -= every
    expected = [
        (value, start, start + period)
        for value in values
        for start in range(first, 20, every)
        if above(start, value) and below(value, start + period)
    ]
    assert table.rows() == expected


def test_numpy_integers_are_lengths():
    table = pl.DataFrame({"t": [0, 7]})
    got = rf.windows(table, "t", every=np.int64(5), offset=np.int8(-1))
    assert_frame_equal(got, rf.windows(table, "t", every=5, offset=-1))


def test_a_row_is_repeated_once_for_each_of_its_windows_in_the_order_of_the_table():
    shuffled = DAYS.sample(fraction=1, shuffle=True, seed=1)
    table = rf.windows(shuffled, "day", every="1w", period="2w")
    expected = [
        (day, row, start, start + timedelta(weeks=2))
        for day, row in shuffled.rows()
        for start in (MONDAY + timedelta(weeks=k) for k in range(3))
        if start <= day < start + timedelta(weeks=2)
    ]
    assert table.columns == ["day", "row", "window", "window_end"]
    assert table.rows() == expected
    lazy = rf.windows(shuffled.lazy(), "day", every="1w", period="2w")
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), table)


def test_each_function_computes_one_result_per_window_from_rows_and_from_counts():
    rows = pl.DataFrame(
        {
            "day": [MONDAY + timedelta(days=i % 21) for i in range(84)],
            "label": [i % 3 == 0 for i in range(84)],
            "score": [i * 7 % 5 for i in range(84)],
        }
    )
    compressed = rows.group_by("day", "label", "score").agg(count=pl.len())
    options = {"every": "1w", "period": timedelta(weeks=2)}
    expected = pl.concat(
        rf.auc(
            rows.filter(pl.col("day").is_between(start, start + timedelta(days=13))).with_columns(
                window=pl.lit(start)
            ),
            "label",
            "score",
            by="window",
        )
        for start in (MONDAY + timedelta(weeks=k) for k in range(3))
    )
    for table, count in ((rows, None), (compressed, "count")):
        log = rf.windows(table, "day", **options)
        assert_frame_equal(rf.auc(log, "label", "score", by="window", count=count), expected)


def test_rows_without_a_time_are_a_group_and_rows_between_windows_are_left_out():
    table = pl.DataFrame({"t": [0, None, 4, 5, 7]})
    got = rf.windows(table, "t", every=5, period=3)
    assert got.rows() == [(0, 0, 3), (None, None, None), (5, 5, 8), (7, 5, 8)]
    assert got.schema["window"] == pl.Int64
    assert rf.windows(table.clear(), "t", every=5).height == 0
    assert rf.windows(pl.DataFrame({"t": [None]}, {"t": pl.Date}), "t", every="1d").height == 1


def test_incomplete_windows_can_be_left_out():
    table = rf.windows(DAYS, "day", every="1w", period="2w", incomplete="drop")
    ends = [MONDAY + timedelta(weeks=k + 2) for k in range(2)]
    assert counts(table).select("window_end", "len").rows() == [(ends[0], 14), (ends[1], 13)]
    same = rf.windows(DAYS, "day", every="1w", incomplete="drop")
    assert_frame_equal(same, rf.windows(DAYS, "day", every="1w"))
    assert rf.windows(DAYS, "day", every="1w", period="4w", incomplete="drop").height == 0
    integers = rf.windows(pl.DataFrame({"t": range(10)}), "t", every=2, period=4, incomplete="drop")
    assert counts(integers).rows() == [(0, 4, 4), (2, 6, 4), (4, 8, 4), (6, 10, 4)]


def test_the_time_is_an_expression_and_names_can_be_unusual():
    text = pl.DataFrame({"a b": ["2026-01-05", "2026-01-13"], "(time)": [1, 2]})
    got = rf.windows(text, pl.col("a b").str.to_date(), every="1w")
    assert got.columns == ["a b", "(time)", "window", "window_end"]
    assert got["window"].to_list() == [MONDAY, MONDAY + timedelta(weeks=1)]
    assert rf.windows(text, "(time)", every=1)["window"].to_list() == [1, 2]


def test_a_filter_of_a_lazy_result_gives_the_same_windows():
    lazy = rf.windows(DAYS.lazy(), "day", every="1w", period="2w").filter(
        pl.col("window") == MONDAY + timedelta(weeks=1), pl.col("row") > 10
    )
    assert lazy.collect()["row"].to_list() == list(range(11, 20))


@pytest.mark.parametrize("every", ["1mo", "1q", "2mo", "1y"])
def test_windows_of_months_start_on_a_day_that_all_months_have(every):
    days = pl.date_range(date(2023, 1, 1), date(2026, 12, 31), eager=True)
    table = pl.DataFrame({"day": days})
    for offset in ("27d", "3w", "1mo", "-2mo"):
        found = rf.windows(table, "day", every=every, offset=offset)
        for first in (date(2023, 6, 1), date(2024, 2, 29), date(2025, 3, 5)):
            later = pl.col("day") >= first
            part = rf.windows(table.filter(later), "day", every=every, offset=offset)
            assert_frame_equal(part, found.filter(later))


@pytest.mark.parametrize("time", [-(10**18), 9 * 10**18])
def test_large_times_have_windows(time):
    found = rf.windows(pl.DataFrame({"t": [time]}), "t", every=7)
    assert found.rows() == [(time, time // 7 * 7, time // 7 * 7 + 7)]


def test_times_of_the_last_days_of_nanoseconds_have_windows():
    days = pl.DataFrame({"t": [date(2262, 4, 1)]}).cast(pl.Datetime("ns"))
    found = rf.windows(days, "t", every="1d")
    assert found["window"].to_list() == days["t"].to_list()
