"""What people do on the page, in a real browser on a real worker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .stage import TEXT, field, generator, json_editor, offsets_of, state_badge

pytestmark = pytest.mark.integration


def test_a_connector_is_created_through_the_form_of_its_plugin(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("#/new")
    page.get_by_label("Search plugins").fill("generator")
    page.get_by_role("link", name="Generator").click()
    page.get_by_label("Connector name").fill("made-in-a-form")
    field(page, "topic").fill("made")
    page.get_by_label("Find a key").fill("rate")
    field(page, "rate").fill("fast")
    expect(page.locator("[data-field=rate] .error").first).to_contain_text("fast")
    page.get_by_role("button", name="Create connector").click()
    expect(field(page, "rate")).to_be_focused()
    field(page, "rate").fill("3")
    expect(page.get_by_text("The worker finds nothing wrong with it.")).to_be_visible()
    page.get_by_role("button", name="Create connector").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("made-in-a-form")
    expect(state_badge(page)).to_have_text("Running")
    config = ui_worker.http.get("/connectors/made-in-a-form/config").json()
    assert (config["topic"], config["rate"]) == ("made", "3")
    records = page.get_by_role("region", name="Records into its topics").get_by_role("link", name="made")
    expect(records).to_have_attribute("href", "#/topics/made")
    assert "tasks.max" not in config


def test_a_connector_is_paused_resumed_restarted_and_stopped(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("led", generator("led"))
    page.goto("#/connectors/led")
    page.get_by_role("button", name="Pause", exact=True).hover()
    expect(page.locator("#command")).to_have_text(f"penstock pause led --url {ui_worker.url}")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state_badge(page)).to_have_text("Paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(state_badge(page)).to_have_text("Running")
    page.get_by_role("button", name="Restart", exact=True).click()
    expect(page.locator(".toast", has_text="Restart led with its tasks: done")).to_be_visible()
    ui_worker.wait_state("led", "RUNNING")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(state_badge(page)).to_have_text("Stopped")
    expect(page.get_by_text("A stopped connector has none.")).to_be_visible()
    page.get_by_role("button", name="History").click()
    assert f"curl -X PUT {ui_worker.url}/connectors/led/stop" in page.get_by_role("dialog").inner_text()


def test_a_failed_task_shows_its_trace_and_is_restarted(page: Page, ui_worker: PenstockProcess, tmp_path: Path) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    ui_worker.create("ailing", {
        "connector.class": "ProbeSource", "topic": "ailing", "tasks.max": "3", "tasks.made": "3", "count": "10",
        "fail": "task.plan", "trouble.file": str(trouble), "trouble.tasks": "1",
    })  # fmt: skip
    page.goto("#/")
    attention = page.get_by_role("region", name="Needs attention")
    expect(attention.get_by_role("link", name="ailing")).to_be_visible()
    expect(attention).to_contain_text("task.plan was told to fail")
    attention.get_by_role("link", name="ailing").click()
    expect(state_badge(page)).to_have_text("Degraded")
    expect(page.locator("tr[data-task='1'] .state")).to_have_text("Failed")
    expect(page.get_by_label("Trace of task 1", exact=True)).to_contain_text("Traceback (most recent call last)")
    expect(page.locator("tr[data-trace='1'] .notice")).to_have_text("PluginError: task.plan was told to fail")
    panels = page.locator("section.panel h2")
    expect(panels).to_have_text(["Health", "Tasks", "Records into its topics"])
    trouble.unlink()
    page.get_by_role("button", name="Restart task 1").click()
    expect(page.locator("tr[data-task='1'] .state")).to_have_text("Running")
    expect(state_badge(page)).to_have_text("Running")
    expect(page.get_by_label("Trace of task 1", exact=True)).to_have_count(0)
    expect(panels).to_have_text(["Health", "Records into its topics", "Tasks"])


def test_offsets_of_a_stopped_connector_are_edited_without_rounding(page: Page, ui_worker: PenstockProcess) -> None:
    config = {"connector.class": "ProbeSource", "topic": "moved", "count": "10", "alter.offsets": "true"}
    ui_worker.create("moved", config)
    wait_until(lambda: offsets_of(ui_worker, "moved"), "it has offsets")
    page.goto("#/connectors/moved/offsets")
    expect(page.get_by_role("button", name="Edit the offset of", exact=False)).to_be_disabled()
    page.get_by_role("button", name="Stop it").click()
    page.get_by_role("button", name="Edit the offset of", exact=False).click()
    page.get_by_label("New offset").fill("{")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    page.get_by_label("New offset").fill('{"next": 9007199254740993}')
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("dialog")).to_contain_text("9007199254740993")
    page.get_by_role("button", name="Set offset").click()
    expect(page.get_by_role("cell", name='{"next":9007199254740993}')).to_be_visible()
    assert offsets_of(ui_worker, "moved") == [{"next": 9007199254740993}]
    page.get_by_role("button", name="Reset all").click()
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_text("No offsets yet")).to_be_visible()
    assert offsets_of(ui_worker, "moved") == []


def test_offsets_of_a_sink_that_cannot_be_right_are_set_only_by_who_insists(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    ui_worker.create("ended", {"connector.class": "FileStreamSource", "topic": "ended", "file": str(lines), **TEXT})
    sink = {"connector.class": "FileStreamSink", "topics": "ended", "file": str(tmp_path / "out"), **TEXT}
    ui_worker.create("ended-out", sink)
    wait_until(lambda: offsets_of(ui_worker, "ended-out") == [{"kafka_offset": 2}], "all is read", seconds=120)
    ui_worker.http.put("/connectors/ended-out/stop")
    page.goto("#/connectors/ended-out/offsets")
    dialog = page.get_by_role("dialog")
    agree = dialog.get_by_role("button", name="Set offset")

    def review(partition: str | None, offset: str) -> None:
        page.get_by_role("button", name="Add" if partition else "Edit the offset of", exact=bool(partition)).click()
        expect(page.get_by_label("New offset")).to_be_focused()
        if partition:
            page.get_by_label("Partition", exact=True).fill(partition)
        page.get_by_label("New offset").fill(offset)
        page.get_by_role("button", name="Review").click()

    def refused(problem: str) -> None:
        expect(dialog).to_contain_text(problem)
        expect(agree).to_be_disabled()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Cancel").click()

    review('{"kafka_topic": "other", "kafka_partition": 0}', '{"kafka_offset": 1}')
    refused("It does not read topic other. It reads ended.")
    review('{"kafka_topic": "ended", "kafka_partition": 7}', '{"kafka_offset": 1}')
    refused("Topic ended has no partition 7: it has 1 partition, counted from 0.")
    review(None, '{"kafka_offset": 999}')
    expect(dialog).to_contain_text("ended ends at 2 (partition 0).")
    refused("Offset 999 is beyond the end of the partition, 2.")
    review(None, '{"kafka_offset": 1}')
    expect(dialog).to_contain_text("ended ends at 2 (partition 0).")
    agree.click()
    expect(page.get_by_role("table", name="Offsets").get_by_role("row").nth(1)).to_have_text(re.compile("ended011Edit"))
    review(None, '{"kafka_offset": 999}')
    dialog.get_by_label("Set it all the same").check()
    expect(dialog).to_contain_text("--force")
    agree.click()
    expect(page.get_by_role("cell", name="beyond the end")).to_be_visible()
    page.get_by_role("tab", name="Tasks and flow").click()
    expect(page.get_by_role("region", name="Lag").locator(".now")).to_have_text("not known")
    for name in ("ended-out", "ended"):
        assert ui_worker.http.delete(f"/connectors/{name}").status_code == 204


def test_several_connectors_are_chosen_and_paused(page: Page, ui_worker: PenstockProcess) -> None:
    for number in range(3):
        ui_worker.create(f"many-{number}", generator("many"))
    page.goto("#/connectors")
    page.keyboard.press("/")
    page.keyboard.type("many-")
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_label("Choose all that match").check()
    page.get_by_label("Choose many-2").uncheck()
    page.get_by_role("toolbar").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"penstock pause many-0 many-1 --url {ui_worker.url}")
    page.get_by_role("button", name="Pause 2").click()
    for number, state in enumerate(["Paused", "Paused", "Running"]):
        expect(page.locator(f"tr[data-name='many-{number}'] .state")).to_have_text(state)
    page.get_by_role("group", name="State").get_by_role("button", name="Paused").click()
    expect(page.locator("tr[data-name='many-2']")).to_have_count(0)
    assert "state=PAUSED" in page.url
    page.reload()
    expect(page.locator("tr[data-name='many-0']")).to_be_visible()
    expect(page.locator("tr[data-name='many-2']")).to_have_count(0)


def test_several_connectors_are_stopped_restarted_and_deleted(page: Page, ui_worker: PenstockProcess) -> None:
    names = [f"herd-{number}" for number in range(3)]
    for name in names:
        ui_worker.create(name, generator(name))
        ui_worker.wait_state(name, "RUNNING")
    page.goto("#/connectors?q=herd-")
    actions = page.get_by_role("toolbar")
    chosen = page.locator("tr.chosen")

    def run(verb: str, agree: str) -> None:
        page.get_by_label("Choose all that match").check()
        expect(chosen).to_have_count(3)
        actions.get_by_role("button", name=verb, exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text(f"penstock {verb.lower()} herd-0 herd-1 herd-2 ")
        page.get_by_role("button", name=agree, exact=True).click()
        expect(page.get_by_role("dialog", name=f"{verb}: 3 connectors").get_by_text(": done")).to_have_count(3)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(chosen).to_have_count(0)

    run("Restart", "Restart 3")
    run("Stop", "Stop 3")
    for name in names:
        expect(page.locator(f"tr[data-name='{name}'] .state")).to_have_text("Stopped")
    page.get_by_label("Choose herd-0").check()
    actions.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    assert ui_worker.http.get("/connectors/herd-0").status_code == 200
    run("Delete", "Delete 3")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    assert not set(names) & set(ui_worker.http.get("/connectors").json())


def test_actions_leave_alone_what_the_filter_hides(page: Page, ui_worker: PenstockProcess) -> None:
    names = ["hid-a-1", "hid-a-2", "hid-b-1"]
    for name in names:
        ui_worker.create(name, generator("hid"), initial_state="PAUSED")
    page.goto("#/connectors?q=hid-")
    page.get_by_label("Choose all that match").check()
    bar, dialog = page.get_by_role("toolbar"), page.get_by_role("dialog")
    expect(bar).to_contain_text("3 chosen, all that match")
    page.get_by_label("Search connectors").fill("hid-b")
    expect(bar).to_contain_text("1 chosen, all that match, 2 more not shown")
    bar.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_role("heading")).to_have_text("Stop 1 connector?")
    expect(dialog).to_contain_text("2 more not shown under the present filter, are left as they are")
    expect(dialog).not_to_contain_text("hid-a")
    dialog.get_by_role("button", name="Stop 1").click()
    expect(page.locator("tr[data-name='hid-b-1'] .state")).to_have_text("Stopped")
    expect(dialog).to_have_count(0)
    expect(bar).to_contain_text("0 chosen, 2 more not shown")
    expect(bar.get_by_role("button", name="Delete")).to_be_disabled()
    page.get_by_label("Search connectors").fill("hid-")
    expect(bar).to_contain_text("2 chosen")
    for name in ("hid-a-1", "hid-a-2"):
        expect(page.locator(f"tr[data-name='{name}'] .state")).to_have_text("Paused")
    for name in names:
        assert ui_worker.http.delete(f"/connectors/{name}").status_code == 204


def test_what_was_found_by_its_topic_says_so(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("found-by-name", generator("elsewhere"), initial_state="STOPPED")
    ui_worker.create("another-one", generator("found-by-topic"), initial_state="STOPPED")
    page.goto("#/connectors?q=found-by")
    expect(page.locator("tr[data-name='another-one']")).to_contain_text("topic: found-by-topic")
    expect(page.locator("tr[data-name='found-by-name']")).to_be_visible()
    expect(page.locator("tr[data-name='found-by-name']")).not_to_contain_text("topic:")
    for name in ("found-by-name", "another-one"):
        assert ui_worker.http.delete(f"/connectors/{name}").status_code == 204


def test_all_that_match_are_chosen_also_below_the_rows_that_are_drawn(page: Page) -> None:
    def fleet(route: Route) -> None:
        part = {"state": "STOPPED", "worker_id": "w:1"}
        health = {**part, "health": "healthy", "reason": None, "restarts": 0, "next_restart": None}
        route.fulfill(json={
            f"drawn-{number:03}": {
                "status": {"name": "", "connector": part, "tasks": [], "type": "source"},
                "info": {"name": "", "config": generator("drawn"), "tasks": [], "type": "source"},
                "health": {**health, "connector": health, "tasks": []},
            }
            for number in range(230)
        })  # fmt: skip

    page.route("**/connectors?expand=*", fleet)
    page.goto("#/connectors")
    more = page.get_by_role("button", name="Show 30 more")
    expect(more).to_be_visible()
    above = "node => node.getBoundingClientRect().top - node.parentElement.getBoundingClientRect().top"
    assert more.evaluate(above) >= 8
    page.get_by_label("Choose all that match").check()
    expect(page.get_by_role("toolbar")).to_contain_text("230 chosen, all that match")
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Delete 230 connectors?")
    expect(page.get_by_role("dialog")).to_contain_text("drawn-229")
    page.get_by_role("button", name="Cancel").click()


def test_a_configuration_is_saved_after_its_changes_were_seen(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("tuned", {**generator("tuned"), "my.own.key": "kept"})
    page.goto("#/connectors/tuned/config")
    field(page, "rate").fill("7")
    expect(page.get_by_text("1 key changed, not saved yet.")).to_be_visible()
    area = json_editor(page)
    area.fill(area.input_value().replace('"my.own.key": "kept"', '"my.own.key": "changed", "extra": "1"'))
    page.get_by_role("button", name="Review and save").click()
    rows = page.get_by_role("dialog").locator(".diff tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="my.own.key")).to_contain_text("kept")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()
    config = ui_worker.http.get("/connectors/tuned/config").json()
    assert (config["rate"], config["my.own.key"], config["extra"]) == ("7", "changed", "1")


def test_a_pipeline_file_is_planned_and_applied(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("#/pipelines")
    text = "pipelines:\n  - id: planned\n    connectors:\n      - name: planned\n        class: Generatr\n"
    page.get_by_label("Its text").fill(text)
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_text("orders.yaml:5:")).to_be_visible()
    expect(page.get_by_role("button", name="Apply", exact=True)).to_be_disabled()
    mended = text.replace("Generatr", "Generator") + "        config: {topic: planned, rate: 2}\n"
    page.get_by_label("Its text").fill(mended)
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.locator("[data-change=planned]")).to_contain_text("create")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_role("table", name="Declared pipelines").get_by_role("link", name="planned")).to_be_visible()
    ui_worker.wait_state("planned", "RUNNING")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_text("Nothing to do")).to_be_visible()


def test_records_are_seen_as_they_arrive(page: Page, ui_worker: PenstockProcess, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("first\n")
    ui_worker.create("told", {"connector.class": "FileStreamSource", "topic": "told", "file": str(lines), **TEXT})
    page.goto("#/topics")
    page.get_by_role("link", name="told").click()
    expect(page.locator("tr[data-record='0:0']")).to_contain_text("first")
    with lines.open("a") as more:
        more.write('{"second": {"deep": 12345678901234567890}}\n')
    row = page.locator("tr[data-record='0:1']")
    expect(row).to_contain_text("second")
    row.locator("summary").click()
    expect(row.get_by_label("Record 0:1")).to_contain_text('"deep": 12345678901234567890')
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    page.get_by_label("Find in these records").fill("FIRST")
    expect(page.locator("tr[data-record]")).to_have_count(1)


def test_a_sink_shows_how_much_it_moves_and_how_far_it_is_behind(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    ui_worker.create("fast", generator("fast", 20))
    ui_worker.create("fast-out", {"connector.class": "FileStreamSink", "topics": "fast", "file": str(tmp_path / "out")})
    wait_until(lambda: offsets_of(ui_worker, "fast-out"), "records move", seconds=120)
    page.goto("#/connectors/fast-out")
    moved = page.get_by_role("region", name="Records delivered")
    expect(moved.locator(".now")).to_have_text(re.compile(r"^[1-9][\d.]* records/s$"))
    expect(moved.get_by_role("img")).to_have_accessible_name(re.compile(r"[1-9][\d.]* records/s now, between"))
    expect(moved.locator("path.curve")).to_be_visible()
    ui_worker.http.put("/connectors/fast-out/stop")
    expect(page.get_by_role("region", name="Lag").locator(".now")).to_have_text(re.compile(r"^[1-9]\d* records$"))
    page.goto("#/")
    into = page.get_by_role("region", name="Records into topics")
    expect(into.locator(".now")).to_have_text(re.compile(r"^[1-9][\d.]* records/s$"))


def test_a_hook_that_fails_is_shown_and_its_clean_up_given_up(
    page: Page, ui_worker: PenstockProcess, tmp_path: Path
) -> None:
    trouble = tmp_path / "trouble"
    trouble.touch()
    keys = {"fail": "on_created,on_deleted", "trouble.file": str(trouble)}
    ui_worker.create("hooked", {"connector.class": "ProbeSource", "topic": "hooked", **keys})
    page.goto("#/connectors/hooked/lifecycle")
    expect(page.get_by_text("on_created was told to fail").first).to_be_visible()
    trouble.unlink()
    page.get_by_role("button", name="Restart", exact=True).click()
    expect(page.get_by_role("region", name="Active configuration")).to_contain_text("on_created,on_deleted")
    trouble.touch()
    assert ui_worker.http.delete("/connectors/hooked").status_code == 204
    page.goto("#/workers")
    owed = page.get_by_role("region", name="Clean-ups owed").get_by_role("row", name="hooked")
    expect(owed).to_contain_text("on_deleted was told to fail")
    owed.get_by_role("button", name="Give up").click()
    expect(page.get_by_role("dialog")).to_contain_text("penstock lifecycle give-up")
    page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    expect(owed).to_have_count(0)


def test_used_topics_are_forgotten(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("user", generator("used"))
    page.goto("#/connectors/user/topics")
    expect(page.get_by_role("link", name="used")).to_be_visible()
    ui_worker.http.put("/connectors/user/stop")
    ui_worker.wait_state("user", "STOPPED", tasks=0)
    page.get_by_role("button", name="Forget them").hover()
    expect(page.locator("#command")).to_have_text(f"penstock topics forget user --url {ui_worker.url}")
    page.get_by_role("button", name="Forget them").click()
    expect(page.get_by_text("None yet")).to_be_visible()


def test_a_connector_is_deleted_with_its_offsets(page: Page, ui_worker: PenstockProcess) -> None:
    ui_worker.create("doomed", generator("doomed"))
    page.goto("#/connectors/doomed")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_label("Forget its offsets too", exact=False).check()
    expect(page.get_by_role("dialog")).to_contain_text("penstock delete doomed --yes --with-offsets")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connectors")
    assert ui_worker.http.get("/connectors/doomed").status_code == 404


def test_a_log_level_is_changed(page: Page, ui_worker: PenstockProcess) -> None:
    page.goto("#/workers")
    page.get_by_label("Find a logger").fill("penstock.rest")
    page.get_by_label("Level of penstock.rest.access", exact=True).select_option("DEBUG")
    wait_until(lambda: ui_worker.http.get("/admin/loggers/penstock.rest.access").json()["level"] == "DEBUG", "level")
    expect(page.locator("#command")).to_contain_text("penstock loggers set penstock.rest.access DEBUG")


def test_a_worker_is_listed_when_it_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "idle") as idle:
        page = browser.new_page(base_url=f"{idle.url}/ui/")
        page.goto("#/workers")
        row = page.get_by_role("table", name="Workers").get_by_role("row", name=f"127.0.0.1:{idle.port}")
        expect(row.get_by_role("cell").nth(0)).to_have_text(idle.http.get("/").json()["version"])
        expect(row.get_by_role("cell").nth(2)).to_have_text("0")
        page.close()
