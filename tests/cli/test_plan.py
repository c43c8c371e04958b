"""The planner's commands as a user sees them: output, exit status, one line per error."""

import json

import pytest

ARGUMENTS = ["--disks", "24", "--read-share", "0.7", "--queue", "8", "--locality", "3", "--overhead-ms", "2.7"]


def test_a_layout_is_recommended(storagekit):
    status, text, _ = storagekit("plan", "--drive", "cheetah9lp", *ARGUMENTS, "--objective", "throughput")
    assert status == 0
    assert "recommended 6x4x1" in text
    assert "the paper's rule: 8x3x1" in text
    assert "overhead of an access is 2.7 ms, including the transfer" in text


def test_a_program_can_read_a_layout(storagekit):
    status, text, _ = storagekit("plan", *ARGUMENTS, "--mirrors", "2", "--background", "0.5", "--json")
    found = json.loads(text)
    assert status == 0
    assert found["recommended"]["mirrors"] == 2
    assert found["question"]["p"] == pytest.approx(0.85)
    assert {one["mirrors"] for one in found["ranking"]} == {2}


def test_any_number_of_mirrors(storagekit):
    _, text, _ = storagekit("plan", *ARGUMENTS, "--mirrors", "0", "--json")
    assert {one["mirrors"] for one in json.loads(text)["ranking"]} > {1, 2, 3}


def test_an_array_is_sized_for_a_response_time(storagekit):
    status, text, _ = storagekit(
        "plan", "size", "--rate", "500", "--response-ms", "15", "--read-share", "0.7", "--json"
    )
    found = json.loads(text)
    assert status == 0
    assert 0 < found["response_s"] <= 15e-3
    assert found["question"]["goal"] == {"kind": "ResponseGoal", "response": 15e-3, "rate": 500.0}


def test_a_saturated_disk_is_reported_in_words(storagekit):
    _, text, _ = storagekit("plan", "size", "--rate", "3000", "--response-ms", "20")
    assert "12 disks are saturated" in text and "inf" not in text and "1 disks" not in text
    assert "relax the goal to use fewer than 14 disks" in text


def test_an_array_is_sized_for_a_throughput(storagekit):
    _, text, _ = storagekit("plan", "size", "--rate", "500", "--queue", "4", "--json")
    found = json.loads(text)
    assert found["throughput_per_s"] >= 500
    assert found["question"]["queue"] == 4


def test_the_recommendation_is_simulated_on_request(storagekit):
    arguments = ["plan", "--disks", "6", "--read-share", "0.9", "--locality", "3", "--check"]
    status, text, _ = storagekit(*arguments)
    assert status == 0
    assert "95% interval" in text
    _, text, _ = storagekit(*arguments, "--json")
    (row,) = json.loads(text)["check"]["rows"]
    assert row["low"] < row["simulated"] < row["high"]
    assert abs(row["difference"]) < 0.05


def test_the_scheduler_decides(storagekit):
    arguments = ["plan", *ARGUMENTS, "--objective", "throughput", "--json"]
    elevator, nearest = (
        json.loads(storagekit(*arguments, "--scheduler", name)[1])["recommended"] for name in ("RLOOK", "RSATF")
    )
    assert nearest["throughput_per_s"] > elevator["throughput_per_s"]
    assert nearest["replicas"] < elevator["replicas"]


def test_memory_breaks_even(storagekit):
    status, text, _ = storagekit(
        "plan", "memory", "--cache-mb", "126", "--disks", "1", "--disk-mb", "8400", "--ratio", "57"
    )
    assert status == 0
    assert "66.7" in text
    assert "cheaper: memory" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--disks", "7", "--mirrors", "2", "--check"], "7 disks do not divide into mirrors of 2"),
        (["size", "--response-ms", "1"], "up to 256 disks"),
        (["size", "--response-ms", "1", "--overhead-ms", "2"], "mechanical minimum"),
        (["size", "--rate", "5000", "--price", "400", "--budget", "100"], "budget"),
        (["size", "--rate", "3000", "--response-ms", "20", "--most-disks", "6"], "14 disks meet the goal"),
    ],
)
def test_an_impossible_plan_is_printed_with_status_1(storagekit, arguments, why):
    status, text, error = storagekit("plan", *arguments)
    assert status == 1
    assert "not feasible" in text
    assert why in text
    assert error == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--disks is missing"),
        (["--disks", "0"], "disks 0"),
        (["--disks", "4", "--read-share", "1.4"], "read_share 1.4"),
        (["--disks", "4", "--objective", "speed"], "objective 'speed': give one of"),
        (["--disks", "4", "--scheduler", "FCFS"], "scheduler 'FCFS': give one of"),
        (["--disks", "4", "--background", "0.5", "--read-share", "0.7", "--check"], "background 0.5: the simulation"),
        (["--disks", "4", "--drive", "nope"], "drive 'nope'"),
        (["--disks", "4", "--mirrors", "-1"], "mirrors -1"),
        (["size", "--rate", "-5"], "rate -5"),
        (["size", "--budget", "5"], "give the price of a disk too, or give most_disks instead"),
        (["size", "--response-ms", "20000"], "response 20 s: it must be at most 5"),
        (["memory", "--cache-mb", "0", "--disks", "1", "--disk-mb", "8400"], "cache 0"),
        (["memory"], "Missing option"),
    ],
)
def test_bad_input_is_one_line_and_status_2(storagekit, arguments, message):
    status, text, error = storagekit("plan", *arguments)
    assert status == 2
    assert error.startswith("storagekit: ")
    assert message in error
    assert error.count("\n") == 1
    assert text == ""


def test_sessions_are_counted_and_simulated(storagekit):
    arguments = ["plan", "sessions", "--rate-mb", "5", "--agents", "4", "--minutes", "1"]
    status, text, _ = storagekit(*arguments, "--check")
    assert status == 0
    assert "8 sessions, 40 MB/s in total" in text and "8 of 8 sessions met" in text
    _, text, _ = storagekit(*arguments, "--check", "--json")
    found = json.loads(text)
    assert found["sessions"] == 8 and all(found["check"]["met"])


def test_an_infeasible_session_names_its_constraint(storagekit):
    status, text, _ = storagekit("plan", "sessions", "--rate-mb", "5000", "--agents", "4")
    assert status == 1 and text.startswith("not feasible: disk of agent 0")


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        *((name, value, "above 0") for name in ("--rate-mb", "--minutes", "--buffer-mb") for value in ("nan", "inf")),
        ("--minutes", "-1", "above 0"),
        ("--minutes", "1e12", "1 to 1.126e+15 bytes; give less"),
        ("--rate-mb", "1e-12", "1 to 1.126e+15 bytes; give more"),
        ("--buffer-mb", "1e-9", "1 to 1.126e+15 bytes; give more"),
        ("--buffer-mb", "1e300", "1 to 1.126e+15 bytes; give less"),
        ("--link-gbps", "nan", "above 0"),
        ("--mips", "inf", "above 0"),
        ("--agents", "2001", "at most 2000"),
    ],
)
def test_a_session_out_of_range_is_named_by_its_option(storagekit, option, value, limit):
    status, text, error = storagekit("plan", "sessions", "--rate-mb", "5", option, value)
    assert status == 2 and text == "" and error.count("\n") == 1
    assert f"{option} {float(value):g}" in error and limit in error


@pytest.mark.parametrize("arguments", [("0.001", "64"), ("5", "2000")])
def test_thousands_of_sessions_are_rejected_at_once(storagekit, arguments):
    status, _, error = storagekit("plan", "sessions", "--rate-mb", arguments[0], "--agents", arguments[1])
    assert status == 2 and error.count("\n") == 1
    assert "more than 2000 sessions" in error and "give a higher rate or fewer agents" in error


@pytest.mark.parametrize(
    "more", [("--rate-mb", "-5"), ("--rate-mb", "5", "--group", "0"), ("--rate-mb", "5", "--agents", "0")]
)
def test_impossible_sessions_raise_one_line(storagekit, more):
    status, _, error = storagekit("plan", "sessions", *more)
    assert status == 2 and error.count("\n") == 1
