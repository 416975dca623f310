"""Who may talk to the presenter: every combination of method, address, origin and token, sent raw."""

from __future__ import annotations

import pytest

from present_kit import start_presenter

pytestmark = pytest.mark.slow

OPEN = ["/", "/start", "/favicon.ico"]
VERBS = {"/live/events": "GET", "/live/run": "POST", "/live/stop": "POST"}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"]


@pytest.fixture(scope="module")
def presenter(tmp_path_factory):
    """A presenter without an engine."""
    presenter = start_presenter(tmp_path_factory.mktemp("deck"), live=False)
    yield presenter
    presenter.end()


def _allowed(method: str, path: str) -> bool:
    return (method == "GET" and path in OPEN) or VERBS.get(path) == method


@pytest.mark.parametrize("path", [*OPEN, *VERBS, "/deck.html", "/live", "/live/", "/live/run/"])
@pytest.mark.parametrize("method", METHODS)
def test_only_the_named_verbs_of_the_named_paths_exist(presenter, method, path):
    """With the token and from the page itself, nothing but the registered routes answers with success."""
    headers = {
        "Authorization": f"Bearer {presenter.token}",
        "Content-Type": "application/json",
        "Origin": presenter.origin,
        "Sec-Fetch-Site": "same-origin",
    }
    status, _, _ = presenter.request(method, path, headers, b'{"demo": "one-request"}')
    if path == "/live/run" and method == "POST":
        assert status == 409, "there is no engine to run"
    elif _allowed(method, path):
        assert status in (200, 202)
    else:
        assert status in (400, 404, 405, 401)


@pytest.mark.parametrize("path", [*OPEN, *VERBS])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example:{port}", "127.0.0.1.nip.io:{port}", "localhost@evil.example:{port}",
        "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.", "LOCALHOST:{port}", "x/?127.0.0.1:{port}", "",
        "[::1]:{port}", "127.1:{port}",
    ],
)  # fmt: skip
def test_another_host_name_is_refused(presenter, path, host):
    """A name that merely resolves to this machine is not served, whatever else the request carries."""
    port = presenter.host.rpartition(":")[2]
    headers = {"Host": host.format(port=port), "Authorization": f"Bearer {presenter.token}"}
    headers |= {"Content-Type": "application/json", "X-Forwarded-Host": presenter.host}
    status, reply, _ = presenter.request(VERBS.get(path, "GET"), path, headers, b"{}")
    assert status in (400, 403)
    assert not [name for name in reply if name.lower().startswith("access-control")]


@pytest.mark.parametrize("path", [*OPEN, *VERBS])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://{host}"},
        {"Origin": "http://{host}.evil.example"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "odd"},
    ],
)  # fmt: skip
def test_another_site_is_refused(presenter, headers, path):
    """Neither another origin nor a browser's word that the request crosses sites gets in, even with the token."""
    sent = {name: value.format(host=presenter.host) for name, value in headers.items()}
    sent |= {"Authorization": f"Bearer {presenter.token}", "Content-Type": "application/json"}
    status, reply, _ = presenter.request(VERBS.get(path, "GET"), path, sent, b"{}")
    assert status == 403
    assert not [name for name in reply if name.lower().startswith("access-control")]


@pytest.mark.parametrize("path", VERBS)
@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"]
)
def test_the_live_part_needs_the_token(presenter, path, given):
    """No token, half a token or another scheme is 401."""
    headers = {"Content-Type": "application/json"}
    if given is not None:
        headers["Authorization"] = given.format(token=presenter.token)
    assert presenter.request(VERBS[path], path, headers, b"{}")[0] == 401


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_form_cannot_start_anything(presenter, content_type):
    """Types that a foreign page may send without asking are refused."""
    headers = {"Authorization": f"Bearer {presenter.token}"}
    if content_type is not None:
        headers["Content-Type"] = content_type
    assert presenter.request("POST", "/live/run", headers, b'{"demo": "one-request"}')[0] == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"{", 400), (b"[]", 400), (b'{"demo": 7}', 400), (b'{"demo": "x", "y": 1}', 400),
     (b'{"demo": "other"}', 404), (b'{"demo": "' + b"x" * 2_000 + b'"}', 413), (b'{"demo": "\xff"}', 400)],
)  # fmt: skip
def test_a_body_that_is_no_order_is_refused(presenter, body, status):
    """Every wrong body has its own answer, and none reaches the demo."""
    headers = {"Authorization": f"Bearer {presenter.token}", "Content-Type": "application/json"}
    assert presenter.request("POST", "/live/run", headers, body)[0] == status


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml", "/..%2fpyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/..\\..\\etc\\passwd",
        "//etc/passwd", "/etc/passwd", "/deck.html", "/script.json", "/start/", "/start/../../script.json", "/%00",
        "/C:/Windows/win.ini", "/.inputs", "/static/", "/live/../script.json", "/%c0%ae%c0%ae/script.json",
        "/start.html", "/favicon.ico/../x",
    ],
)  # fmt: skip
def test_the_file_system_is_never_asked(presenter, path):
    """A path that is not on the list is refused, with and without the token."""
    for headers in ({}, {"Authorization": f"Bearer {presenter.token}"}):
        status, _, body = presenter.request("GET", path, headers)
        assert status in (400, 401, 404)
        assert b"num_tokens" not in body
        assert b"root:" not in body


def test_every_answer_carries_the_security_headers(presenter):
    """Files, refusals and streams alike tell the browser not to guess, keep, embed or pass on."""
    with_token = {"Authorization": f"Bearer {presenter.token}"}
    for method, path, headers in [("GET", "/", {}), ("GET", "/start", {}), ("GET", "/nothing", {}),
                                  ("GET", "/live/events", with_token), ("POST", "/", {})]:  # fmt: skip
        _, reply, _ = presenter.request(method, path, headers)
        assert reply["X-Content-Type-Options"] == "nosniff"
        assert reply["Cache-Control"] == "no-store"
        assert reply["Referrer-Policy"] == "no-referrer"
        assert reply["X-Frame-Options"] == "DENY"


def test_the_token_is_in_no_answer(presenter):
    """The key is in the printed address alone: no page, header or process list shows it."""
    for path in (*OPEN, "/nothing"):
        _, headers, body = presenter.request("GET", path)
        assert presenter.token.encode() not in body
        assert presenter.token not in str(headers)


def test_each_run_has_a_token_of_its_own(presenter, tmp_path):
    """256 random bits, drawn anew."""
    other = start_presenter(tmp_path, live=False)
    other.end()
    assert other.token != presenter.token
    assert len(other.token) >= 43
