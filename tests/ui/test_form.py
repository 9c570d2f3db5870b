"""What a form of a plugin offers, and says before anything is wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from .stage import field

pytestmark = pytest.mark.integration


def choices(page: Page, key: str) -> Locator:
    return page.locator(f"[data-field='{key}'] datalist option")


def test_a_form_that_nobody_has_touched_has_no_mistakes(page: Page) -> None:
    page.goto("#/new/HttpSource")
    state = page.locator(".sticky [role=status]")
    expect(state).to_have_text("Fill in what is required: the worker checks it while you type.")
    expect(page.locator("[aria-invalid=true]")).to_have_count(0)
    field(page, "topic").fill("orders")
    expect(state).to_contain_text("to mend before it can be used.")
    expect(field(page, "auth.password")).to_have_attribute("placeholder", "")


def test_values_of_closed_lists_are_offered(page: Page) -> None:
    page.goto("#/new/Generator")
    expect(choices(page, "shape")).to_have_count(3)
    expect(choices(page, "errors.tolerance")).to_have_count(2)
    assert [one.get_attribute("value") for one in choices(page, "shape").all()] == ["counter", "text", "order"]


def test_groups_have_titles_and_not_names_of_keys(page: Page) -> None:
    page.goto("#/new/Generator")
    titles = page.locator(".form-group summary")
    expect(titles.filter(has_text="Offsets topic")).to_have_count(1)
    assert [text for text in titles.all_inner_texts() if "." in text] == []


def test_the_keys_of_a_transform_stand_below_the_list_that_names_it(page: Page) -> None:
    page.goto("#/new/Generator")
    page.get_by_label("Find a key").fill("transforms")
    field(page, "transforms").fill("mask")
    titles = page.locator(".form-group summary")
    expect(titles.filter(has_text="Transforms: mask")).to_have_count(1)
    texts = titles.all_inner_texts()
    at = {
        name: next(place for place, text in enumerate(texts) if text.startswith(name))
        for name in ("Transforms", "Transforms: mask", "Error")
    }
    assert at["Transforms: mask"] == at["Transforms"] + 1
    assert choices(page, "transforms.mask.type").count() > 20


def test_cards_of_plugins_have_their_titles_beside_their_signs(page: Page) -> None:
    page.goto("#/new")
    expect(page.get_by_role("heading", name="Sinks")).to_be_visible()
    below = """cards => cards.filter((card) => {
      const [sign, title] = ["svg", "strong"].map((tag) => card.querySelector(tag).getBoundingClientRect());
      return title.left < sign.right || title.top > sign.bottom;
    }).map((card) => card.textContent)"""
    assert page.locator(".plugin").evaluate_all(below) == []
