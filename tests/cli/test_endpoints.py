"""Who is told of events, from a terminal."""

from __future__ import annotations

from tests.cli.conftest import Terminal


def test_a_webhook_is_added_listed_and_removed(terminal: Terminal) -> None:
    terminal.call("migrate")
    added = terminal.call("webhooks", "add", "https://example.com/hook", "workflow.*", "order.**")
    assert added.code == 0
    assert "secret: whsec_" in added.out
    listed = terminal.call("webhooks", "list")
    assert "https://example.com/hook" in listed.out
    assert "active" in listed.out
    assert "whsec_" not in listed.out
    [item] = terminal.call("webhooks", "list", "-o", "json").json["items"]
    assert item["patterns"] == ["workflow.*", "order.**"]
    assert (item["state"], item["pending"], item["gaps"]) == ("active", 0, [])
    assert "secret" not in item
    assert terminal.call("webhooks", "list", "-o", "id").out.strip() == item["id"]
    assert terminal.call("webhooks", "enable", item["id"]).code == 0
    assert terminal.call("webhooks", "remove", item["id"]).code == 0
    again = terminal.call("webhooks", "remove", item["id"])
    assert again.code == 3
    assert "TEN-3301" in again.err
    assert "no webhooks" in terminal.call("webhooks", "list").err


def test_a_secret_is_read_from_stdin(terminal: Terminal) -> None:
    terminal.call("migrate")
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    for words in (("webhooks",), ("subscriptions",)):
        more = ("--subscriber", "s") if words == ("subscriptions",) else ()
        added = terminal.call(
            *(*words, "add", "https://example.com", "a", *more, "--secret", "-", "-o", "json"),
            input=f"{secret}\n",
        )
        assert added.json["secret"] == secret


def test_a_subscription_says_all_that_was_asked(terminal: Terminal) -> None:
    terminal.call("migrate")
    added = terminal.call(
        *("subscriptions", "add", "https://example.com/n", "payment.received"),
        *("--subscriber", "shop", "--filter", "event.payload.id === 7"),
        *("--correlation-id", "c1", "--expires", "2999-01-01T00:00:00Z", "-o", "json"),
    )
    assert added.code == 0
    assert added.json["secret"].startswith("whsec_")
    [item] = terminal.call("subscriptions", "list", "-o", "json").json["items"]
    assert item["id"] == added.json["id"]
    assert item["callbackUrl"] == "https://example.com/n"
    assert item["subscriberId"] == "shop"
    assert item["filter"] == "event.payload.id === 7"
    assert item["correlationId"] == "c1"
    assert item["expirationTime"] == "2999-01-01T00:00:00Z"
    assert item["expired"] is False
    assert terminal.call("subscriptions", "remove", item["id"]).code == 0


def test_everything_that_is_wrong_is_told_with_its_code(terminal: Terminal) -> None:
    terminal.call("migrate")
    refused = terminal.call("webhooks", "add", "http://10.0.0.1/", "a..b", "--secret", "short")
    assert refused.code == 2
    assert all(code in refused.err for code in ("TEN-2302", "TEN-2303", "TEN-2304"))
    for moment in ("tomorrow", "9999-12-31T23:59:59-14:00"):
        late = terminal.call(
            *("subscriptions", "add", "https://example.com", "a", "--subscriber", "s"),
            *("--expires", moment),
        )
        assert late.code == 2
        assert "TEN-2306" in late.err
    allowed = terminal.call("webhooks", "add", "http://10.0.0.1/", "a", "--allow-private")
    assert allowed.code == 0
