"""Parts of the seeds' test plans on a worker of a cluster that does not lead.

All of them can be run so: ``PENSTOCK_TEST_CLUSTER=3 pytest tests/seeds``. What needs the embedded log (records that are
never repeated without transactions, positions in topics that do not exist) differs, as it does in Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.seeds.test_kip_745_restart import (
    test_a_failed_connector_restarts_whatever_the_flags,
    test_failed_tasks_restart_only_when_they_are_included,
    test_of_several_tasks_only_the_failed_one_restarts,
    test_restart_of_an_unknown_connector_is_not_found,
    test_with_tasks_included_a_running_connector_and_each_task_restart_once,
)
from tests.seeds.test_kip_875_offsets_and_stopped import (
    sink,
    source,
    test_a_stopped_connector_that_is_reconfigured_stays_stopped_and_comes_back_with_the_new_configuration,
    test_all_six_transitions_each_asked_for_twice,
    test_can_alter_the_offsets_of_a_stopped_sink_connector_which_uses_them_when_resumed,
    test_can_alter_the_offsets_of_a_stopped_source_connector_which_uses_them_when_resumed,
    test_can_reset_the_offsets_of_a_stopped_sink_connector,
    test_can_reset_the_offsets_of_a_stopped_source_connector,
    test_can_view_alter_and_reset_the_offsets_of_a_sink_with_an_overridden_consumer_group_id,
    test_cannot_modify_the_offsets_of_a_paused_connector,
    test_cannot_modify_the_offsets_of_a_running_connector,
)
from tests.seeds.test_kip_980_initial_state_and_files import (
    test_can_create_a_connector_in_this_state_and_no_tasks_are_spawned,
    test_can_modify_the_offsets_of_a_sink_connector_created_stopped,
    test_can_modify_the_offsets_of_a_source_connector_created_stopped,
    test_can_resume_a_connector_created_in_this_state,
)
from tests.support.cluster import Cluster
from tests.support.probes import Probe

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

__all__ = [
    "sink",
    "source",
    "test_a_failed_connector_restarts_whatever_the_flags",
    "test_a_stopped_connector_that_is_reconfigured_stays_stopped_and_comes_back_with_the_new_configuration",
    "test_all_six_transitions_each_asked_for_twice",
    "test_can_alter_the_offsets_of_a_stopped_sink_connector_which_uses_them_when_resumed",
    "test_can_alter_the_offsets_of_a_stopped_source_connector_which_uses_them_when_resumed",
    "test_can_create_a_connector_in_this_state_and_no_tasks_are_spawned",
    "test_can_modify_the_offsets_of_a_sink_connector_created_stopped",
    "test_can_modify_the_offsets_of_a_source_connector_created_stopped",
    "test_can_reset_the_offsets_of_a_stopped_sink_connector",
    "test_can_reset_the_offsets_of_a_stopped_source_connector",
    "test_can_resume_a_connector_created_in_this_state",
    "test_can_view_alter_and_reset_the_offsets_of_a_sink_with_an_overridden_consumer_group_id",
    "test_cannot_modify_the_offsets_of_a_paused_connector",
    "test_cannot_modify_the_offsets_of_a_running_connector",
    "test_failed_tasks_restart_only_when_they_are_included",
    "test_of_several_tasks_only_the_failed_one_restarts",
    "test_restart_of_an_unknown_connector_is_not_found",
    "test_with_tasks_included_a_running_connector_and_each_task_restart_once",
]


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> Callable[..., Probe]:
    """As the seeds' own fixture, on a worker that does not lead."""
    worker = cluster.follower()

    def make(kind: str = "ProbeSource", topic: str = "") -> Probe:
        return Probe(worker, tmp_path, kind, topic)

    return make
