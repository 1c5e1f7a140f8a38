"""A real browser without a window, for tests of pages: Chromium as the system has it, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WINDOW = {"width": 1400, "height": 900}
"""Pixels: a small laptop's."""


def find_chromium() -> str:
    """The browser's program. Where there is none the test is skipped; in CI it fails, or nobody would look at pages."""
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is not None:
            return path
    missing = "no Chromium on PATH; install it: apt-get install chromium"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@contextmanager
def open_page(user: str = "", password: str = "") -> Iterator[Page]:
    """An empty page in a browser of its own, which ends with it.

    Args:
        user: for a site that asks for a login.
        password: of the same.
    """
    program = find_chromium()
    login = {"username": user, "password": password} if user else None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser.new_context(http_credentials=login, viewport=WINDOW).new_page()  # type: ignore[arg-type]  # a TypedDict
        finally:
            browser.close()
