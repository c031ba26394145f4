"""What widgets show: tables, charts, numbers and texts, and every wrong config with its reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tenuto import Tenuto
from tenuto.model.errors import InvalidInput, NotFound
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.workspace.widgets import WidgetType, cells_of, read_config, shape
from tenuto.workspace.widgets.config import FIELDS
from tests.engine.situations import ONE_WAIT, steps, until_waiting

PEOPLE: JSON = [
    {"name": "Ada", "born": 1815, "at": {"city": "London"}},
    {"name": "Alan", "born": 1912},
]
CONTEXT: Object = {
    "people": PEOPLE,
    "pairs": [[1, 2], [3]],
    "plain": [1, 2.5],
    "months": {"jan": 3, "feb": 4},
    "share": 0.256,
    "word": "hello",
    "flag": True,
    "nothing": None,
}


def shown(type: str, status: Status, **config: JSON) -> Any:  # noqa: ANN401
    return shape(read_config(type, config), "i1", status, CONTEXT)


def data(type: str, **config: JSON) -> Any:  # noqa: ANN401
    answer = shown(type, Status.COMPLETED, **config)
    assert answer["ready"], answer
    return answer["data"]


@pytest.mark.parametrize(
    ("config", "columns", "rows"),
    [
        (
            {"path": "people"},
            ["name", "born", "at"],
            [["Ada", 1815, {"city": "London"}], ["Alan", 1912, None]],
        ),
        (
            {"path": "people", "columns": ["at.city", "name"]},
            ["at.city", "name"],
            [["London", "Ada"], [None, "Alan"]],
        ),
        ({"path": "people", "columns": ["name"], "limit": 1}, ["name"], [["Ada"]]),
        ({"path": "people[1]"}, ["name", "born"], [["Alan", 1912]]),
        ({"path": "pairs"}, ["0", "1"], [[1, 2], [3, None]]),
        ({"path": "plain"}, ["value"], [[1], [2.5]]),
    ],
)
def test_a_table_has_columns_and_rows(config: Object, columns: JSON, rows: JSON) -> None:
    assert data("table", **config) == {"columns": columns, "rows": rows}


@pytest.mark.parametrize(
    ("config", "series"),
    [
        (
            {"path": "people", "x": "name", "y": "born"},
            {"born": [("Ada", 1815), ("Alan", 1912)]},
        ),
        ({"path": "people"}, {"born": [(0, 1815), (1, 1912)]}),
        ({"path": "plain"}, {"plain": [(0, 1), (1, 2.5)]}),
        ({"path": "months"}, {"months": [("jan", 3), ("feb", 4)]}),
        ({"path": "months", "y": ["jan", "feb"]}, {"jan": [(0, 3)], "feb": [(0, 4)]}),
        ({"path": "people", "y": "gone"}, {"gone": [(0, None), (1, None)]}),
    ],
)
def test_a_chart_has_series_of_points(
    config: Object, series: dict[str, list[tuple[JSON, JSON]]]
) -> None:
    found = {
        each["name"]: [(point["x"], point["y"]) for point in each["points"]]
        for each in data("chart", **config)["series"]
    }
    assert found == series


@pytest.mark.parametrize(
    ("type", "config", "expected"),
    [
        ("number", {"path": "share"}, {"value": 0.256}),
        ("number", {"path": "share", "format": "percent"}, {"value": 25.6}),
        ("number", {"path": "plain[1]", "format": "integer"}, {"value": 3}),
        ("text", {"path": "word"}, {"text": "hello"}),
        ("text", {"path": "word", "format": "json"}, {"text": '"hello"'}),
        ("text", {"path": "word", "limit": 2}, {"text": "he…"}),
        ("text", {"path": "pairs"}, {"text": "[[1, 2], [3]]"}),
        ("text", {"path": "flag"}, {"text": "true"}),
    ],
)
def test_a_number_is_a_value_and_a_text_a_text(type: str, config: Object, expected: Object) -> None:
    assert data(type, **config) == expected


def test_what_is_not_there_yet_is_not_ready_and_after_the_end_an_error() -> None:
    for path in ("gone", "nothing", "people[7].name"):
        waiting = shown("table", Status.RUNNING, path=path)
        assert waiting == {"instanceId": "i1", "status": "RUNNING", "ready": False, "data": None}
        ended = shown("table", Status.FAILED, path=path)
        assert not ended["ready"]
        assert f"nothing at `{path}`" in ended["error"]


@pytest.mark.parametrize(
    ("type", "config", "reason"),
    [
        ("number", {"path": "word"}, "is a text, and no number"),
        ("number", {"path": "flag"}, "is true or false, and no number"),
        ("table", {"path": "share"}, "is a number, and no list"),
        ("chart", {"path": "people", "y": "name"}, "has a text at `name`, and no number"),
        ("chart", {"path": "word"}, "is a text, and no list"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(type: str, config: Object, reason: str) -> None:
    answer = shown(type, Status.RUNNING, **config)
    assert (answer["ready"], answer["data"]) == (False, None)
    assert reason in answer["error"]


@pytest.mark.parametrize(
    ("type", "config", "places"),
    [
        ("tabel", {}, ["$.widgetType"]),
        (7, [], ["$.widgetType", "$.widgetConfig"]),
        ("table", "x", ["$.widgetConfig"]),
        ("table", {}, ["$.widgetConfig.path"]),
        ("table", {"path": 7}, ["$.widgetConfig.path"]),
        ("table", {"path": "a..b"}, ["$.widgetConfig.path"]),
        (
            "table",
            {"path": "a", "colums": [], "x": "b", "limit": 0},
            ["$.widgetConfig.colums", "$.widgetConfig.x", "$.widgetConfig.limit"],
        ),
        ("table", {"path": "a", "columns": "b"}, ["$.widgetConfig.columns"]),
        ("table", {"path": "a", "columns": []}, ["$.widgetConfig.columns"]),
        ("table", {"path": "a", "columns": ["b", 7]}, ["$.widgetConfig.columns[1]"]),
        ("table", {"path": "a", "columns": ["b", "b"]}, ["$.widgetConfig.columns"]),
        ("chart", {"path": "a", "x": ["b"]}, ["$.widgetConfig.x"]),
        ("chart", {"path": "a", "y": ["b", ".c"]}, ["$.widgetConfig.y[1]"]),
        ("number", {"path": "a", "format": "money"}, ["$.widgetConfig.format"]),
        ("number", {"path": "a", "limit": 3}, ["$.widgetConfig.limit"]),
        ("text", {"path": "a", "format": None}, ["$.widgetConfig.format"]),
        ("text", {"path": "a", "limit": True}, ["$.widgetConfig.limit"]),
        ("text", {"path": "a", "limit": 2_000_000}, ["$.widgetConfig.limit"]),
    ],
)
def test_all_that_is_wrong_with_a_config_is_said(
    type: object, config: object, places: list[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config(type, config)
    assert [problem.path for problem in refused.value.problems] == places
    assert all(problem.message and problem.advice for problem in refused.value.problems)


def test_a_mistyped_word_is_met_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="Did you mean `table`"):
        read_config("tabel", {})
    with pytest.raises(InvalidInput, match="Did you mean `columns`"):
        read_config("table", {"path": "a", "colums": ["b"]})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "config",
    [
        {"widgetType": "table", "columns": [".".join(["a"] * (n + 1)) for n in range(90)]},
        {"widgetType": "chart", "x": "a", "y": [f"y{number}" for number in range(90)]},
    ],
    ids=["table", "chart"],
)
def test_a_value_that_is_in_many_cells_is_not_shown_in_all_of_them(config: Object) -> None:
    """One of 900,000 characters, 90 deep, would be shown in 81 MB."""
    value: JSON = "x" * 900_000
    for _ in range(90):
        value = {"a": value}
    rows: list[JSON] = [value] * 16
    type = str(config.pop("widgetType"))
    wanted = read_config(type, {"path": "rows", **config})
    answer = shape(wanted, "i1", Status.COMPLETED, {"rows": rows})
    assert not answer["ready"]
    assert "more than 4,000,000 characters to show" in str(answer["error"])


@given(st.sampled_from(WidgetType), VALUES, st.sampled_from(Status))
def test_whatever_is_there_is_shown_or_refused_with_a_reason(
    type: WidgetType, value: JSON, status: Status
) -> None:
    answer = shape(read_config(type, {"path": "v"}), "i1", status, {"v": value})
    assert answer["ready"] == (answer["data"] is not None)
    assert not (answer["ready"] and "error" in answer)
    assert answer["ready"] or "error" in answer or value is None
    assert set(FIELDS) == set(WidgetType)


@pytest.mark.asyncio
async def test_an_instance_is_shown_in_a_widget() -> None:
    """Widget: `{path, columns?, x?, y?, format?, limit?}` → `{instanceId, status, ready, data,
    error?}`; `data`: table `{columns, rows}`, chart `{series: [{name, points}]}`, number `{value}`,
    text `{text}`.
    """
    async with Tenuto() as app:

        @app.task
        async def work(input: JSON) -> JSON:
            return {"rows": [input]}

        await app.deploy(steps("a"))
        await app.deploy(ONE_WAIT)
        instance = await app.start("flow", {"n": 1})
        await instance.result(20)
        found = await instance.widget("table", {"path": "output.rows"})
        assert found == {
            "instanceId": instance.id,
            "status": "COMPLETED",
            "ready": True,
            "data": {"columns": ["n"], "rows": [[1]]},
        }
        waiting = await app.start("waiting", {"orderId": 7})
        await until_waiting(app, 1)
        assert (await waiting.widget("number", {"path": "output"}))["ready"] is False
        assert (await waiting.widget("number", {"path": "input.orderId"}))["data"] == {"value": 7}
        with pytest.raises(InvalidInput):
            await waiting.widget("number", {})
        waiting.id = "00000000-0000-7000-8000-000000000009"
        with pytest.raises(NotFound):
            await waiting.widget("number", {"path": "output"})


@pytest.mark.parametrize(
    ("type", "config"),
    [
        ("table", {"columns": [f"c{n}" for n in range(100)]}),
        ("chart", {"y": [f"c{n}" for n in range(100)]}),
        ("table", {}),
    ],
)
def test_a_widget_looks_up_so_many_values_and_says_what_to_change(
    type: str, config: dict[str, object]
) -> None:
    row: JSON = {f"c{n}": 1 for n in range(100)}
    value: list[JSON] = [row] * 1_001
    wanted = read_config(type, {"path": "v", "limit": 10_000, **config})
    answer = shape(wanted, "i1", Status.COMPLETED, {"v": value})
    assert answer["ready"] is False
    assert "100,000 values are the most" in str(answer["error"])
    assert shape(wanted, "i1", Status.COMPLETED, {"v": value[:-1]})["ready"] is True
    assert cells_of(wanted, {"v": value}) == 100_100
