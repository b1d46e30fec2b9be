"""The page in a real browser: Chromium, if there is one on this machine."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from d2s.playground.server import Playground

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on the PATH: {', '.join(BROWSERS)} (Debian: apt install chromium)")
    with sync_api.sync_playwright() as driver:
        # The sandbox of Chromium needs rights that containers do not have; the page is our own.
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with Playground(seconds=60) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Any, playground: Playground) -> Iterator[Any]:
    """The page with its first example run; it may ask for nothing but itself, and may not complain."""
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    requests: list[str] = []
    complaints: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(playground.address)
    verdict(opened, "both modes agree")
    yield opened
    assert complaints == []
    assert [url for url in requests if not url.startswith((playground.address, "data:"))] == []
    opened.close()


def verdict(page: Any, words: str) -> None:
    sync_api.expect(page.locator("#verdict")).to_have_text(words, timeout=60_000)


def write(page: Any, program: str, inputs: str = "x = [2.0]") -> None:
    """Replace program and inputs, and run them at once."""
    page.locator("#live").uncheck()
    page.locator("#inputs").fill(inputs)
    page.locator("#program").fill(program)
    page.locator("#run").click()


def test_code_hooks_program_and_results_are_shown(page: Any) -> None:
    assert "moved from line 6" in page.locator("#code").inner_text()
    assert page.locator("#code .notes li").all_inner_texts() == [
        "line 6: hook on y moves behind line 4: directly after its definition"]
    page.get_by_role("tab", name="Program").click()
    assert page.locator("#graph svg").is_visible()
    assert "register_hook" in page.locator("#graph svg").text_content()
    assert not page.locator("#code").is_visible()
    page.get_by_role("tab", name="Both modes").click()
    rows = page.locator("#results .modes").inner_text()
    assert rows.count("float32[1] [16.]") == 2
    assert rows.count("[3.]  →  [4.]") == 2


def test_typing_runs_the_program(page: Any) -> None:
    page.locator("#program").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\ndef g(x):\nreturn x * x * x\n")
    sync_api.expect(page.locator("#target option")).to_have_text(["f", "g"], timeout=60_000)
    page.locator("#target").select_option("g")
    verdict(page, "both modes agree")
    page.get_by_role("tab", name="Both modes").click()
    sync_api.expect(page.locator("#results")).to_contain_text("float32[1] [8.]", timeout=60_000)
    # The line behind the colon was indented by the editor.
    assert "def g(x):\n    return x * x * x" in page.locator("#program").input_value()


def test_an_error_is_shown_at_its_line(page: Any) -> None:
    write(page, "def f(x):\n    y = x * 2\n    return y.missing\n")
    verdict(page, "fails, in both modes")
    assert page.locator("#numbers .wrong").all_inner_texts() == ["3"]
    assert "Line 3 of the program" in page.locator("#failure").inner_text()
    assert "missing" in page.locator("#failure").inner_text()
    write(page, "def f(x):\n    return x\n", "x = nothing")
    sync_api.expect(page.locator("#input-numbers .wrong")).to_have_text("1", timeout=60_000)
    write(page, "def f(x):\n    return x\n")
    verdict(page, "both modes agree")
    assert page.locator("#failure").is_hidden()
    assert page.locator(".wrong").count() == 0


def test_what_static_mode_refuses_is_told_with_its_id(page: Any) -> None:
    page.locator("#examples").select_option(label="What is refused")
    verdict(page, "static mode refuses this")
    assert "D2S-U29" in page.locator("#failure").inner_text()


def test_markup_in_texts_stays_text(page: Any) -> None:
    mark = "<img src=x onerror=document.title='bad'>"
    write(page, f'def f(x):\n    print("{mark}")\n    return x + len("{mark}")\n')
    verdict(page, "both modes agree")
    page.get_by_role("tab", name="Both modes").click()
    assert mark in page.locator("#results").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() == "d2s playground"


def test_it_can_be_used_with_the_keyboard(page: Any) -> None:
    page.locator("#tab-code").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-graph").get_attribute("aria-selected") == "true"
    assert page.locator("#graph").is_visible()
    page.locator("#live").uncheck()
    page.locator("#program").fill("def f(x):\n    return x - 1\n")
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#code")).to_contain_text("x - 1", timeout=60_000)


def test_another_page_cannot_run_programs(browser: Any, playground: Playground) -> None:
    """A page of another origin knows the address, and still gets nothing."""
    with Playground() as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        foreign = browser.new_page(bypass_csp=True)
        foreign.goto(other.address)
        body = '{"program": "", "inputs": "", "target": ""}'
        answer = foreign.evaluate(
            """async ([address, body]) => {
                const tries = [];
                for (const type of ["application/json", "text/plain"]) {
                    for (const mode of ["cors", "no-cors"]) {
                        try {
                            const options = {method: "POST", mode, body, headers: {"Content-Type": type}};
                            const response = await fetch(address + "run", options);
                            tries.push(response.type === "opaque" ? "opaque" : response.status);
                        } catch (error) { tries.push("refused"); }
                    }
                }
                return tries;
            }""",
            [playground.address, body],
        )
        foreign.close()
        other.shutdown()
        thread.join()
    assert all(result in ("refused", "opaque") for result in answer)


def test_it_fits_a_narrow_window(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
